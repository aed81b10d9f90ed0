//! The common loop of mechanisms that measure whole marginals: select, measure, anneal.

use super::{Closure, RoundBudget};
use crate::access::{Candidate, CandidateSelection, Candidates, PaidAccess, Question};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::privacy::NoiseStream;

/// Estimates that are updated by measurements.
pub(in crate::mechanism) trait AdaptiveEstimates: MarginalEstimates {
    /// Returns whether a candidate may be selected in a round with this budget.
    ///
    /// `used` is the fraction of ρ that is spent after the round. The result depends only on
    /// measurements and sizes and is therefore public.
    fn keeps(&self, candidate: &Candidate, budget: &RoundBudget, used: f64) -> bool;

    /// Adds the first measurements, of every attribute.
    fn begin(&mut self, measured: Vec<(AttributeSet, Vec<f64>)>, variance: f64) -> Result<()>;

    /// Adds `μ_γ + N(0, σ²I)` and updates the estimates.
    fn measured(
        &mut self,
        gamma: AttributeSet,
        values: Vec<f64>,
        budget: &RoundBudget,
    ) -> Result<()>;
}

/// One adaptive round of a mechanism that measures whole marginals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRound {
    /// The selected marginal.
    pub attributes: AttributeSet,
    /// The budget of the round.
    pub budget: RoundBudget,
}

/// The parameters of annealing and of the last rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::mechanism) struct Schedule {
    /// The factor of the change below which a round anneals.
    pub patience: f64,
    /// The number K of last rounds.
    ///
    /// They share the remaining budget once it does not pay for K + 1 rounds.
    pub last_rounds: usize,
}

impl Schedule {
    /// AIM's schedule: the last round spends the remaining budget.
    pub(in crate::mechanism) const AIM: Schedule = Schedule { patience: 1.0, last_rounds: 1 };
}

/// Measures every attribute of the workload with the noise of the first round.
///
/// # Errors
/// Errors of `access` and of the estimates.
pub(in crate::mechanism) fn measure_attributes(
    closure: &Closure,
    budget: &RoundBudget,
    access: &mut dyn PaidAccess,
    estimates: &mut dyn AdaptiveEstimates,
) -> Result<()> {
    let mut measured = Vec::new();
    for position in closure.attributes().positions() {
        let attributes = AttributeSet::single(position);
        let question = Question::Marginal { attributes, variance: budget.variance };
        measured.push((attributes, access.measure(&question, NoiseStream::Shared)?));
    }
    estimates.begin(measured, budget.variance)
}

/// Selects, measures and anneals until the budget is spent.
///
/// ```text
/// repeat
///     γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ n_γ)              costs ε²/8
///         over the kept candidates
///     y ← μ_γ + N(0, σ²I)                                                          costs 1/(2σ²)
///     update the estimates
///     if ‖μ̂_γ − μ̂'_γ‖₁ ≤ patience · √(2/π) σ n_γ: σ² ← σ²/4, ε ← 2ε
///     if the remaining budget does not pay for K + 1 such rounds:
///         K last rounds with equal shares of it
/// ```
///
/// # Errors
/// Errors of `access` and of the estimates.
pub(in crate::mechanism) fn run_rounds(
    closure: &Closure,
    mut budget: RoundBudget,
    schedule: Schedule,
    access: &mut dyn PaidAccess,
    estimates: &mut dyn AdaptiveEstimates,
) -> Result<Vec<MeasuredRound>> {
    let mut rounds = Vec::new();
    let mut last_rounds: Option<usize> = None;
    let total = access.total().get();
    let mut kept = Candidates::new(Vec::new());
    loop {
        let left = access.remaining().map_or(0.0, |rho| rho.get());
        let used = 1.0 - ((left - budget.cost()) / total).max(0.0);
        let all = closure.candidates().list().iter();
        let mut list: Vec<Candidate> =
            all.clone().filter(|c| estimates.keeps(c, &budget, used)).copied().collect();
        if list.is_empty() {
            // A round needs a candidate: the smallest.
            list.extend(all.min_by_key(|c| c.cells).copied());
        }
        if list != kept.list() {
            kept = Candidates::new(list);
        }
        let selection = CandidateSelection {
            epsilon: budget.epsilon,
            penalty_per_cell: budget.expected_noise(),
        };
        let index = access.select(&selection, &kept, estimates)?;
        let chosen = kept.list()[index];
        let question =
            Question::Marginal { attributes: chosen.attributes, variance: budget.variance };
        let measured = access.measure(&question, NoiseStream::Shared)?;
        let old = estimates.marginal(chosen.attributes)?;
        estimates.measured(chosen.attributes, measured, &budget)?;
        rounds.push(MeasuredRound { attributes: chosen.attributes, budget });
        let Some(remaining) = access.remaining().filter(|_| !budget.last) else {
            return Ok(rounds);
        };
        if last_rounds.is_none() {
            let new = estimates.marginal(chosen.attributes)?;
            let changed: f64 = new.iter().zip(&old).map(|(new, old)| (new - old).abs()).sum();
            budget = budget.annealed(changed / schedule.patience, chosen.cells);
            if remaining.get() <= (schedule.last_rounds + 1) as f64 * budget.cost() {
                last_rounds = Some(schedule.last_rounds);
            }
        }
        if let Some(rounds) = last_rounds.as_mut() {
            budget = RoundBudget::share_of(remaining, *rounds);
            *rounds -= 1;
        }
    }
}
