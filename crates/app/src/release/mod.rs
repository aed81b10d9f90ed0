//! Private releases: from records, or from measurements at no cost.
//!
//! With [`answer`](super::answer), the only command whose output about private data may be published.

mod folder;
mod forecast;
mod report;
mod staged;

use std::path::{Path, PathBuf};

use serde::Serialize;

use self::folder::Folder;
pub use self::report::{Group, UnbiasedReport};
pub use self::staged::StagedReport;
use super::budget::ReleaseRho;
use super::data::Data;
use super::steps::{Steps, whole, with_parts};
use super::target::Source;
use matmech::data::table::FieldCounts;
use matmech::data::{OpenTable, OutOfDomain, PersonLimit};
use matmech::error::{Error, Result};
use matmech::planner;
use matmech::privacy::{Neighbours, PrivacyUnit, Rho};
use matmech::release::records::{self, RecordCount};
use matmech::release::{
    self, Estimates, Inputs, IntegerPlan, Ledger, LockWait, Reservation, Sources, Statement, Terms,
    adjust, answers, run,
};
use matmech::schema::{Schema, SchemaSource};
use matmech::workload::GroupedWorkload;

/// The δ of the statement if the budget has none.
pub const DELTA: f64 = 1e-9;

/// The planner of releases without `--planner` and `--mechanism`.
const PLANNER: &str = "query-smasher";

/// Where a release reads, charges and writes.
#[derive(Debug)]
pub struct Files {
    /// The records to read.
    pub data: Data,
    /// The ledger to charge.
    pub ledger: PathBuf,
    /// The folder to write; must not exist.
    pub out: PathBuf,
}

/// A release, with the options of the command.
#[derive(Debug)]
pub struct Release {
    /// The schema: a file, or its text.
    pub schema: SchemaSource,
    /// The queries to answer.
    pub target: Source,
    /// The ρ to reserve.
    pub rho: ReleaseRho,
    /// δ for which ε is stated; [`DELTA`] if absent.
    pub delta: Option<f64>,
    /// The unit as asked; see [`Release::run`].
    pub unit: PrivacyUnit,
    /// The column that identifies persons, whose first `unit.rows` records are kept.
    pub person: Option<String>,
    /// The planner of unbiased answers; `query-smasher` if absent.
    pub planner: Option<String>,
    /// The option `objective` of the planner.
    pub objective: Option<String>,
    /// The mechanism of a staged release; absent for unbiased answers.
    pub mechanism: Option<String>,
    /// The share of ρ for the error bounds of a staged release; 0.03 if absent.
    pub certificate: Option<f64>,
    /// The rule for values outside the schema.
    pub out_of_domain: OutOfDomain,
    /// How to wait for a ledger that another process has locked.
    pub waiting: LockWait,
    /// Whether to write `adjusted.csv`; only for unbiased answers.
    pub adjust: bool,
    /// The number of synthetic records of a staged release; none are written if absent.
    pub records: Option<RecordCount>,
    /// None for a dry run, which reads, charges and writes nothing.
    pub files: Option<Files>,
}

/// The output of `release --json`. It depends on the records through paid noise only.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ReleaseReport {
    /// The report of unbiased answers.
    Unbiased(UnbiasedReport),
    /// The report of a staged release.
    Staged(StagedReport),
}

