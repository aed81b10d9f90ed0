//! `matmech simulate`: what a mechanism for marginals would do on data that the user may see.
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
use crate::Error;
use crate::call::Call;
use crate::data::{OutOfDomain, read_csv};
use crate::mechanism::{self, Mechanism};
use crate::schema::Schema;

/// Arguments of `matmech simulate`.
#[derive(Debug, Args)]
pub(super) struct SimulateCommand {
    /// Schema in TOML: [[attribute]] tables with name, size, kind and, to read the data, values or
    /// bins
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The data: CSV with a header; columns are found by the names of the schema's attributes,
    /// others are ignored
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    target: Target,
    /// The mechanism, with its options in parentheses
    #[arg(
        long,
        default_value = "aim-hybrid",
        long_help = format!("The mechanism, with its options in parentheses:\n{}", mechanism::listing())
    )]
    mechanism: String,
    /// Short for the option `max-mb`: maximum size of the mechanism's graphical model, in MB of
    /// 2^20 bytes [default: 2 for aim-hybrid, 50 for aim-pgm]; 0 for aim-hybrid without a model
    #[arg(long, value_name = "MB", allow_negative_numbers = true)]
    max_mb: Option<f64>,
    /// Short for the option `reconstruction` of aim-grem, the meaning of residuals that were not
    /// measured: additive (0, an additive model, often negative) or independence (products of the
    /// estimated 1-way marginals) [default: additive]
    #[arg(long, value_name = "MODEL")]
    reconstruction: Option<String>,
    /// Write synthetic records, drawn from the model of the last run, to this CSV file: for
    /// mechanisms that fit a model
    #[arg(long, value_name = "FILE")]
    synthetic: Option<PathBuf>,
    #[command(flatten)]
    budget: BudgetArguments,
    /// Independent runs, for standard errors
    #[arg(long, value_name = "N", default_value_t = 1)]
    trials: usize,
    /// Seed of the noise; the k-th run is the same whatever the number of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What to do with a record that has a value outside the schema
    #[arg(long, value_enum, default_value_t = OutsideValues::Refuse)]
    out_of_domain: OutsideValues,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OutsideValues {
    /// Stop, and say where the value is
    Refuse,
    /// Leave the record out
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; leave the record out where there is
    /// none
    Clamp,
}

impl OutsideValues {
    /// The rule for records, if they are not refused.
    fn rule(self) -> Option<OutOfDomain> {
        match self {
            OutsideValues::Refuse => None,
            OutsideValues::Drop => Some(OutOfDomain::Drop),
            OutsideValues::Clamp => Some(OutOfDomain::Clamp),
        }
    }
}

impl SimulateCommand {
    /// The mechanism with the options that flags are short for. Synthetic records need a run that
    /// ends with a model, which `aim-hybrid` does if it never switches to ResidualPlanner.
    fn mechanism(&self) -> crate::Result<Box<dyn Mechanism>> {
        let max_mb = ("max-mb", self.max_mb.map(|mb| mb.to_string()));
        let named = Call::with_options(
            &self.mechanism,
            &[max_mb, ("reconstruction", self.reconstruction.clone())],
        )?;
        let mechanism = mechanism::by_name(&named)?;
        if self.synthetic.is_none() || mechanism.ends_with_model() {
            return Ok(mechanism);
        }
        let without_switch = Call::with_options(&named, &[("switch", Some("0".to_owned()))]);
        let with_model = without_switch.and_then(|named| mechanism::by_name(&named)).ok();
        with_model.filter(|mechanism| mechanism.ends_with_model()).ok_or_else(|| {
            let (expected, remedy) = (
                "a mechanism that fits a model: aim-hybrid or aim-pgm",
                "use one of these, or leave --synthetic out",
            );
            Error::bad_input("--synthetic", expected, format!("`{named}`"), remedy)
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
                "leave it out for one run",
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
        let trials = (0..self.trials)
            .map(|_| setting.run(mechanism.as_ref(), &mut ChaCha20Rng::from_rng(&mut rng)))
            .collect::<crate::Result<Vec<_>>>()?;
        if let Some(path) = &self.synthetic {
            let model = trials.last().and_then(|trial| trial.report.model.as_ref());
            synthetic::write(path, &schema, model, &mut rng)?;
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
