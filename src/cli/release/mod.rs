//! `matmech release`: private answers from a CSV file.
//!
//! With `matmech answer`, the only command whose output about private data may be published.

mod folder;
mod forecast;
mod report;
mod staged;
pub(super) mod steps;
mod unit;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use self::folder::Folder;
use self::report::Report;
pub(super) use self::unit::UnitArguments;
use super::budget::BudgetArguments;
use super::output;
use super::target::Target;
use matmech::Error;
use matmech::data::{OutOfDomain, PersonLimit, PrivateCsv};
use matmech::planner;
use matmech::privacy::{PrivacyUnit, Rho};
use matmech::release::records::{self, RecordCount};
use matmech::release::{
    self, Estimates, IntegerPlan, Ledger, LockWait, Reservation, Statement, Terms, adjust, answers,
    run,
};
use matmech::schema::{Schema, read_text};
use matmech::workload::GroupedWorkload;

/// The δ of the statement if the budget has none.
pub(super) const DELTA: f64 = 1e-9;

/// The planner of releases without `--planner` and `--mechanism`.
const PLANNER: &str = "query-smasher";

/// A reserved budget, the records that it pays for, and the output.
struct Spending<'a> {
    /// The path of the ledger.
    ledger: &'a Path,
    reservation: &'a Reservation,
    data: PrivateCsv,
    folder: &'a Folder,
    /// The final name of the output.
    out: &'a Path,
}

