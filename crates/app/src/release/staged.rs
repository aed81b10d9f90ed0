//! `matmech release --mechanism staged`: adaptive releases with a certificate of the error.

use serde::Serialize;

use super::forecast::{Memory, check_memory};
use super::request::{Files, Release, Spending};
use super::staged_forecast::StagedForecast;
use crate::data::Data;
use crate::steps::{Steps, whole};
use matmech::data::ValuesOutside;
use matmech::error::{Error, Result};
use matmech::mechanism::{self, Staged};
use matmech::privacy::{PrivacyUnit, Rho};
use matmech::release::records::{self, RecordCount, SyntheticRecords};
use matmech::release::staged::{DEFAULT_CERTIFICATE_SHARE, StagedPlan, StagedStatement, run};
use matmech::release::{Inputs, Series, Sources, Terms, shortest};
use matmech::schema::Schema;
use matmech::workload::GroupedWorkload;

/// What a staged release answers, for which budget.
pub(super) struct Task<'a> {
    pub(super) mechanism: &'a str,
    pub(super) schema: &'a Schema,
    pub(super) workload: &'a GroupedWorkload,
    /// The texts of schema and workload.
    pub(super) texts: [&'a str; 2],
    pub(super) rho: Rho,
    pub(super) unit: PrivacyUnit,
    pub(super) terms: Terms,
    pub(super) series: Option<Series>,
}

/// The report, which depends on the records through paid noise only.
#[derive(Debug, Serialize)]
pub struct StagedReport {
    /// The mechanism, with its options.
    pub mechanism: String,
    /// The number of queries.
    pub queries: String,
    /// The number of query groups.
    pub groups: usize,
    /// ε of the reserved ρ, rounded up.
    pub epsilon: f64,
    /// δ for which ε is stated.
    pub delta: f64,
    /// The reserved ρ, an upper bound of the cost.
    pub rho: f64,
    /// The privacy unit in words.
    pub unit: String,
    /// The earlier releases of a series, and the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// The number of published marginals: the distinct sets of attributes of the workload.
    pub marginals: usize,
    /// The share of ρ for the error bounds; 0 for none.
    pub certificate_share: f64,
    /// The questions of the first stage, and their noisy integers.
    pub first_questions: usize,
    /// The number of noisy integers of the first stage.
    pub first_integers: usize,
    /// Maximum questions for residuals and their noisy integers, over all stages.
    pub max_questions: usize,
    /// Maximum noisy integers of the questions for residuals, over all stages.
    pub max_integers: f64,
    /// Cells of the published marginals.
    pub published_cells: f64,
    /// An upper estimate of the memory without records, and the additional memory per record.
    pub expected_mb: f64,
    /// Additional memory per record, in bytes.
    pub expected_bytes_per_record: usize,
    /// Additional memory per synthetic record of `auto`, whose number is not known in advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_bytes_per_synthetic_record: Option<usize>,
    /// What happens to missing values and values outside every attribute.
    pub values_outside: Vec<ValuesOutside>,
    /// The error on made-up records, if a dry run was asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<StagedForecast>,
    /// 95 % upper bounds of the mean L1 error of the marginals, after the release.
    pub mean_error_bound_95: Option<f64>,
    /// 95 % upper bound of the mean L1 error per record of the table; null if unknown.
    pub mean_error_bound_95_per_record: Option<f64>,
    /// The synthetic records, after the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticRecords>,
    /// The folder that was written; null in a dry run.
    pub out: Option<String>,
}

/// Returns the settings of a mechanism that can be released.
///
/// # Errors
/// Another mechanism, or an unknown one.
fn settings(text: &str) -> Result<Staged> {
    let mechanism = mechanism::by_name(text)?;
    mechanism.as_staged().ok_or_else(|| {
        Error::bad_input(
            "option --mechanism of a release",
            "a mechanism with a release in integers: staged",
            format!("`{}`", mechanism.name()),
            "use --mechanism staged, or --planner for a release that does not depend on the data",
        )
    })
}

