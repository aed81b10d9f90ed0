//! The hybrid: AIM's loop with a junction tree of bounded size and measured marginals outside it.
//!
//! The tree is fitted by soft iterative proportional fitting.
//!
//! ```text
//! measure every 1-way marginal with σ² = T/(1.8ρ), T = 16d
//! if ResidualPlanner's expected error with the remaining budget is at most 1.5 % of the records:
//!     answer with ResidualPlanner
//! repeat
//!     candidates: γ ∈ W↓ with √(2/π) σ n_γ ≤ 2 N̂
//!     γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ n_γ)              costs ε²/8
//!     measure γ, stored as residuals                                               costs 1/(2σ²)
//!     add factors for γ and its subsets if the tree stays within its limit;
//!         otherwise keep γ outside the tree, and try to add its pairs one by one
//!     3 sweeps; if ‖μ̂_γ − μ̂'_γ‖₁ ≤ 0.7 √(2/π) σ n_γ: σ² ← σ²/4, ε ← 2ε
//! until the budget is spent; 40 sweeps
//! ```
//!
//! *Limitations*: the answers are biased (shrunk towards the model), and marginals outside the tree
//! need not be consistent with the others. They are nonnegative. With `max_mb` 0 the model has
//! independent attributes and every larger measured marginal is outside the tree: the local
//! variant.
//!
//! *Privacy*: a measurement costs 1/(2σ²), since a record is in one cell. For fixed estimates the
//! L1 distance of the score changes by at most 1, so selection costs ε²/8. Candidates, tree,
//! annealing, N̂ and the switch are computed from sizes and answers. A score may be that of an
//! earlier round's estimates: if the model is large or there are many candidates, those on three or
//! more attributes that share fewer than two with the last measured marginal are compared again
//! only every few rounds. This schedule depends only on sizes and answers.
//!
//! *Cost*: a round is three sweeps, O(cells of the model · factors per clique), and the marginals
//! that selection reads. *Source*: ours; the loop is that of S4, App. F.

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
use crate::estimation::{FittedModel, MarginalEstimates, ResidualEstimates};
use crate::workload::GroupedWorkload;

/// Number of sweeps after a round.
const SWEEPS: usize = 3;

/// Maximum number of sweeps after the last round.
const LAST_SWEEPS: usize = 40;

/// The refresh period of scores grows by one round for every 1000 candidates.
const CANDIDATES_PER_ROUND: usize = 1000;

/// Maximum number of cells of a small model (¼ MB). Larger models quadruple the refresh period.
const MAX_SMALL_MODEL_CELLS: usize = 1 << 15;

/// The mechanism `aim-hybrid`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimHybrid {
    /// Maximum size of the tree's cliques, in MB of 2²⁰ bytes; 0 for the local variant.
    max_mb: f64,
    /// The number of rounds per attribute that determines the first round's noise.
    rounds: f64,
    /// κ: a round anneals if it changed its marginal by at most this multiple of the noise.
    patience: f64,
    /// K: the number of last rounds that share the remaining budget.
    last_rounds: f64,
    /// The prior width τ of marginals on two or more attributes; single attributes have 1.5 τ.
    width: f64,
    /// The threshold of the switch to ResidualPlanner; 0 for never.
    ///
    /// ResidualPlanner answers if its expected mean L1 error is at most this fraction of the
    /// records.
    switch: f64,
}

/// The parameters were chosen on Adult. Comparisons with others on synthetic tables and on other
/// real ones did not change them.
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
        Widths::fixed([1.5 * self.width, self.width, self.width])
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
        "adaptive: a small graphical model and marginals outside it; nonnegative, biased"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    /// True without the switch to ResidualPlanner, which fits no model.
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
            last_measured: AttributeSet::EMPTY,
            rounds_since_refresh: 0,
            refreshes_all: true,
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
        for (index, &gamma) in marginals.iter().enumerate() {
            answers(index, &estimates.marginal(gamma)?)?;
        }
        let mut report = report(rounds.len(), &estimates, false);
        report.model = Some(FittedModel::Soft(estimates.soft));
        Ok(report)
    }
}

fn report(rounds: usize, estimates: &HybridEstimates, switched: bool) -> RunReport {
    let details = vec![
        ("rounds", rounds as f64),
        ("model_mb", estimates.soft.tree().megabytes()),
        ("beside_model", estimates.soft.outside() as f64),
        ("residual_planner", f64::from(u8::from(switched))),
    ];
    RunReport { details, ..RunReport::default() }
}

/// The estimates, and which scores selection computes again.
struct HybridEstimates {
    soft: SoftIpf,
    /// The number of candidates.
    candidates: usize,
    /// The marginal γ measured in the last round.
    last_measured: AttributeSet,
    /// The number of rounds since all scores were computed again.
    rounds_since_refresh: usize,
    /// Whether all scores are computed again in the next selection.
    refreshes_all: bool,
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
        self.last_measured = gamma;
        let large = self.soft.tree().cells() > MAX_SMALL_MODEL_CELLS;
        let period = (self.candidates / CANDIDATES_PER_ROUND + 1) * if large { 4 } else { 1 };
        self.rounds_since_refresh += 1;
        self.refreshes_all = self.rounds_since_refresh >= period;
        if self.refreshes_all {
            self.rounds_since_refresh = 0;
        }
        Ok(())
    }
}

impl MarginalEstimates for HybridEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.soft.marginal(gamma)
    }

    /// Infinite for marginals whose scores are computed again, 0 for those that keep their scores.
    fn change_bound(&self, gamma: AttributeSet) -> f64 {
        let near = gamma.len() < 3 || gamma.intersection(self.last_measured).len() >= 2;
        if near || self.refreshes_all { f64::INFINITY } else { 0.0 }
    }
}
