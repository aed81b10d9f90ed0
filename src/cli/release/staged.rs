//! `matmech release --mechanism staged`: adaptive releases with a certificate of the error.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::forecast::StagedForecast;
use super::{ReleaseCommand, Spending, folder::Folder, steps};
use crate::cli::output;
use matmech::Error;
use matmech::mechanism::{self, Staged};
use matmech::privacy::{PrivacyUnit, Rho};
use matmech::release::records::{self, RecordCount, SyntheticRecords};
use matmech::release::staged::{
    DEFAULT_CERTIFICATE_SHARE, StagedMarginals, StagedPlan, StagedStatement, answers, report, run,
};
use matmech::release::{Terms, as_in_json};
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
}

/// The report, which depends on the records through paid noise only.
#[derive(Debug, Serialize)]
struct Report {
    mechanism: String,
    queries: String,
    groups: usize,
    epsilon: f64,
    delta: f64,
    rho: f64,
    unit: String,
    marginals: usize,
    certificate_share: f64,
    /// The questions of the first stage, and their noisy integers.
    first_questions: usize,
    first_integers: usize,
    /// Maximum questions for residuals and their noisy integers, over all stages.
    max_questions: usize,
    max_integers: f64,
    /// Cells of the published marginals.
    published_cells: f64,
    /// An upper estimate of the memory without records, and the additional memory per record.
    expected_mb: f64,
    expected_bytes_per_record: usize,
    /// 95 % upper bounds of the mean L1 error of the marginals, after the release.
    mean_error_bound_95: Option<f64>,
    mean_error_bound_95_per_record: Option<f64>,
    /// The synthetic records, after the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    synthetic: Option<SyntheticRecords>,
    out: Option<String>,
}

