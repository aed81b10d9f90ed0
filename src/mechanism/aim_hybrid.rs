//! The hybrid: AIM's loop with a junction tree of bounded size, fitted by soft iterative
//! proportional fitting, and measured marginals that do not fit the tree beside it.
//!
//! ```text
//! measure every 1-way marginal with σ² = T/(1.8ρ), T = 16d if ResidualPlanner's expected error
//! with what is left is at most 1.5 % of the records: ResidualPlanner answers repeat candidates: γ
//! ∈ W↓ with √(2/π) σ n_γ ≤ 2 N̂ γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ n_γ)
//! costs ε²/8 measure γ, kept as residuals
//! costs 1/(2σ²) a factor for γ and its subsets if the tree has room, else γ beside it, and its
//! pairs one by one 3 sweeps; if ‖μ̂_γ − μ̂'_γ‖₁ ≤ 0.7 √(2/π) σ n_γ: σ² ← σ²/4, ε ← 2ε until the
//! budget is spent; 40 sweeps
//! ```
//!
//! What it gives up: the answers are biased (shrunk towards the model), and those of marginals
//! beside the tree need not agree with the others. They are nonnegative. With no room at all
//! (`max_mb` 0) there is only the model of independent attributes, and everything measured stands
//! beside it: the local variant.
//!
//! *Privacy*: a measurement costs 1/(2σ²), a record being in one cell; the score's L1 distance
//! changes by at most 1 for fixed estimates, so selection costs ε²/8. Candidates, tree, annealing,
//! N̂ and the switch are made of sizes and answers. A score may be that of an earlier round's
//! estimates: where the model is large or candidates are many, those that share fewer than two
//! attributes with the last measured one are looked at again in every few rounds only, which
//! depends on sizes and answers.
//!
//! *Cost*: a round is three sweeps, O(cells of the model · factors per clique), and the marginals
//! looked at. *Source*: ours; the loop is that of S4, App. F.

use super::aim::{
    AdaptiveEstimates, Closure, RoundBudget, Schedule, measure_attributes, run_rounds,
};
use super::aim_pgm::max_mb;
use super::{BatchMarginals, Mechanism, RunReport, marginals_of};
use crate::access::{Candidate, PaidAccess};
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::graphical_model::cells_of_mb;
use crate::estimation::soft_ipf::{SoftIpf, Widths};
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::workload::GroupedWorkload;

/// Sweeps after a round.
const SWEEPS: usize = 3;

/// Sweeps after the last one, at most.
const LAST_SWEEPS: usize = 40;

/// With more candidates than this those far from the last measured one are not looked at again in
/// every round.
const REFRESHED: usize = 1000;

/// Nor with a model of more cells than this (¼ MB): then in every fourth round.
const SMALL_MODEL: usize = 1 << 15;

/// The mechanism `aim-hybrid`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimHybrid {
    /// The most that the tree's cliques may take, in MB of 2²⁰ bytes; 0 for the local variant.
    max_mb: f64,
    /// Rounds per attribute that the first round's noise is meant for.
    rounds: f64,
    /// κ: a round anneals if it changed its marginal by no more than this share of the noise.
    patience: f64,
    /// K: how many rounds share what annealing leaves.
    last_rounds: f64,
    /// τ of the priors of marginals on two attributes and more; that of one attribute is half as
    /// much again.
    width: f64,
    /// ResidualPlanner answers where its expected mean L1 error is at most this share of the
    /// records; 0 for never.
    switch: f64,
}

/// Chosen on Adult; compared with others on synthetic tables made for that and on real ones, which
/// moved nothing (`docs/simulating.md`).
impl Default for AimHybrid {
    fn default() -> Self {
        AimHybrid {
            max_mb: 2.0,
            rounds: 16.0,
            patience: 0.7,
            last_rounds: 1.0,
            width: 2.0,
            switch: 0.015,
        }
    }
}

impl AimHybrid {
    fn widths(&self) -> Widths {
        Widths { single: 1.5 * self.width, pair: self.width, larger: self.width }
    }

    fn schedule(&self) -> Schedule {
        Schedule { patience: self.patience, last_rounds: self.last_rounds as usize }
    }
}

impl Mechanism for AimHybrid {
    fn name(&self) -> &str {
        "aim-hybrid"
    }

