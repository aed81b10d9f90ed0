//! `matmech simulate`: what a mechanism for marginals would do on data that the user may see.
//!
//! **Not private**: the noise is seeded and the errors are measured against the true data. Every report says so.

mod marginals;
mod report;
mod trial;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use self::report::Report;
use self::trial::{MECHANISMS, Mechanism, Setting};
use super::budget::Budget;
use super::output;
use crate::Error;
use crate::data::{OutOfDomain, read_csv};
use crate::schema::Schema;

/// Arguments of `matmech simulate`.
#[derive(Debug, Args)]
pub(super) struct Simulate {
    /// Schema in TOML: [[attribute]] tables with name, size, kind and, to read the data, values or bins
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The data: CSV with a header; columns are found by the names of the schema's attributes, others are ignored
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    target: Target,
    /// The mechanism: residual-planner or aim-grem
    #[arg(long, default_value = "aim-grem", long_help = mechanism_help())]
    mechanism: String,
    #[command(flatten)]
    budget: Budget,
    /// Independent runs, for standard errors
    #[arg(long, value_name = "N", default_value_t = 1)]
    trials: usize,
    /// Seed of the noise; the k-th run is the same whatever the number of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What to do with a record that has a value outside the schema
    #[arg(long, value_enum, default_value_t = Rule::Refuse)]
    out_of_domain: Rule,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The marginals to answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// Workload in TOML: [[queries]] tables of the family identity, with attributes or ways
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// All marginals on so many attributes, e.g. 1,2,3
    #[arg(long, value_delimiter = ',')]
    ways: Option<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Rule {
    /// Stop, and say where the value is
    Refuse,
    /// Leave the record out
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; leave the record out where there is none
    Clamp,
}

impl From<Rule> for OutOfDomain {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Refuse => OutOfDomain::Refuse,
            Rule::Drop => OutOfDomain::Drop,
            Rule::Clamp => OutOfDomain::Clamp,
        }
    }
}

fn mechanism_help() -> String {
    let mut text = String::from("The mechanism:\n");
    for mechanism in MECHANISMS {
        text.push_str(&format!("  {:<18} {}\n", mechanism.name(), mechanism.summary()));
    }
    text
}

impl Simulate {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let mechanism = Mechanism::by_name(&self.mechanism)?;
        let rho = self.budget.rho()?;
        if self.trials == 0 {
            return Err(Error::invalid("--trials", "at least 1", "0", "leave it out for one run").into());
        }
        let schema = Schema::read(&self.schema)?;
        let marginals = match (&self.target.workload, &self.target.ways) {
            (Some(path), _) => marginals::of_file(&schema, path)?,
            (None, ways) => marginals::of_ways(&schema, ways.as_deref().unwrap_or_default())?,
        };
        let table = read_csv(&self.data, &schema, self.out_of_domain.into())?;
        let setting = Setting::new(&schema, &table.records, &marginals, rho)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let trials = (0..self.trials)
            .map(|_| setting.run(mechanism, &mut ChaCha20Rng::from_rng(&mut rng)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let report = Report::new(mechanism, &table, &setting, &trials, self.seed)?;
        output::write(&report, self.json, report::print)
    }
}
