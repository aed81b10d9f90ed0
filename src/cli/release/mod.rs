//! `matmech release`: private answers from a CSV file. The only command whose output about private data may be published.

mod report;
pub(super) mod steps;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::{Args, ValueEnum};

use self::report::Report;
use super::budget::BudgetArguments;
use super::output;
use super::target::Target;
use crate::Error;
use crate::data::OutOfDomainRule;
use crate::planner;
use crate::privacy::{Neighbours, PrivacyUnit};
use crate::release::{Budget, Estimates, IntegerPlan, Ledger, Reservation, Statement, adjust, answers, run};
use crate::schema::{Schema, read_text};
use crate::workload::GroupedWorkload;

/// δ of the statement where the budget names none.
const DELTA: f64 = 1e-9;

/// Arguments of `matmech release`.
#[derive(Debug, Args)]
pub(super) struct ReleaseCommand {
    /// Schema in TOML, public and not made from the records: [[attribute]] tables with name, size, kind and values or bins
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    target: Target,
    /// The records: CSV with a header; columns are found by the names of the schema's attributes, others are ignored
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    data: Option<PathBuf>,
    /// The ledger that is charged, from `matmech ledger create`
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    ledger: Option<PathBuf>,
    /// The folder to write, which must not exist: answers.csv, measurements/, statement.json, statement.md. The intervals in answers.csv
    /// hold with a probability of at least 95 % for the discrete noise itself, one query or all together
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    unit: UnitArguments,
    /// The planner: query-smasher, anova, residual-planner, residual-planner-plus, …
    #[arg(long, default_value = "query-smasher")]
    planner: String,
    /// What becomes of a record with a value outside the schema
    #[arg(long, value_enum, default_value_t = Rule::Drop)]
    out_of_domain: Rule,
    /// Also write adjusted.csv: nonnegative whole answers from the same measurements, biased, without standard errors.
    /// Answers on different sets of attributes agree only if one set of the workload holds all others. Refused where the reference
    /// measure is not uniform, as with the planner anova
    #[arg(long)]
    adjust: bool,
    /// Show expected errors, time and memory; open neither data nor ledger, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Whom the release protects.
#[derive(Debug, Args)]
pub(super) struct UnitArguments {
    /// What happens to one record between neighbouring tables
    #[arg(long, value_enum, default_value_t = NeighboursArgument::AddRemove)]
    neighbours: NeighboursArgument,
    /// The most records that one person has
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    unit_rows: u32,
}

impl UnitArguments {
    pub(super) fn unit(&self) -> PrivacyUnit {
        let neighbours = match self.neighbours {
            NeighboursArgument::AddRemove => Neighbours::AddOrRemoveOneRecord,
            NeighboursArgument::Replace => Neighbours::ReplaceOneRecord,
        };
        PrivacyUnit { neighbours, rows: self.unit_rows }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NeighboursArgument {
    /// It is there or not
    AddRemove,
    /// It has other values; the number of records is public
    Replace,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Rule {
    /// Leave the record out
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; leave the record out where there is none
    Clamp,
}

impl From<Rule> for OutOfDomainRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Drop => OutOfDomainRule::Drop,
            Rule::Clamp => OutOfDomainRule::Clamp,
        }
    }
}

impl ReleaseCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        let rho = self.budget.rho()?;
        let schema_text = read_text(&self.schema, "schema file")?;
        let schema = Schema::from_toml(&schema_text, &self.schema.display().to_string())?;
        let (workload, workload_text) = self.target.read(&schema)?;
        check_count(&workload)?;
        let unit = self.unit.unit();
        let planner = planner::by_name(&self.planner)?;
        let step = steps::wait("planning");
        // ρ for the unit; the plan is for one record, and its deviations are scaled to the unit.
        let planned = planner.plan(&workload, rho.privacy_cost())?;
        let plan = IntegerPlan::of(&planned, &workload, rho, unit)?;
        step.end();
        if self.adjust {
            adjust::check(plan.plan().measure().is_uniform())?;
        }
        let budget = Budget { rho, delta: self.budget.delta().unwrap_or(DELTA) };
        let adjusted = self.adjust.then(|| ADJUSTED.to_owned());
        let rule = self.out_of_domain.into();
        let statement = Statement::of(&plan, budget, rule, &schema_text, &workload_text, adjusted)?;
        let mut report = Report::of(&plan, budget, started.elapsed().as_secs_f64())?;
        if self.dry_run {
            return output::write(&report, self.json, report::print);
        }
        let (Some(data), Some(ledger), Some(out)) = (&self.data, &self.ledger, &self.out) else {
            anyhow::bail!("--data, --ledger and --out are needed, or --dry-run");
        };
        check_paths(data, out)?;
        let ledger = Ledger::open(ledger)?;
        let folder = Folder::create(out)?;
        eprintln!("{}", report.expectation());
        let reservation = match ledger.reserve(rho, unit, &format!("release to {}", out.display())) {
            Ok(reservation) => reservation,
            Err(error) => {
                folder.discard();
                return Err(error.into());
            }
        };
        let outcome =
            self.measure_and_write(&plan, &workload, (schema_text.as_str(), &statement), data, &reservation, &folder);
        if outcome.is_err() {
            // What was measured stays; an empty folder does not.
            folder.discard();
        }
        outcome.with_context(|| format!("after {rho} was reserved, which stays spent in the ledger"))?;
        ledger.settle(reservation)?;
        report.finished(out, started.elapsed().as_secs_f64());
        output::write(&report, self.json, report::print)
    }

    /// Everything between the reservation and its settlement.
    fn measure_and_write(
        &self,
        plan: &IntegerPlan,
        workload: &GroupedWorkload,
        (schema_text, statement): (&str, &Statement),
        data: &Path,
        reservation: &Reservation,
        folder: &Folder,
    ) -> anyhow::Result<()> {
        let bar = steps::begin("measuring", plan.measurements().len());
        let rule = self.out_of_domain.into();
        let measured = run(plan, schema_text, data, rule, reservation, &mut |done| bar.at(done))?;
        bar.end();
        measured.write(&folder.subfolder("measurements")?)?;
        let estimates = Estimates::of(&measured)?;
        drop(measured);
        let bar = steps::begin("answers", workload.groups().len());
        answers::write(&folder.file("answers.csv"), &estimates, workload, &mut |done| bar.at(done))?;
        bar.end();
        if self.adjust {
            let bar = steps::begin("adjusting", workload.groups().len());
            adjust::write(&folder.file("adjusted.csv"), &estimates, workload, &mut |done| bar.at(done))?;
            bar.end();
        }
        folder.write("statement.json", &statement.to_json()?)?;
        folder.write("statement.md", &statement.to_markdown())?;
        folder.finish()
    }
}

