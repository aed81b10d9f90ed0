//! One run of a mechanism, compared with the truth.

use std::time::Instant;

use rand_chacha::ChaCha20Rng;

use crate::data::{MarginalCounter, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::mechanism::aim_grem::{self, PrivateTable};
use crate::mechanism::{BatchMarginals, MarginalErrors, ResidualNoise};
use crate::privacy::ZcdpAccountant;
use crate::schema::Schema;

/// The mechanisms for marginals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    ResidualPlanner,
    AimGrem,
}

/// All of them.
pub(super) const MECHANISMS: [Mechanism; 2] = [Mechanism::ResidualPlanner, Mechanism::AimGrem];

impl Mechanism {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mechanism::ResidualPlanner => "residual-planner",
            Mechanism::AimGrem => "aim-grem",
        }
    }

    pub(super) fn summary(self) -> &'static str {
        match self {
            Mechanism::ResidualPlanner => {
                "all marginals at once, with the noise that minimises the total squared error"
            }
            Mechanism::AimGrem => "adaptive: measures where the estimates are worst, round by round",
        }
    }

    pub(super) fn by_name(name: &str) -> Result<Self> {
        MECHANISMS.into_iter().find(|mechanism| mechanism.name() == name).ok_or_else(|| {
            let known = MECHANISMS.map(Mechanism::name).join(", ");
            Error::invalid(
                "--mechanism",
                format!("one of {known}"),
                format!("`{name}`"),
                "choose one of them; `matmech simulate --help` says what they do",
            )
        })
    }
}

/// What the runs have in common.
pub(super) struct Setting<'a> {
    pub(super) schema: &'a Schema,
    pub(super) marginals: &'a [Vec<usize>],
    pub(super) rho: f64,
    records: &'a Records,
    counter: MarginalCounter<'a>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(schema: &'a Schema, records: &'a Records, marginals: &'a [Vec<usize>], rho: f64) -> Result<Self> {
        Ok(Setting { schema, marginals, rho, records, counter: MarginalCounter::new(records)? })
    }

    /// The plan of ResidualPlanner, which knows its error.
    pub(super) fn batch(&self) -> Result<BatchMarginals> {
        BatchMarginals::plan(self.schema, self.marginals, self.rho)
    }

    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    /// Runs the mechanism, reconstructs every marginal of the workload and compares it with the true one.
    pub(super) fn run(&self, mechanism: Mechanism, rng: &mut ChaCha20Rng) -> anyhow::Result<Trial> {
        let started = Instant::now();
        let mut comparison = Comparison::new(self);
        let (spent, adaptive) = match mechanism {
            Mechanism::ResidualPlanner => {
                let mut accountant = ZcdpAccountant::new(self.rho)?;
                let noise = ResidualNoise::from_rng(rng);
                self.batch()?.run(self.records, &mut accountant, &noise, &mut |place, estimate| {
                    comparison.add(place, estimate)
                })?;
                (accountant.spent(), None)
            }
            Mechanism::AimGrem => {
                let sets =
                    self.marginals.iter().map(|set| AttributeSet::from_positions(set)).collect::<Result<Vec<_>>>()?;
                let mut private = PrivateTable::new(self.records, self.rho, rng)?;
                let outcome = aim_grem::run(self.schema, &sets, &mut private)?;
                for (place, positions) in self.marginals.iter().enumerate() {
                    comparison.add(place, &outcome.estimates.marginal(positions)?)?;
                }
                let adaptive = Adaptive {
                    rounds: outcome.rounds.len() as f64,
                    residuals_per_round: outcome.residuals_per_round(),
                };
                (private.accountant().spent(), Some(adaptive))
            }
        };
        anyhow::ensure!(spent <= self.rho, "{spent} of the budget {} were spent; report this as a bug", self.rho);
        let Comparison { errors, l1, .. } = comparison;
        Ok(Trial { errors, l1, spent, adaptive, seconds: started.elapsed().as_secs_f64() })
    }
}

/// Estimates against the truth, marginal by marginal.
struct Comparison<'a> {
    setting: &'a Setting<'a>,
    errors: MarginalErrors,
    l1: Vec<f64>,
    truth: Vec<f64>,
}

impl<'a> Comparison<'a> {
    fn new(setting: &'a Setting<'a>) -> Self {
        let errors = MarginalErrors::of_records(setting.records());
        Comparison { setting, errors, l1: Vec::new(), truth: Vec::new() }
    }

    /// Takes in the estimates in the order of the workload.
    fn add(&mut self, place: usize, estimate: &[f64]) -> Result<()> {
        self.setting.counter.count_into(&self.setting.marginals[place], &mut self.truth)?;
        self.l1.push(self.errors.add(estimate.iter().zip(&self.truth).map(|(e, t)| e - t)));
        Ok(())
    }
}

/// One run.
pub(super) struct Trial {
    pub(super) errors: MarginalErrors,
    /// ‖μ_γ − μ̂_γ‖₁/N by place in the workload.
    pub(super) l1: Vec<f64>,
    /// What the accountant says was spent of ρ.
    pub(super) spent: f64,
    pub(super) adaptive: Option<Adaptive>,
    pub(super) seconds: f64,
}

/// How an adaptive run got there.
pub(super) struct Adaptive {
    pub(super) rounds: f64,
    pub(super) residuals_per_round: f64,
}
