//! The loop that the adaptive mechanisms with isotropic measurements share: select, measure the
//! whole marginal, anneal.

use super::{Closure, RoundBudget};
use crate::access::{Candidate, CandidateSelection, Candidates, PaidAccess, Question};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::privacy::NoiseStream;

/// Estimates that measurements go into.
pub(in crate::mechanism) trait AdaptiveEstimates: MarginalEstimates {
    /// Whether a candidate may be selected in a round with this budget, after which `used` of ρ, a
    /// share, will be spent. It sees what was measured and sizes, and so is public.
    fn keeps(&self, candidate: &Candidate, budget: &RoundBudget, used: f64) -> bool;

    /// Takes in the first measurements, of every attribute.
    fn begin(&mut self, measured: Vec<(AttributeSet, Vec<f64>)>, variance: f64) -> Result<()>;

    /// Takes in `μ_γ + N(0, σ²I)` and makes new estimates.
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
    /// What the round could spend.
    pub budget: RoundBudget,
}

/// How rounds anneal, and how the run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::mechanism) struct Schedule {
    /// Scales the change below which a round anneals.
    pub patience: f64,
    /// How many rounds share what remains once it does not pay for one more than these.
    pub last_rounds: usize,
}

impl Schedule {
    /// AIM's: the last round takes all that remains.
    pub(in crate::mechanism) const AIM: Schedule = Schedule { patience: 1.0, last_rounds: 1 };
}

/// Measures every attribute of the workload with the noise of the first round.
///
/// # Errors
/// What `access` and the estimates refuse.
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
/// repeat γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ n_γ) over the candidates kept
/// costs ε²/8 y ← μ_γ + N(0, σ²I)
/// costs 1/(2σ²) new estimates; if ‖μ̂_γ − μ̂'_γ‖₁ ≤ patience · √(2/π) σ n_γ: σ² ← σ²/4, ε ← 2ε if
/// what remains does not pay for K + 1 such rounds: K rounds with equal shares of it, and the end
/// ```
///
/// # Errors
/// What `access` and the estimates refuse.
pub(in crate::mechanism) fn run_rounds(
    closure: &Closure,
    mut budget: RoundBudget,
    schedule: Schedule,
    access: &mut dyn PaidAccess,
    estimates: &mut dyn AdaptiveEstimates,
) -> Result<Vec<MeasuredRound>> {
    let mut rounds = Vec::new();
    let mut left_over: Option<usize> = None;
    let total = access.total().get();
    let mut kept = Candidates::new(Vec::new());
    loop {
        let left = access.remaining().map_or(0.0, |rho| rho.get());
        let used = 1.0 - ((left - budget.cost()) / total).max(0.0);
        let all = closure.candidates().list().iter();
        let mut list: Vec<Candidate> =
            all.clone().filter(|c| estimates.keeps(c, &budget, used)).copied().collect();
        if list.is_empty() {
            // Something has to be measured: the smallest.
            list.extend(all.min_by_key(|c| c.cells).copied());
        }
        if list != kept.list() {
            kept = Candidates::new(list);
        }
        let selection = CandidateSelection {
            epsilon: budget.epsilon,
            penalty_per_cell: budget.expected_noise(),
        };
        let place = access.select(&selection, &kept, estimates)?;
        let chosen = kept.list()[place];
        let question =
            Question::Marginal { attributes: chosen.attributes, variance: budget.variance };
        let measured = access.measure(&question, NoiseStream::Shared)?;
        let old = estimates.marginal(chosen.attributes)?;
        estimates.measured(chosen.attributes, measured, &budget)?;
        rounds.push(MeasuredRound { attributes: chosen.attributes, budget });
        let Some(remaining) = access.remaining().filter(|_| !budget.last) else {
            return Ok(rounds);
        };
        if left_over.is_none() {
            let new = estimates.marginal(chosen.attributes)?;
            let changed: f64 = new.iter().zip(&old).map(|(new, old)| (new - old).abs()).sum();
            budget = budget.annealed(changed / schedule.patience, chosen.cells);
            if remaining.get() <= (schedule.last_rounds + 1) as f64 * budget.cost() {
                left_over = Some(schedule.last_rounds);
            }
        }
        if let Some(rounds) = left_over.as_mut() {
            budget = RoundBudget::share_of(remaining, *rounds);
            *rounds -= 1;
        }
    }
}
