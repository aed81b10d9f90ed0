//! Releases of unbiased answers, and the choice between them and staged releases.

use serde::Serialize;

use super::forecast;
use super::report::UnbiasedReport;
use super::request::{DELTA, Release, Spending, check_count};
use super::staged::{StagedReport, Task};
use crate::budget::ReleaseRho;
use crate::steps::{Steps, whole};
use matmech::error::{Error, Result};
use matmech::planner;
use matmech::privacy::{Neighbours, PrivacyUnit};
use matmech::release::{
    Estimates, Inputs, IntegerPlan, Sources, Statement, Terms, adjust, check_impossible, records,
    run,
};
use matmech::schema::{CellBox, Schema};
use matmech::workload::GroupedWorkload;

/// The planner of releases without `--planner` and `--mechanism`.
const PLANNER: &str = "query-smasher";

/// The output of `release --json`. It depends on the records through paid noise only.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ReleaseReport {
    /// The report of unbiased answers.
    Unbiased(UnbiasedReport),
    /// The report of a staged release.
    Staged(StagedReport),
}

/// Returns the unit with the attribute whose values differ between the records of a person.
fn with_distinct(unit: PrivacyUnit, schema: &Schema, name: Option<&str>) -> Result<PrivacyUnit> {
    let distinct = name.map(|name| schema.position(name)).transpose()?;
    if distinct.is_some() && unit.rows < 2 {
        return Err(Error::bad_input(
            "--distinct",
            "persons with several records",
            "at most one record per person",
            "give --unit-rows K (unit_rows=K in Python), or leave out --distinct",
        ));
    }
    Ok(PrivacyUnit { distinct, ..unit })
}

/// Returns the unit of a release. If a record with other values can be dropped, replacing a record
/// includes adding and removing one.
fn unit_of(unit: PrivacyUnit, schema: &Schema, has_person: bool) -> PrivacyUnit {
    let keeps_every_record = schema.has_cells_for_all_values() && !has_person;
    match unit.neighbours {
        Neighbours::ReplaceOneRecord if !keeps_every_record => {
            PrivacyUnit { neighbours: Neighbours::ReplaceAddOrRemoveOneRecord, ..unit }
        }
        _ => unit,
    }
}

impl Release {
    /// Refuses options that the mechanism does not use.
    fn check_options(&self) -> Result<()> {
        if self.guess.is_some() && self.files.is_some() {
            let expected = "a dry run, which simulates the error on made-up records";
            let remedy = "leave the option out, or make a dry run";
            return Err(Error::bad_input("option records-guess", expected, "a release", remedy));
        }
        let unused: &[(&str, bool)] = match self.mechanism {
            Some(_) => {
                &[("planner", self.planner.is_some()), ("objective", self.objective.is_some())]
            }
            None => &[
                ("certificate", self.certificate.is_some()),
                ("records-guess", self.guess.is_some()),
            ],
        };
        let Some((name, _)) = unused.iter().find(|(_, given)| *given) else { return Ok(()) };
        let kind = if self.mechanism.is_some() { "staged release" } else { "unbiased answers" };
        Err(Error::bad_input(
            format!("option {name}"),
            format!("an option of {kind}"),
            "one of the other kind of release",
            "leave it out, or give or leave out the mechanism",
        ))
    }

    /// Makes the release, or only its plan in a dry run.
    ///
    /// # Errors
    /// Invalid options or files, or a budget that is too small. Errors after the budget is reserved
    /// are [`Error::After`](matmech::error::Error::After).
    pub fn run(&self, steps: &dyn Steps) -> Result<ReleaseReport> {
        if self.records.is_some() && self.mechanism.is_none() {
            records::refuse_without_model()?;
        }
        self.check_options()?;
        let rho = match self.rho {
            ReleaseRho::Given(rho) => rho,
            ReleaseRho::Rest => self.rest()?,
        };
        let (schema, schema_text) = self.schema.read()?;
        self.out_of_domain.check(&schema)?;
        let (workload, workload_text) = self.target.read(&schema)?;
        check_count(&workload)?;
        let unit = with_distinct(self.unit, &schema, self.distinct.as_deref())?;
        let unit = unit_of(unit, &schema, self.person.is_some());
        let person = self.person_limit(unit);
        let delta = self.delta.unwrap_or(DELTA);
        let series = self.series((rho, delta), unit)?;
        let terms = Terms { rho, delta, rule: self.out_of_domain, person };
        if let Some(mechanism) = &self.mechanism {
            let texts = [schema_text.as_str(), workload_text.as_str()];
            let (schema, workload) = (&schema, &workload);
            let task = Task { mechanism, schema, workload, texts, rho, unit, terms, series };
            return Ok(ReleaseReport::Staged(self.run_staged(task, steps)?));
        }
        let planner = planner::with_flags(
            self.planner.as_deref().unwrap_or(PLANNER),
            &[("objective", self.objective.as_deref())],
        )?;
        let started = std::time::Instant::now();
        // ρ is for the unit; the plan is for one record, and its deviations are scaled to the unit.
        let plan = whole(steps, "planning", || {
            let planned = planner.plan(&workload, rho.privacy_cost())?;
            IntegerPlan::of(&planned, &workload, rho, unit)
        })?;
        let planning = started.elapsed();
        let sets = plan.measurements().iter().map(|measurement| measurement.attributes);
        check_impossible(&schema, &sets.collect::<Vec<_>>())?;
        if self.adjust {
            adjust::check(plan.plan().measure().is_uniform())?;
        }
        let adjusted = self.adjust.then(|| adjust::DESCRIPTION.to_owned());
        let statement = Statement::of(&plan, terms, &schema_text, &workload_text, adjusted)?;
        let statement = statement.in_series(series.clone());
        let mut report = UnbiasedReport::of(&plan, &statement, &workload, planning)?;
        forecast::check_memory(report.expected_mb)?;
        if self.files.is_none() {
            return Ok(ReleaseReport::Unbiased(report));
        }
        let expectation = report.expectation();
        let inputs = Inputs::of(&workload, planner.files().first().copied())?;
        let sources = Sources { schema: &schema_text, inputs: &inputs };
        let public = schema.public_counts().iter().map(CellBox::attributes);
        let measured = plan.measurements().iter().map(|m| m.attributes);
        let needed: Vec<_> = measured.chain(public).collect();
        self.spend(
            (rho, unit),
            series.as_ref(),
            (&schema, &needed),
            &expectation,
            steps,
            |spending| {
                let statement = statement.reserved(spending.ledger, spending.reservation);
                report.written(spending.out);
                self.measure_and_write(&plan, &workload, (sources, statement), spending, steps)
            },
        )?;
        Ok(ReleaseReport::Unbiased(report))
    }

    /// Measures and writes the release, between the reservation and its settlement. Nothing is
    /// printed while records are in memory: the pace of a progress bar would depend on them.
    fn measure_and_write(
        &self,
        plan: &IntegerPlan,
        workload: &GroupedWorkload,
        (sources, statement): (Sources<'_>, Statement),
        Spending { data, reservation, folder, .. }: Spending<'_>,
        steps: &dyn Steps,
    ) -> Result<String> {
        let measured = run(plan, statement, sources, data, reservation)?;
        measured.write(&folder.subfolder("measurements")?)?;
        let estimates = Estimates::of(&measured)?;
        let stated = measured.header.statement.clone();
        let statement = stated.with_public_counts(&measured.public_counts);
        drop(measured);
        let outputs = folder.outputs(self.adjust, None);
        outputs.write_unbiased(&statement, &estimates, workload, steps)?;
        folder.finish()
    }
}
