//! AIM+GReM: adaptively selected marginals, reconstructed by GReM-MLE (S4, Sec. 5, Alg. 4).
//!
//! ```text
//! measure every 1-way marginal with σ₀² = K/(0.9ρ)
//! repeat
//!     γ ← exponential mechanism over W↓ on                                        costs ε_t²/8
//!         w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ_t n_γ)
//!     σ_τ² for τ ⊆ γ by Conditional ResidualPlanner                               costs 1/(2σ_t²)
//!     measure the residuals, update z_τ and λ_τ
//!     anneal ε and σ if μ̂_γ changed by at most the expected noise
//! until the budget is spent
//! ```
//!
//! K = |W↓|. The estimates are stored as residuals and marginals are computed on demand, so memory
//! does not grow with the number of marginals in the workload. The loop accesses the data only
//! through [`PaidAccess`].
//!
//! *Cost*: a round is O(K) plus O(records + n_γ) for every marginal that selection reads. *Memory*:
//! the records, the measured residuals, one marginal, and the counts that selection caches.
//!
//! *Reconstruction*: for unmeasured residuals, GReM's estimate is an additive model, with negative
//! cells for skewed attributes. [`UnmeasuredResiduals::Independence`] uses the product of the
//! estimated 1-way marginals instead ([`IndependentMarginals`]). The loop, its measurements and its
//! privacy are the same.
//!
//! *Differences from the paper*: annealing compares old and new estimates (its Alg. 7 compares with
//! the true marginal), and a flag ends the loop after the last round. *Reference*: S4, Sec. 5,
//! App. F.

use std::str::FromStr;

use super::aim::{Closure, RoundBudget};
use super::conditional_residual_planner::allocate;
use super::{Mechanism, RunReport, marginals_of};
use crate::access::{CandidateSelection, PaidAccess, Question};
use crate::call::Call;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::estimation::{IndependentMarginals, MarginalEstimates, ResidualEstimates};
use crate::privacy::{NoiseStream, Rho};
use crate::residual::spread_onto;
use crate::schema::Schema;
use crate::workload::GroupedWorkload;

/// The treatment of unmeasured residuals in the final reconstruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnmeasuredResiduals {
    /// Unmeasured residuals are 0: GReM-MLE, linear in the measurements (S4).
    #[default]
    Additive,
    /// Unmeasured residuals mean independent attributes: [`IndependentMarginals`].
    ///
    /// Better if most residuals are unmeasured; slightly worse if nearly all are measured (NLTCS at
    /// ε ≥ 1).
    Independence,
}

impl FromStr for UnmeasuredResiduals {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "additive" => Ok(UnmeasuredResiduals::Additive),
            "independence" => Ok(UnmeasuredResiduals::Independence),
            _ => Err(Error::unknown_name(
                "reconstruction",
                name,
                &["additive", "independence"],
                "check the spelling",
            )),
        }
    }
}

/// The mechanism AIM+GReM, `aim-grem`.
#[derive(Debug, Clone, Copy, Default)]
pub struct AimGrem {
    reconstruction: UnmeasuredResiduals,
}

impl Mechanism for AimGrem {
    fn name(&self) -> &str {
        "aim-grem"
    }

    fn summary(&self) -> &str {
        "adaptive: measures, round by round, where the estimates are worst"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [&'static str] {
        &["reconstruction"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        let name = call.written("reconstruction").unwrap_or("additive");
        Ok(Box::new(AimGrem { reconstruction: name.parse()? }))
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
        let outcome = run(workload.schema(), &marginals, access)?;
        let independent = match self.reconstruction {
            UnmeasuredResiduals::Additive => None,
            UnmeasuredResiduals::Independence => {
                Some(IndependentMarginals::of_estimates(&outcome.estimates)?)
            }
        };
        let estimates: &dyn MarginalEstimates = match &independent {
            Some(independent) => independent,
            None => &outcome.estimates,
        };
        for (index, &gamma) in marginals.iter().enumerate() {
            answers(index, &estimates.marginal(gamma)?)?;
        }
        let details = vec![
            ("rounds", outcome.rounds.len() as f64),
            ("residuals_per_round", outcome.residuals_per_round()),
        ];
        Ok(RunReport { details, ..RunReport::default() })
    }
}

/// The outcome of a run; it costs no privacy beyond the run itself.
#[derive(Debug, Clone)]
pub struct AimGremOutcome {
    /// The estimated residuals, from which every marginal of the workload's closure follows.
    pub estimates: ResidualEstimates,
    /// The adaptive rounds, in order, without the initial measurements of 1-way marginals.
    pub rounds: Vec<Round>,
}

/// One adaptive round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The selected marginal.
    pub attributes: AttributeSet,
    /// The budget of the round.
    pub budget: RoundBudget,
    /// The number of measured residuals, of 2^|γ|.
    pub residuals: usize,
}

impl AimGremOutcome {
    /// Returns the mean number of residuals measured per round.
    pub fn residuals_per_round(&self) -> f64 {
        let measured: usize = self.rounds.iter().map(|round| round.residuals).sum();
        measured as f64 / self.rounds.len().max(1) as f64
    }
}

/// The estimates for selection, with the changes of the last round.
struct RoundEstimates {
    residuals: ResidualEstimates,
    /// The marginal γ measured in the last round.
    measured: AttributeSet,
    /// ‖μ̂_β − μ̂'_β‖₁ for every subset β of γ.
    norms: Vec<f64>,
}

impl MarginalEstimates for RoundEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.residuals.marginal(gamma)
    }

    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        self.residuals.norm_bound(gamma)
    }

    /// Returns the exact change of μ̂_γ.
    ///
    /// Only residuals on subsets of the measured marginal changed, so the change of μ̂_γ is that of
    /// the marginal on the shared attributes, spread.
    fn change_bound(&self, gamma: AttributeSet) -> f64 {
        let shared = self.measured.axes_in(gamma);
        self.norms.get(shared.number()).copied().unwrap_or(f64::INFINITY)
    }
}

