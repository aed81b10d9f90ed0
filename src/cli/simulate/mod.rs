//! `matmech simulate`: runs a mechanism on data that the user may see and prints its true errors.
//!
//! **Not private**: the noise is seeded and the errors are measured against the true data. Every
//! report says so.

mod report;
mod synthetic;
mod trial;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use self::report::Report;
use self::trial::Setting;
use super::budget::BudgetArguments;
use super::output;
use super::target::Target;
use matmech::Error;
use matmech::data::{OutOfDomain, read_csv};
use matmech::mechanism::{self, Mechanism};
use matmech::schema::Schema;

/// Arguments of `matmech simulate`.
#[derive(Debug, Args)]
pub(super) struct SimulateCommand {
    /// Schema file (TOML): [[attribute]] tables with name, size, kind and values or bins
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Records: CSV with a header
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
    #[arg(long, value_enum, default_value_t = OutsideValues::Refuse)]
    out_of_domain: OutsideValues,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OutsideValues {
    /// Stop with an error that names the line
    Refuse,
    /// Drop the record
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; drop the record if there is none
    Clamp,
}

impl OutsideValues {
    /// Returns the rule for records, or `None` if they are refused.
    fn rule(self) -> Option<OutOfDomain> {
        match self {
            OutsideValues::Refuse => None,
            OutsideValues::Drop => Some(OutOfDomain::Drop),
            OutsideValues::Clamp => Some(OutOfDomain::Clamp),
        }
    }
}

fn mechanism_help() -> String {
    format!("Mechanism, with options in parentheses:\n{}", mechanism::listing())
}

impl SimulateCommand {
    /// Returns the mechanism with the options of the flags. Synthetic records need a run that ends
    /// with a model; for `aim-hybrid`, this turns off the switch to ResidualPlanner.
    fn mechanism(&self) -> matmech::Result<Box<dyn Mechanism>> {
        let max_mb = self.max_mb.map(|mb| mb.to_string());
        let mut flags =
            vec![("max-mb", max_mb.as_deref()), ("reconstruction", self.reconstruction.as_deref())];
        let mechanism = mechanism::with_flags(&self.mechanism, &flags)?;
        if self.synthetic.is_none() || mechanism.ends_with_model() {
            return Ok(mechanism);
        }
        let found = format!("`{}`", self.mechanism);
        if !mechanism.options().contains(&"switch") {
            let expected = "a mechanism that fits a model: staged, aim-hybrid or aim-pgm";
            let remedy = "use one of these, or drop --synthetic";
            return Err(Error::bad_input("--synthetic", expected, found, remedy));
        }
        flags.push(("switch", Some("0")));
        mechanism::with_flags(&self.mechanism, &flags).map_err(|_| {
            let expected = "no option `switch`, or `switch=0`: runs without a model have no \
                            synthetic records";
            let remedy = "drop the option `switch`, or drop --synthetic";
            Error::bad_input("--synthetic", expected, found, remedy)
        })
    }

    pub(super) fn run(&self) -> anyhow::Result<()> {
        let mechanism = self.mechanism()?;
        let budget = self.budget.budget()?;
        let rho = budget.rho()?;
        if self.trials == 0 {
            return Err(Error::bad_input(
                "--trials",
                "at least 1",
                "0",
                "drop the option for a single run",
            )
            .into());
        }
        let schema = Schema::read(&self.schema)?;
        let (workload, _) = self.target.read(&schema)?;
        let origin = self.target.origin();
        mechanism.accepts(&workload).map_err(|error| error.located(&origin))?;
        let expected = mechanism.expected(&workload, rho)?;
        let table = read_csv(&self.data, &schema, self.out_of_domain.rule())?;
        let setting = Setting::new(&workload, &table.records, rho)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let (mut trials, mut model) = (Vec::new(), None);
        for _ in 0..self.trials {
            let mut trial =
                setting.run(mechanism.as_ref(), &mut ChaCha20Rng::from_rng(&mut rng))?;
            // Only the last model is used, and a model can be large.
            model = trial.report.model.take();
            trials.push(trial);
        }
        if let Some(path) = &self.synthetic {
            synthetic::write(path, &schema, model.as_ref(), &mut rng)?;
        }
        let report = Report::new(
            mechanism.name(),
            budget.neighbours,
            &table,
            &setting,
            &expected,
            &trials,
            self.seed,
        );
        output::write(&report, self.json, report::print)
    }
}
