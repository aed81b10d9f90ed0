//! AIM+GReM: adaptive selection of marginals, measured as residuals and reconstructed by GReM-MLE (S4, Sec. 5, Alg. 4).
//!
//! ```text
//! measure every 1-way marginal with σ₀² = K/(0.9ρ)
//! repeat
//!     γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ_t n_γ) over γ ∈ W↓          costs ε_t²/8
//!     σ_τ² for τ ⊆ γ by Conditional ResidualPlanner                                        costs 1/(2σ_t²)
//!     measure the residuals, update z_τ and λ_τ
//!     anneal ε and σ if μ̂_γ changed by no more than the noise
//! until the budget is spent
//! ```
//!
//! K = |W↓|. The estimates are kept as residuals; a marginal is put together when it is asked for, so memory does not grow
//! with the number of marginals in the workload. The loop sees the data through [`PaidAccess`] only.
//!
//! *Cost*: a round is O(K) plus the marginals that [`PrivateTable`] must look at, O(records + n_γ) each; memory is that of the
//! records, of the measured residuals, of one marginal, and of the counts kept ([`PrivateTable`]).
//! *Where the paper is read differently*: annealing compares old and new estimates (its Alg. 7 compares with the true
//! marginal), and the last round ends the loop by a flag. *Reference*: S4, Sec. 5, App. F.

mod access;
mod annealing;
mod candidates;
mod interval;
mod private_table;

pub use access::{PaidAccess, Selection};
pub use annealing::RoundBudget;
pub use candidates::{Candidate, Candidates};
pub use private_table::PrivateTable;

use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::ResidualEstimates;
use crate::planner::allocate;
use crate::residual::add_spread;
use crate::schema::Schema;

/// What a run found and how it got there. Nothing in it costs more privacy than the run did.
#[derive(Debug, Clone)]
pub struct AimGremOutcome {
    /// The residuals, from which every marginal of the workload's closure is reconstructed.
    pub estimates: ResidualEstimates,
    /// The adaptive rounds, in order; the measurements of 1-way marginals before them are not listed.
    pub rounds: Vec<Round>,
    /// What was spent of ρ.
    pub rho_spent: f64,
}

/// One adaptive round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The selected marginal.
    pub attributes: AttributeSet,
    /// What the round could spend.
    pub budget: RoundBudget,
    /// How many of its 2^|γ| residuals were worth measuring.
    pub residuals: usize,
}

impl AimGremOutcome {
    /// Residuals measured in a round, on average.
    pub fn residuals_per_round(&self) -> f64 {
        let measured: usize = self.rounds.iter().map(|round| round.residuals).sum();
        measured as f64 / self.rounds.len().max(1) as f64
    }
}

/// Runs AIM+GReM on a workload of marginals until the budget of `access` is spent.
///
/// # Errors
/// A workload that does not fit the schema, and what `access` refuses.
pub fn run(schema: &Schema, workload: &[AttributeSet], access: &mut dyn PaidAccess) -> Result<AimGremOutcome> {
    let candidates = Candidates::of_workload(schema, workload)?;
    let sizes: Vec<usize> = schema.attributes().iter().map(|a| a.size).collect();
    let mut estimates = ResidualEstimates::new(schema);
    let rho = access.rho();
    let mut budget = RoundBudget::first(rho, candidates.closure_size());
    for position in candidates.attributes().positions() {
        // A marginal with variance σ² is its residuals with σ² · n_{γ∖τ}, at the same cost.
        let total = (AttributeSet::empty(), budget.variance * sizes[position] as f64);
        let attribute = (AttributeSet::from_positions(&[position])?, budget.variance);
        // With a single value there is no residual, and nothing to pay for.
        for (set, variance) in [total, attribute].into_iter().take(sizes[position].min(2)) {
            let measured = access.measure(set, variance)?;
            estimates.update(set, &measured, variance)?;
        }
    }
    let mut rounds = Vec::new();
    loop {
        let selection = Selection { epsilon: budget.epsilon, penalty_per_cell: budget.expected_noise() };
        let place = access.select(&selection, &candidates, &estimates)?;
        let chosen = &candidates.list()[place];
        let own: Vec<usize> = chosen.positions.iter().map(|&p| sizes[p]).collect();
        let subsets: Vec<AttributeSet> = chosen.attributes.subsets().collect();
        let precisions: Vec<f64> = subsets.iter().map(|&set| estimates.precision(set)).collect();
        let allocation = allocate(&own, &precisions, budget.measurement_cost())?;
        let mut changes: Vec<Option<Vec<f64>>> = vec![None; subsets.len()];
        for (mask, variance) in allocation.measured() {
            let measured = access.measure(subsets[mask], variance)?;
            changes[mask] = Some(estimates.update(subsets[mask], &measured, variance)?);
        }
        let norms: Vec<f64> = (0..subsets.len()).map(|mask| change_norm(&own, mask, &changes)).collect();
        access.estimates_changed(chosen.attributes, &norms, &candidates);
        rounds.push(Round { attributes: chosen.attributes, budget, residuals: changes.iter().flatten().count() });
        if budget.last {
            break;
        }
        let changed = norms.last().copied().unwrap_or(0.0);
        budget = budget.next(changed, chosen.cells, access.remaining());
    }
    Ok(AimGremOutcome { estimates, rounds, rho_spent: rho - access.remaining() })
}

/// ‖Σ_{τ⊆β} Recon(z'_τ − z_τ, τ, β)‖₁ for the subset β of γ (of the given sizes) with bits `mask`; `changes` by bits of τ.
fn change_norm(sizes: &[usize], mask: usize, changes: &[Option<Vec<f64>>]) -> f64 {
    let inside: Vec<usize> = (0..sizes.len()).filter(|&axis| mask >> axis & 1 == 1).collect();
    let own: Vec<usize> = inside.iter().map(|&axis| sizes[axis]).collect();
    let mut total: Option<Vec<f64>> = None;
    for (bits, change) in changes.iter().enumerate().filter(|(bits, _)| bits & !mask == 0) {
        if let Some(change) = change {
            let kept: Vec<bool> = inside.iter().map(|&axis| bits >> axis & 1 == 1).collect();
            let total = total.get_or_insert_with(|| vec![0.0; own.iter().product()]);
            add_spread(total, &own, &kept, change);
        }
    }
    total.map_or(0.0, |change| change.iter().map(|x| x.abs()).sum())
}

#[cfg(test)]
mod tests;