impl Release {
    /// Makes a staged release.
    pub(super) fn run_staged(&self, task: Task<'_>, steps: &dyn Steps) -> Result<StagedReport> {
        let Task { schema, workload, texts, rho, unit, terms, series, .. } = task;
        if self.adjust {
            return Err(Error::bad_input(
                "option --adjust",
                "a release of unbiased answers",
                format!("--mechanism {}", task.mechanism),
                "omit --adjust: the answers are adjusted already",
            ));
        }
        if let Some(Files { data: Data::Counts(_), .. }) = &self.files {
            let expected = "a planned release, whose marginals are known before";
            let remedy = "use `matmech.Table` in Python, which counts while the release runs, or \
                          leave out --mechanism";
            return Err(Error::bad_input("--counts", expected, "a staged release", remedy));
        }
        let settings = settings(task.mechanism)?;
        let share = self.certificate.unwrap_or(DEFAULT_CERTIFICATE_SHARE);
        let (plan, first) = whole(steps, "planning", || {
            let plan = StagedPlan::of(settings, workload, rho, unit, share)?;
            let first = plan.first_stage()?;
            Result::Ok((plan, first))
        })?;
        if self.records.is_some() {
            records::check(&plan)?;
        }
        let queries = workload.count().to_string();
        let statement = StagedStatement::of(&plan, terms, queries.clone(), texts[0], texts[1])?;
        let statement = statement.in_series(series.clone());
        let (epsilon, delta) = statement.epsilon_and_delta();
        let (max_questions, max_integers) = plan.max_measured();
        let memory = Memory::of_staged(&plan, self.records);
        let mut report = StagedReport {
            mechanism: task.mechanism.to_owned(),
            queries,
            groups: workload.groups().len(),
            epsilon,
            delta,
            rho: rho.get(),
            unit: statement.unit_in_words().to_owned(),
            series: series.clone(),
            marginals: plan.marginals().len(),
            certificate_share: share,
            first_questions: first.len(),
            first_integers: first.iter().map(|m| m.strategy.rows()).sum(),
            max_questions,
            max_integers,
            published_cells: plan.published_cells(),
            expected_mb: memory.mb,
            expected_bytes_per_record: memory.bytes_per_record,
            expected_bytes_per_synthetic_record: match self.records {
                Some(RecordCount::Released { .. }) => Some(records::bytes_per_record(schema)),
                _ => None,
            },
            values_outside: statement.values_outside().to_vec(),
            forecast: None,
            mean_error_bound_95: None,
            mean_error_bound_95_per_record: None,
            synthetic: None,
            out: None,
        };
        drop(first);
        check_memory(memory.mb)?;
        if self.files.is_none() {
            report.forecast = (self.guess.as_ref())
                .map(|guess| whole(steps, "simulating", || guess.forecast(&plan, workload)))
                .transpose()?;
            return Ok(report);
        }
        let expectation = format!(
            "expected      errors that depend on the data, at most {:.0} MB and {} bytes per record; \
             reserving rho {}, which then counts as spent",
            memory.mb,
            memory.bytes_per_record,
            shortest(rho.get())
        );
        let inputs = Inputs::of(workload, None)?;
        self.spend((rho, unit), series.as_ref(), (schema, &[]), &expectation, steps, |spending| {
            let Spending { ledger, reservation, data, folder, out } = spending;
            let statement = statement.reserved(ledger, reservation);
            let measurements = folder.subfolder("measurements")?;
            let sources = Sources { schema: texts[0], inputs: &inputs };
            let marginals = run(&plan, statement, sources, data, reservation, &measurements)?;
            let outputs = folder.outputs(false, self.records);
            report.synthetic = outputs.write_staged(&marginals, workload, steps)?;
            let sums = folder.finish()?;
            report.mean_error_bound_95 = marginals.bounds().map(|bounds| bounds.mean);
            report.mean_error_bound_95_per_record =
                marginals.bounds().and_then(|bounds| bounds.mean_per_record);
            report.out = Some(out.display().to_string());
            Ok(sums)
        })?;
        Ok(report)
    }
}