/// What is said of the second file.
const ADJUSTED: &str = "adjusted.csv has nonnegative whole answers by local maximum entropy from the same measurements. They are biased, \
                        and the standard errors do not apply to them. Queries on one set of attributes agree with each other; those \
                        on different sets need not, unless one set of the workload holds all others.";

/// The most queries that one run writes.
const MOST_QUERIES: f64 = (1u64 << 31) as f64;

pub(super) fn check_count(workload: &GroupedWorkload) -> crate::Result<()> {
    let queries = workload.count().as_f64();
    if queries <= MOST_QUERIES {
        return Ok(());
    }
    let remedy = "ask for queries on fewer attributes, or give the attributes fewer values (wider bins)";
    Err(Error::too_large("workload of a release", "queries", MOST_QUERIES, queries, remedy))
}

/// What can be known to fail before anything is spent.
fn check_paths(data: &Path, out: &Path) -> crate::Result<()> {
    let remedy = "give the path of a CSV file with a header line";
    let kind = std::fs::metadata(data).map_err(|e| Error::io(data, "looking for", e, remedy))?;
    if kind.is_dir() {
        return Err(Error::bad_input(data.display().to_string(), "a file", "a folder", remedy));
    }
    if out.exists() {
        let remedy = "give the name of a folder that does not exist; a release is never written over another";
        return Err(Error::bad_input(out.display().to_string(), "no such folder yet", "one", remedy));
    }
    Ok(())
}

/// The folder of a release while it is written: under another name, so that what has the right name is complete.
struct Folder {
    partial: PathBuf,
    out: PathBuf,
}

impl Folder {
    /// Before anything is spent: a folder that cannot be written shows here.
    fn create(out: &Path) -> anyhow::Result<Self> {
        let mut name = out.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = out.with_file_name(name);
        let remedy = "give a folder in a place that can be written; remove a .partial one of a run that was killed once you have \
                      taken its measurements";
        std::fs::create_dir(&partial).map_err(|e| Error::io(&partial, "creating the folder", e, remedy))?;
        Ok(Folder { partial, out: out.to_path_buf() })
    }

    fn discard(&self) {
        // Empty, or somebody else's: then it stays.
        let _ = std::fs::remove_dir(&self.partial);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    fn subfolder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.file(name);
        std::fs::create_dir(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(path)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.file(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    }

    fn finish(&self) -> anyhow::Result<()> {
        std::fs::rename(&self.partial, &self.out)
            .with_context(|| format!("giving {} its name; the release is complete there", self.partial.display()))
    }
}