/// Returns the settings of a mechanism that can be released.
///
/// # Errors
/// Another mechanism, or an unknown one.
fn settings(text: &str) -> matmech::Result<Staged> {
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

impl ReleaseCommand {
    /// Makes a staged release.
    pub(super) fn run_staged(&self, task: Task<'_>) -> anyhow::Result<()> {
        let Task { schema, workload, texts, rho, unit, terms, .. } = task;
        if self.adjust {
            return Err(Error::bad_input(
                "option --adjust",
                "a release of unbiased answers",
                format!("--mechanism {}", task.mechanism),
                "omit --adjust: the answers are adjusted already",
            )
            .into());
        }
        if self.records.is_some() {
            records::check(workload)?;
        }
        let settings = settings(task.mechanism)?;
        let share = self.certificate.unwrap_or(DEFAULT_CERTIFICATE_SHARE);
        let (plan, first) = steps::with_spinner("planning", || {
            let plan = StagedPlan::of(settings, workload, rho, unit, share)?;
            let first = plan.first_stage()?;
            matmech::Result::Ok((plan, first))
        })?;
        let queries = workload.count().to_string();
        let rule = terms.rule;
        let statement = StagedStatement::of(&plan, terms, queries.clone(), texts[0], texts[1])?;
        let (epsilon, delta) = statement.epsilon_and_delta();
        let forecast = StagedForecast::of(&plan);
        let mut report = Report {
            mechanism: task.mechanism.to_owned(),
            queries,
            groups: workload.groups().len(),
            epsilon,
            delta,
            rho: rho.get(),
            unit: unit.to_string(),
            marginals: plan.marginals().len(),
            certificate_share: share,
            first_questions: first.len(),
            first_integers: first.iter().map(|m| m.strategy.rows()).sum(),
            max_questions: forecast.max_questions,
            max_integers: forecast.max_integers,
            published_cells: forecast.published_cells,
            expected_mb: forecast.mb,
            expected_bytes_per_record: forecast.bytes_per_record,
            mean_error_bound_95: None,
            mean_error_bound_95_per_record: None,
            synthetic: None,
            out: None,
        };
        drop(first);
        if self.dry_run {
            return output::write(&report, self.json, print);
        }
        let expectation = format!(
            "expected      errors that depend on the data, at most {:.0} MB and {} bytes per record; \
             reserving rho {}, which then counts as spent",
            forecast.mb,
            forecast.bytes_per_record,
            as_in_json(rho.get())
        );
        self.spend((rho, unit), schema, &expectation, |spending| {
            let Spending { ledger, reservation, data, folder, out } = spending;
            let statement = statement.reserved(ledger, reservation);
            let measurements = folder.subfolder("measurements")?;
            let marginals =
                run(&plan, statement, texts[0], data, rule, reservation, &measurements)?;
            report.synthetic = write(folder, &marginals, workload, self.records)?;
            report.mean_error_bound_95 = marginals.bounds().map(|bounds| bounds.mean);
            report.mean_error_bound_95_per_record =
                marginals.bounds().and_then(|bounds| bounds.mean_per_record);
            report.out = Some(out.display().to_string());
            Ok(())
        })?;
        output::write(&report, self.json, print)
    }
}

/// Writes the answers, the records, the statement and the report. Returns what the statement says
/// about the records.
fn write(
    folder: &Folder,
    marginals: &StagedMarginals,
    workload: &GroupedWorkload,
    count: Option<RecordCount>,
) -> anyhow::Result<Option<SyntheticRecords>> {
    steps::with_bar("answers", workload.groups().len(), |progress| {
        let path: &Path = &folder.file("answers.csv");
        answers::write(path, marginals, workload, progress)
    })?;
    let schema = workload.schema();
    let write_records = |count| marginals.write_records(&folder.file("records.csv"), schema, count);
    let synthetic = count.map(write_records).transpose()?;
    let statement = StagedStatement::released(marginals)?.with_records(synthetic);
    folder.write("statement.json", &statement.to_json()?)?;
    folder.write("statement.md", &statement.to_markdown())?;
    folder.write("report.html", &report(&statement, marginals, workload)?.to_html())?;
    folder.finish()?;
    Ok(synthetic)
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let [epsilon, delta, rho] = [report.epsilon, report.delta, report.rho].map(as_in_json);
    writeln!(out, "mechanism     {}", report.mechanism)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups)?;
    writeln!(out, "privacy       epsilon {epsilon} at delta {delta}; rho {rho}, an upper bound")?;
    writeln!(out, "protects      {}", report.unit)?;
    writeln!(
        out,
        "first stage   {} questions, {} noisy integers",
        report.first_questions, report.first_integers
    )?;
    let (max_questions, max_integers) = (report.max_questions, report.max_integers);
    writeln!(
        out,
        "all stages    at most {max_questions} questions, {max_integers} noisy integers"
    )?;
    let bound = match (report.mean_error_bound_95, report.mean_error_bound_95_per_record) {
        (Some(bound), Some(share)) => format!("at most {bound:.6} records, {share:.6} per record"),
        (Some(bound), None) => format!("at most {bound:.6} records"),
        (None, _) if report.out.is_some() => "no certificate of the error".to_owned(),
        (None, _) => "depends on the data".to_owned(),
    };
    writeln!(out, "mean L1 error {bound}, of {} marginals (95 %)", report.marginals)?;
    if let Some(synthetic) = &report.synthetic {
        let bound = synthetic.errors().map_or_else(
            || "no certificate of the error".to_owned(),
            |errors| format!("mean L1 error at most {:.6} records", errors.mean_error_bound_95),
        );
        writeln!(out, "synthetic     {} records, {bound} (95 %)", synthetic.count())?;
    }
    writeln!(
        out,
        "published     {} marginals with {} cells",
        report.marginals, report.published_cells
    )?;
    if report.out.is_none() {
        let Report { expected_mb, expected_bytes_per_record, .. } = report;
        writeln!(
            out,
            "expected      at most {expected_mb:.0} MB and {expected_bytes_per_record} bytes per \
             record"
        )?;
    }
    match &report.out {
        None => writeln!(out, "dry run       no data read, nothing spent or written"),
        Some(folder) => writeln!(out, "written       {folder}"),
    }
}
