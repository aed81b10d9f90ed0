//! The arguments of `matmech simulate`, and the command.

use std::path::PathBuf;

use clap::Args;

use crate::budget::BudgetArguments;
use crate::output;
use crate::record_rule::{PublicRule, public_rule};
use crate::target::Target;
use matmech::data::{read_csv, write_csv};
use matmech::mechanism;
use matmech::schema::Schema;
use matmech_app::simulate::{Task, mechanism_of, simulate};

/// Arguments of `matmech simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateCommand {
    /// Schema file (TOML): [[attribute]] tables with name, kind and cells
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Records: CSV with a header, or Parquet
    ///
    /// Columns are matched by attribute name; other columns are ignored. Attributes without values
    /// or bins in the schema hold cell numbers.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Mechanism, with options in parentheses, e.g. aim-pgm(max-mb=50)
    #[arg(long, default_value = "staged", long_help = mechanism_help())]
    mechanism: String,
    /// Maximum size of the graphical model in MB of 2^20 bytes: the option `max-mb`
    ///
    /// [default: 1 for staged, 2 for aim-hybrid, 50 for aim-pgm]; 0 disables the model of aim-hybrid.
    #[arg(long, value_name = "MB", allow_negative_numbers = true)]
    max_mb: Option<f64>,
    /// Estimate of residuals that were not measured: the option `reconstruction` of aim-grem
    ///
    /// `additive` (default) sets them to 0, which often gives negative estimates; `independence`
    /// uses products of the estimated 1-way marginals.
    #[arg(long, value_name = "additive|independence")]
    reconstruction: Option<String>,
    /// Write synthetic records from the model of the last run; needs staged, aim-hybrid or aim-pgm
    #[arg(long, value_name = "FILE")]
    synthetic: Option<PathBuf>,
    #[command(flatten)]
    budget: BudgetArguments,
    /// Independent runs, for standard errors
    #[arg(long, value_name = "N", default_value_t = 1)]
    trials: usize,
    /// Seed of the noise; the k-th run does not depend on the number of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to handle a record with a value outside the schema
    #[arg(long, value_parser = public_rule(), default_value = "refuse")]
    out_of_domain: PublicRule,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn mechanism_help() -> String {
    format!("Mechanism, with options in parentheses:\n{}", mechanism::listing())
}

impl SimulateCommand {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let max_mb = self.max_mb.map(|mb| mb.to_string());
        let flags =
            [("max-mb", max_mb.as_deref()), ("reconstruction", self.reconstruction.as_deref())];
        let mechanism = mechanism_of(&self.mechanism, &flags, self.synthetic.is_some())?;
        let budget = self.budget.budget()?;
        let schema = Schema::read(&self.schema)?;
        let source = self.target.source();
        let (workload, _) = source.read(&schema)?;
        let task = Task {
            mechanism: mechanism.as_ref(),
            workload: &workload,
            origin: &source.origin(),
            budget,
            trials: self.trials,
            seed: self.seed,
            synthetic: self.synthetic.is_some(),
        };
        let PublicRule(rule) = self.out_of_domain;
        let (report, records) = simulate(&task, || read_csv(&self.data, &schema, rule))?;
        if let (Some(path), Some(records)) = (&self.synthetic, &records) {
            write_csv(path, &schema, records)?;
        }
        output::write(&report, self.json, super::report::print)
    }
}