    fn summary(&self) -> &str {
        "adaptive: a small graphical model and marginals beside it; nonnegative, biased"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    /// Without the switch to ResidualPlanner, which fits no model.
    fn ends_with_model(&self) -> bool {
        self.switch == 0.0
    }

    fn options(&self) -> &'static [&'static str] {
        &["max-mb", "rounds", "patience", "last-rounds", "width", "switch"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        let positive = |key, default| call.number(key, default, "a positive number", |x| x > 0.0);
        let is_count = |x: f64| x >= 1.0 && x.fract() == 0.0;
        Ok(Box::new(AimHybrid {
            max_mb: max_mb(call, self.max_mb)?,
            rounds: call.number("rounds", self.rounds, "a number of at least 1", |x| x >= 1.0)?,
            patience: positive("patience", self.patience)?,
            last_rounds: call.number(
                "last-rounds",
                self.last_rounds,
                "an integer of at least 1",
                is_count,
            )?,
            width: positive("width", self.width)?,
            switch: call.number("switch", self.switch, "a number of at least 0", |x| x >= 0.0)?,
        }))
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        marginals_of(self.name(), workload).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let marginals = marginals_of(self.name(), workload)?;
        let schema = workload.schema();
        let closure = Closure::of_workload(schema, &marginals)?;
        let first =
            RoundBudget::of_rounds(access.total(), self.rounds * closure.attributes().len() as f64);
        let residuals = ResidualEstimates::new(schema);
        let cells = cells_of_mb(self.max_mb);
        let mut estimates = HybridEstimates {
            soft: SoftIpf::new(residuals, closure.attributes(), cells, self.widths())?,
            candidates: closure.candidates().list().len(),
            measured: AttributeSet::EMPTY,
            waited: 0,
            looks_again: true,
        };
        measure_attributes(&closure, &first, access, &mut estimates)?;
        if let Some(rest) = access.remaining().filter(|_| self.switch > 0.0) {
            let plan = BatchMarginals::plan(schema, &marginals, rest)?;
            if plan.expected_mean_l1() <= self.switch * estimates.soft.total() {
                plan.run(access, answers)?;
                return Ok(report(0, &estimates, true));
            }
        }
        let rounds = run_rounds(&closure, first, self.schedule(), access, &mut estimates)?;
        for (place, &gamma) in marginals.iter().enumerate() {
            answers(place, &estimates.marginal(gamma)?)?;
        }
        let mut report = report(rounds.len(), &estimates, false);
        report.model = Some(estimates.soft.tree().clone());
        Ok(report)
    }
}

fn report(rounds: usize, estimates: &HybridEstimates, switched: bool) -> RunReport {
    let details = vec![
        ("rounds", rounds as f64),
        ("model_mb", estimates.soft.tree().megabytes()),
        ("beside_model", estimates.soft.beside() as f64),
        ("residual_planner", f64::from(u8::from(switched))),
    ];
    RunReport { details, ..RunReport::default() }
}

/// The estimates, and which of them selection looks at again.
struct HybridEstimates {
    soft: SoftIpf,
    /// The number of candidates.
    candidates: usize,
    /// γ of the last round.
    measured: AttributeSet,
    /// Rounds since all candidates were looked at.
    waited: usize,
    /// Whether it is the turn of all candidates again.
    looks_again: bool,
}

impl AdaptiveEstimates for HybridEstimates {
    fn keeps(&self, candidate: &Candidate, budget: &RoundBudget, _used: f64) -> bool {
        budget.expected_noise() * candidate.cells as f64 <= 2.0 * self.soft.total()
    }

    fn begin(&mut self, measured: Vec<(AttributeSet, Vec<f64>)>, variance: f64) -> Result<()> {
        for (gamma, values) in measured {
            self.soft.measured(gamma, &values, variance)?;
        }
        self.soft.sweep(SWEEPS);
        Ok(())
    }

    fn measured(
        &mut self,
        gamma: AttributeSet,
        values: Vec<f64>,
        budget: &RoundBudget,
    ) -> Result<()> {
        self.soft.measured(gamma, &values, budget.variance)?;
        self.soft.sweep(if budget.last { LAST_SWEEPS } else { SWEEPS });
        self.measured = gamma;
        let large = self.soft.tree().cells() > SMALL_MODEL;
        let period = (self.candidates / REFRESHED + 1) * if large { 4 } else { 1 };
        self.waited += 1;
        self.looks_again = self.waited >= period;
        if self.looks_again {
            self.waited = 0;
        }
        Ok(())
    }
}

impl MarginalEstimates for HybridEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.soft.marginal(gamma)
    }

    /// Nothing is known of those that are looked at again; the others' scores stay those of their
    /// last look.
    fn change_bound(&self, gamma: AttributeSet) -> f64 {
        let near = gamma.len() < 3 || gamma.intersection(self.measured).len() >= 2;
        if near || self.looks_again { f64::INFINITY } else { 0.0 }
    }
}