/// Runs AIM+GReM on a workload of marginals until the budget of `access` is spent.
///
/// # Errors
/// A workload that does not fit the schema. Errors of `access`.
pub fn run(
    schema: &Schema,
    workload: &[AttributeSet],
    access: &mut dyn PaidAccess,
) -> Result<AimGremOutcome> {
    let closure = Closure::of_workload(schema, workload)?;
    let sizes = schema.sizes();
    let mut estimates = RoundEstimates {
        residuals: ResidualEstimates::new(schema),
        measured: AttributeSet::EMPTY,
        norms: Vec::new(),
    };
    let mut budget = RoundBudget::first(access.total(), closure.size());
    for position in closure.attributes().positions() {
        // A marginal with variance σ² is equivalent to its residuals with σ² · n_{γ∖τ}, at the same
        // cost.
        let total = (AttributeSet::EMPTY, budget.variance * sizes[position] as f64);
        let attribute = (AttributeSet::single(position), budget.variance);
        // An attribute with a single value has no residual and costs nothing.
        for (attributes, variance) in [total, attribute].into_iter().take(sizes[position].min(2)) {
            let measured = access
                .measure(&Question::Residual { attributes, variance }, NoiseStream::Shared)?;
            estimates.residuals.update(attributes, &measured, variance)?;
        }
    }
    let mut rounds = Vec::new();
    loop {
        let selection = CandidateSelection {
            epsilon: budget.epsilon,
            penalty_per_cell: budget.expected_noise(),
        };
        let index = access.select(&selection, closure.candidates(), &estimates)?;
        let chosen = closure.candidates().list()[index];
        let shape = chosen.attributes.select(&sizes);
        let precisions = estimates.residuals.precisions(chosen.attributes);
        let allocation = allocate(&shape, &precisions, Rho::new(budget.measurement_cost())?)?;
        let mut changes: Vec<Option<Vec<f64>>> = vec![None; precisions.len()];
        for (axes, variance) in allocation.measured() {
            let attributes = chosen.attributes.at(axes);
            let measured = access
                .measure(&Question::Residual { attributes, variance }, NoiseStream::Shared)?;
            changes[axes.number()] =
                Some(estimates.residuals.update(attributes, &measured, variance)?);
        }
        estimates.measured = chosen.attributes;
        estimates.norms =
            AxisSet::subsets(shape.len()).map(|axes| change_norm(&shape, axes, &changes)).collect();
        rounds.push(Round {
            attributes: chosen.attributes,
            budget,
            residuals: changes.iter().flatten().count(),
        });
        let Some(remaining) = access.remaining().filter(|_| !budget.last) else { break };
        let changed = estimates.norms.last().copied().unwrap_or(0.0);
        budget = budget.next(changed, chosen.cells, remaining);
    }
    Ok(AimGremOutcome { estimates: estimates.residuals, rounds })
}

/// Returns ‖Σ_{τ⊆β} Recon(z'_τ − z_τ, τ, β)‖₁ for a subset β of γ.
///
/// `sizes` are those of γ, and `changes` are indexed by τ ⊆ γ.
fn change_norm(sizes: &[usize], beta: AxisSet, changes: &[Option<Vec<f64>>]) -> f64 {
    let shape = beta.select(sizes);
    let mut total: Option<Vec<f64>> = None;
    for (tau, change) in
        AxisSet::subsets(sizes.len()).zip(changes).filter(|(tau, _)| tau.is_subset(beta))
    {
        if let Some(change) = change {
            let total = total.get_or_insert_with(|| vec![0.0; shape.iter().product()]);
            spread_onto(total, &shape, tau.among(beta), change);
        }
    }
    total.map_or(0.0, |change| change.iter().map(|x| x.abs()).sum())
}

#[cfg(test)]
mod tests;