/// Arguments of `matmech release`.
#[derive(Debug, Args)]
pub(super) struct ReleaseCommand {
    /// Schema file (TOML); must be public, not derived from the records
    ///
    /// [[attribute]] tables with name, size, kind and values or bins.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Records: CSV with a header
    ///
    /// Columns are matched by attribute name; other columns are ignored.
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    data: Option<PathBuf>,
    /// Ledger to charge, from `matmech ledger create`
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    ledger: Option<PathBuf>,
    /// Folder to write; must not exist
    ///
    /// It gets answers.csv, measurements/, statement.json, statement.md and report.html. The
    /// intervals in answers.csv hold with a probability of at least 95 % for the discrete noise,
    /// both for a single query and for all queries together.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    unit: UnitArguments,
    /// Column that identifies a person; the first --unit-rows records of each person are kept
    #[arg(long, value_name = "COLUMN")]
    person: Option<String>,
    /// Planner of unbiased answers: anova, residual-planner, … [default: query-smasher]
    #[arg(long, value_name = "PLANNER", conflicts_with = "mechanism")]
    planner: Option<String>,
    /// Objective: the option `objective` of planners [default: mean]
    ///
    /// `mean` of all queries, `max` of the weighted mean square errors of the groups, or
    /// `balanced:SHARE`, that share of the mean and the rest of the maximum.
    #[arg(long, value_name = "mean|max|balanced:SHARE", conflicts_with = "mechanism")]
    objective: Option<String>,
    /// Mechanism whose questions depend on earlier answers: staged, staged(stages=2), …
    ///
    /// The answers are biased and usually more accurate. Instead of standard errors they have upper
    /// bounds of their errors.
    #[arg(long, value_name = "MECHANISM")]
    mechanism: Option<String>,
    /// Share of the budget for the error bounds of --mechanism; 0 for none [default: 0.03]
    #[arg(long, value_name = "SHARE", requires = "mechanism", allow_negative_numbers = true)]
    certificate: Option<f64>,
    /// How to handle values outside the schema in attributes without a cell for other values
    #[arg(long, value_enum, default_value_t = OutOfDomain::Drop)]
    out_of_domain: OutOfDomain,
    #[command(flatten)]
    waiting: WaitingArguments,
    /// Also write adjusted.csv: nonnegative integers, biased, no standard errors
    ///
    /// Computed from the same measurements. Answers on different sets of attributes are consistent
    /// only if one set of the workload contains all others. Refused if the reference measure is not
    /// uniform, as with the planner anova.
    #[arg(long)]
    adjust: bool,
    /// Also write records.csv: N synthetic records, or `auto` for the released number of records
    ///
    /// Needs a mechanism that fits a model.
    #[arg(long, value_name = "N|auto")]
    records: Option<RecordCount>,
    /// Print expected errors, time and memory; read no data, charge no ledger, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The wait for a locked ledger.
#[derive(Debug, Args)]
pub(super) struct WaitingArguments {
    /// Maximum seconds to wait for a ledger that another process has locked
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u32,
}

impl WaitingArguments {
    pub(super) fn waiting(&self) -> LockWait {
        LockWait {
            limit: Duration::from_secs(self.wait.into()),
            notice: |path, limit| {
                let (path, seconds) = (path.display(), limit.as_secs());
                // A standard error that cannot be written is no failure of the release.
                let _ = writeln!(
                    std::io::stderr(),
                    "waiting       for the lock on {path}, held by another process; \
                     at most {seconds} s"
                );
            },
        }
    }
}

impl ReleaseCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        if self.records.is_some() && self.mechanism.is_none() {
            records::refuse_without_model()?;
        }
        let rho = self.budget.rho()?;
        let schema_text = read_text(&self.schema, "schema file")?;
        let schema = Schema::from_toml(&schema_text, &self.schema.display().to_string())?;
        let (workload, workload_text) = self.target.read(&schema)?;
        check_count(&workload)?;
        let unit = self.unit.of_release(&schema, self.person.is_some());
        let person = self.person.clone().map(|column| PersonLimit { column, rows: unit.rows });
        let delta = self.budget.delta().unwrap_or(DELTA);
        let terms = Terms { rho, delta, rule: self.out_of_domain, person };
        if let Some(mechanism) = &self.mechanism {
            let texts = [schema_text.as_str(), workload_text.as_str()];
            let (schema, workload) = (&schema, &workload);
            let task = staged::Task { mechanism, schema, workload, texts, rho, unit, terms };
            return self.run_staged(task);
        }
        let planner = planner::with_flags(
            self.planner.as_deref().unwrap_or(PLANNER),
            &[("objective", self.objective.as_deref())],
        )?;
        let started = std::time::Instant::now();
        // ρ is for the unit; the plan is for one record, and its deviations are scaled to the unit.
        let plan = steps::with_spinner("planning", || {
            let planned = planner.plan(&workload, rho.privacy_cost())?;
            IntegerPlan::of(&planned, &workload, rho, unit)
        })?;
        let planning = started.elapsed();
        if self.adjust {
            adjust::check(plan.plan().measure().is_uniform())?;
        }
        let adjusted = self.adjust.then(|| adjust::DESCRIPTION.to_owned());
        let statement = Statement::of(&plan, terms, &schema_text, &workload_text, adjusted)?;
        let mut report = Report::of(&plan, &statement, &workload, planning)?;
        if self.dry_run {
            return output::write(&report, self.json, report::print);
        }
        let expectation = report.expectation();
        self.spend((rho, unit), &schema, &expectation, |spending| {
            let statement = statement.reserved(spending.ledger, spending.reservation);
            report.written(spending.out);
            self.measure_and_write(&plan, &workload, (&schema_text, statement), spending)
        })?;
        output::write(&report, self.json, report::print)
    }

    /// Reserves the budget, makes the release, and settles the reservation.
    ///
    /// All checks that can fail without spending come first.
    fn spend(
        &self,
        (rho, unit): (Rho, PrivacyUnit),
        schema: &Schema,
        expectation: &str,
        release: impl FnOnce(Spending<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (Some(data), Some(ledger), Some(out)) = (&self.data, &self.ledger, &self.out) else {
            anyhow::bail!("give --data, --ledger and --out, or --dry-run");
        };
        let ledger = Ledger::open(ledger, self.waiting.waiting())?;
        let person = self.person.clone().map(|column| PersonLimit { column, rows: unit.rows });
        let data = PrivateCsv::open(data, schema, person)?;
        let folder = Folder::create(out)?;
        let _ = writeln!(std::io::stderr(), "{expectation}");
        let reservation = match ledger.reserve(rho, unit, &format!("release to {}", out.display()))
        {
            Ok(reservation) => reservation,
            Err(error) => {
                folder.discard();
                return Err(error.into());
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
        outcome
            .with_context(|| format!("after reserving {rho}, which stays spent in the ledger"))?;
        ledger.settle(reservation)?;
        Ok(())
    }

    /// Measures and writes the release, between the reservation and its settlement. Nothing is
    /// printed while records are in memory: the pace of a progress bar would depend on them.
    fn measure_and_write(
        &self,
        plan: &IntegerPlan,
        workload: &GroupedWorkload,
        (schema_text, statement): (&str, Statement),
        Spending { data, reservation, folder, .. }: Spending<'_>,
    ) -> anyhow::Result<()> {
        let rule = self.out_of_domain;
        let measured = run(plan, statement.clone(), schema_text, data, rule, reservation)?;
        measured.write(&folder.subfolder("measurements")?)?;
        let estimates = Estimates::of(&measured)?;
        drop(measured);
        let groups = workload.groups().len();
        steps::with_bar("answers", groups, |progress| {
            answers::write(&folder.file("answers.csv"), &estimates, workload, progress)
        })?;
        if self.adjust {
            steps::with_bar("adjusting", groups, |progress| {
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

pub(super) fn check_count(workload: &GroupedWorkload) -> matmech::Result<()> {
    let queries = workload.count().as_f64();
    if queries <= MAX_QUERIES {
        return Ok(());
    }
    let remedy =
        "use queries on fewer attributes, or give the attributes fewer values (wider bins)";
    Err(Error::too_large("workload of a release", "queries", MAX_QUERIES, queries, remedy))
}
