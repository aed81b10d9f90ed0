//! The arguments of `matmech release`, and the command.

use super::unit::{DistinctArgument, UnitArguments};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::steps::Bars;
use crate::budget::BudgetArguments;
use crate::output;
use crate::record_rule::private_rule;
use crate::target::Target;
use matmech::data::OutOfDomain;
use matmech::release::LockWait;
use matmech::release::records::{self, DEFAULT_MAX_RECORDS, RecordCount};
use matmech::schema::SchemaSource;
use matmech_app::data::Data;
use matmech_app::release::{Files, Guess, Release};

/// Arguments of `matmech release`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseCommand {
    /// Schema file (TOML); must be public, not derived from the records
    ///
    /// [[attribute]] tables with name, kind and cells (values, bins, edges or size).
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Records: CSV with a header, or Parquet
    ///
    /// Columns are matched by attribute name; other columns are ignored.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["dry_run", "counts"])]
    data: Option<PathBuf>,
    /// Counts instead of records: a folder with the results of `matmech sql`, as CSV or Parquet
    ///
    /// The statements apply --person, --unit-rows and --out-of-domain; give the same options here.
    #[arg(long, value_name = "DIR", conflicts_with = "data")]
    counts: Option<PathBuf>,
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
    #[command(flatten)]
    distinct: DistinctArgument,
    /// Folder of the previous release about the same people, such as that of the last year
    ///
    /// It must be in the same ledger. The statement names it, and has the total for a person who is
    /// in all releases of the series.
    #[arg(long, value_name = "DIR")]
    after: Option<PathBuf>,
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
    ///
    /// By default a schema with such an attribute is refused, whatever the records are.
    #[arg(long, value_parser = private_rule(), default_value = "other")]
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
    /// Maximum number of synthetic records, also of `auto`
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_MAX_RECORDS,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    max_records: u32,
    /// Print expected errors, time and memory; read no data, charge no ledger, write nothing
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run of a staged release: simulate the error for a made-up table of N records
    ///
    /// The attributes are independent: uniform, or as --reference says. The forecast does not depend
    /// on the data, whose error differs.
    #[arg(
        long,
        value_name = "N",
        requires_all = ["dry_run", "mechanism"],
        value_parser = clap::value_parser!(u32).range(1..=100_000_000)
    )]
    records_guess: Option<u32>,
    /// Public distribution of the values for --records-guess [default: uniform]
    ///
    /// A TOML file of [[attribute]] tables with name and measure, as for `plan --measure`; attributes
    /// that are not listed are uniform. It must not be derived from the records.
    #[arg(long, value_name = "FILE", requires = "records_guess")]
    reference: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The wait for a locked ledger.
#[derive(Debug, Args)]
pub(crate) struct WaitingArguments {
    /// Maximum seconds to wait for a ledger that another process has locked
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u32,
}

impl WaitingArguments {
    pub(crate) fn waiting(&self) -> LockWait {
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
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if self.records.is_some() && self.mechanism.is_none() {
            records::refuse_without_model()?;
        }
        let records = self.data.clone().map(Data::File);
        let data = records.or_else(|| self.counts.clone().map(Data::Counts));
        let files = match (self.dry_run, data, &self.ledger, &self.out) {
            (true, ..) => None,
            (false, Some(data), Some(ledger), Some(out)) => {
                Some(Files { data, ledger: ledger.clone(), out: out.clone() })
            }
            _ => anyhow::bail!("give --data or --counts, --ledger and --out, or --dry-run"),
        };
        let maximum = |count: RecordCount| count.with_maximum(self.max_records);
        let records = self.records.map(maximum).transpose()?;
        let release = Release {
            schema: SchemaSource::File(self.schema.clone()),
            target: self.target.source(),
            rho: self.budget.release_rho()?,
            delta: self.budget.delta(),
            unit: self.unit.unit(),
            person: self.unit.person(),
            distinct: self.distinct.distinct.clone(),
            after: self.after.clone(),
            planner: self.planner.clone(),
            objective: self.objective.clone(),
            mechanism: self.mechanism.clone(),
            certificate: self.certificate,
            out_of_domain: self.out_of_domain,
            waiting: self.waiting.waiting(),
            adjust: self.adjust,
            records,
            guess: (self.records_guess)
                .map(|records| Guess { records, reference: self.reference.clone() }),
            files,
        };
        output::write(&release.run(&Bars::default())?, self.json, super::report::print)
    }
}