/// A reserved budget, the records that it pays for, and the output.
struct Spending<'a> {
    /// The path of the ledger.
    ledger: &'a Path,
    reservation: &'a Reservation,
    data: OpenTable,
    folder: &'a Folder,
    /// The final name of the output.
    out: &'a Path,
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
        let unused: &[(&str, bool)] = match self.mechanism {
            Some(_) => &[
                ("planner", self.planner.is_some()),
                ("objective", self.objective.is_some()),
            ],
            None => &[("certificate", self.certificate.is_some())],
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
    /// are [`Error::After`].
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
        let (workload, workload_text) = self.target.read(&schema)?;
        check_count(&workload)?;
        let unit = unit_of(self.unit, &schema, self.person.is_some());
        let person = self.person.clone().map(|column| PersonLimit { column, rows: unit.rows });
        let delta = self.delta.unwrap_or(DELTA);
        let terms = Terms { rho, delta, rule: self.out_of_domain, person };
        if let Some(mechanism) = &self.mechanism {
            let texts = [schema_text.as_str(), workload_text.as_str()];
            let (schema, workload) = (&schema, &workload);
            let task = staged::Task { mechanism, schema, workload, texts, rho, unit, terms };
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
        if self.adjust {
            adjust::check(plan.plan().measure().is_uniform())?;
        }
        let adjusted = self.adjust.then(|| adjust::DESCRIPTION.to_owned());
        let statement = Statement::of(&plan, terms, &schema_text, &workload_text, adjusted)?;
        let mut report = UnbiasedReport::of(&plan, &statement, &workload, planning)?;
        forecast::check_memory(report.expected_mb)?;
        if self.files.is_none() {
            return Ok(ReleaseReport::Unbiased(report));
        }
        let expectation = report.expectation();
        let inputs = Inputs::of(&workload, planner.files().first().copied())?;
        let sources = Sources { schema: &schema_text, inputs: &inputs };
        self.spend((rho, unit), &schema, &expectation, steps, |spending| {
            let statement = statement.reserved(spending.ledger, spending.reservation);
            report.written(spending.out);
            self.measure_and_write(&plan, &workload, (sources, statement), spending, steps)
        })?;
        Ok(ReleaseReport::Unbiased(report))
    }

    /// Returns what is left in the ledger.
    fn rest(&self) -> Result<Rho> {
        let Some(Files { ledger, .. }) = &self.files else {
            let remedy = "give the number that `matmech ledger show` prints";
            return Err(Error::bad_input("--rho of a dry run", "a number", "`rest`", remedy));
        };
        let left = Ledger::open(ledger, self.waiting)?.balance()?.left;
        Rho::new(left).map_err(|_| {
            let what = format!("ledger {}", ledger.display());
            let remedy = "create a larger ledger for another table";
            Error::bad_input(what, "a remaining budget", "none", remedy)
        })
    }

    /// Reserves the budget, makes the release, and settles the reservation.
    ///
    /// All checks that can fail without spending come first.
    fn spend(
        &self,
        (rho, unit): (Rho, PrivacyUnit),
        schema: &Schema,
        expectation: &str,
        steps: &dyn Steps,
        release: impl FnOnce(Spending<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(Files { data, ledger, out }) = &self.files else {
            return Err(Error::bug("release", "data, a ledger and an output", "a dry run"));
        };
        let ledger = Ledger::open(ledger, self.waiting)?;
        let person = self.person.clone().map(|column| PersonLimit { column, rows: unit.rows });
        let data = OpenTable::new(data.open(FieldCounts::Any)?, schema, person)?;
        let folder = Folder::create(out)?;
        let what = format!("release to {}", out.display());
        let reserved = steps
            .reserving(expectation)
            .and_then(|()| ledger.reserve(rho, unit, self.person.as_deref(), &what));
        let reservation = match reserved {
            Ok(reservation) => reservation,
            Err(error) => {
                folder.discard();
                return Err(error);
            }
        };
        let (ledger_path, reserved) = (ledger.path(), &reservation);
        let outcome = release(Spending {
            ledger: ledger_path,
            reservation: reserved,
            data,
            folder: &folder,
            out,
        });
        if outcome.is_err() {
            folder.discard();
        }
        outcome.map_err(|error| Error::After {
            done: format!("after reserving {rho}, which stays spent in the ledger"),
            source: Box::new(error),
        })?;
        ledger.settle(reservation)?;
        Ok(())
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
    ) -> Result<()> {
        let rule = self.out_of_domain;
        let measured = run(plan, statement.clone(), sources, data, rule, reservation)?;
        measured.write(&folder.subfolder("measurements")?)?;
        let estimates = Estimates::of(&measured)?;
        drop(measured);
        let groups = workload.groups().len();
        with_parts(steps, "answers", groups, |progress| {
            answers::write(&folder.file("answers.csv"), &estimates, workload, progress)
        })?;
        if self.adjust {
            with_parts(steps, "adjusting", groups, |progress| {
                adjust::write(&folder.file("adjusted.csv"), &estimates, workload, progress)
            })?;
        }
        folder.write("statement.json", &statement.to_json()?)?;
        folder.write("statement.md", &statement.to_markdown())?;
        let page = release::report::Report::of_unbiased(&statement, &estimates, workload)?;
        folder.write("report.html", &page.to_html())?;
        folder.finish()
    }
}

/// Maximum queries of one run.
const MAX_QUERIES: f64 = (1u64 << 31) as f64;

pub(super) fn check_count(workload: &GroupedWorkload) -> Result<()> {
    let queries = workload.count().as_f64();
    if queries <= MAX_QUERIES {
        return Ok(());
    }
    let remedy =
        "use queries on fewer attributes, or give the attributes fewer values (wider bins)";
    Err(Error::too_large("workload of a release", "queries", MAX_QUERIES, queries, remedy))
}
