//! AIM+GReM: adaptive selection of marginals, measured as residuals and reconstructed by GReM-MLE
//! (S4, Sec. 5, Alg. 4).
//!
//! ```text
//! measure every 1-way marginal with σ₀² = K/(0.9ρ) repeat γ ← exponential mechanism on w_γ (‖μ_γ −
//! μ̂_γ‖₁ − √(2/π) σ_t n_γ) over γ ∈ W↓          costs ε_t²/8 σ_τ² for τ ⊆ γ by Conditional
//! ResidualPlanner                                        costs 1/(2σ_t²) measure the residuals,
//! update z_τ and λ_τ anneal ε and σ if μ̂_γ changed by no more than the noise until the budget is
//! spent
//! ```
//!
//! K = |W↓|. The estimates are kept as residuals; a marginal is put together when it is asked for,
//! so memory does not grow with the number of marginals in the workload. The loop sees the data
//! through [`PaidAccess`] only.
//!
//! *Cost*: a round is O(K) plus the marginals that selection must look at, O(records + n_γ) each;
//! memory is that of the records, of the measured residuals, of one marginal, and of the counts
//! that selection keeps. *Reconstruction*: where a residual was not measured, GReM's estimate is an
//! additive model, with negative cells for skewed attributes; [`Reconstruction::Independence`]
//! takes the product of the estimated 1-way marginals instead ([`IndependentMarginals`]). The loop
//! and what it measures are the same, and so is the privacy.
//!
//! *Where the paper is read differently*: annealing compares old and new estimates (its Alg. 7
//! compares with the true marginal), and the last round ends the loop by a flag. *Reference*: S4,
//! Sec. 5, App. F.

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

/// What an unmeasured residual means when the marginals are put together at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reconstruction {
    /// Zero, every attribute left out spread evenly: GReM-MLE, linear in the measurements (S4).
    #[default]
    Additive,
    /// That the attributes are independent: [`IndependentMarginals`]. Better where most residuals
    /// stay unmeasured; a little worse where nearly all are measured (NLTCS at ε ≥ 1).
    Independence,
}

impl FromStr for Reconstruction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "additive" => Ok(Reconstruction::Additive),
            "independence" => Ok(Reconstruction::Independence),
            _ => Err(Error::unknown_name(
                "reconstruction",
                name,
                &["additive", "independence"],
                "check the spelling",
            )),
        }
    }
}

/// The mechanism AIM+GReM.
#[derive(Debug, Clone, Copy, Default)]
pub struct AimGrem {
    reconstruction: Reconstruction,
}

impl Mechanism for AimGrem {
    fn name(&self) -> &str {
        "aim-grem"
    }

    fn summary(&self) -> &str {
        "adaptive: measures where the estimates are worst, round by round"
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
            Reconstruction::Additive => None,
            Reconstruction::Independence => {
                Some(IndependentMarginals::of_estimates(&outcome.estimates)?)
            }
        };
        let estimates: &dyn MarginalEstimates = match &independent {
            Some(independent) => independent,
            None => &outcome.estimates,
        };
        for (place, &gamma) in marginals.iter().enumerate() {
            answers(place, &estimates.marginal(gamma)?)?;
        }
        let details = vec![
            ("rounds", outcome.rounds.len() as f64),
            ("residuals_per_round", outcome.residuals_per_round()),
        ];
        Ok(RunReport { details, ..RunReport::default() })
    }
}

/// What a run found and how it got there. Nothing in it costs more privacy than the run did.
#[derive(Debug, Clone)]
pub struct AimGremOutcome {
    /// The residuals, from which every marginal of the workload's closure is reconstructed.
    pub estimates: ResidualEstimates,
    /// The adaptive rounds, in order; the measurements of 1-way marginals before them are not
    /// listed.
    pub rounds: Vec<Round>,
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

/// The estimates as selection sees them: with what the last round changed.
struct RoundEstimates {
    residuals: ResidualEstimates,
    /// γ of the last round.
    measured: AttributeSet,
    /// For every subset β of it ‖μ̂_β − μ̂'_β‖₁.
    norms: Vec<f64>,
}

impl MarginalEstimates for RoundEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.residuals.marginal(gamma)
    }

    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        self.residuals.norm_bound(gamma)
    }

    /// Only residuals on subsets of the measured marginal changed: the change of μ̂_γ is that of
    /// its part on both, spread.
    fn change_bound(&self, gamma: AttributeSet) -> f64 {
        let shared = self.measured.axes_in(gamma);
        self.norms.get(shared.number()).copied().unwrap_or(f64::INFINITY)
    }
}

/// Runs AIM+GReM on a workload of marginals until the budget of `access` is spent.
///
/// # Errors
/// A workload that does not fit the schema, and what `access` refuses.
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
        // A marginal with variance σ² is its residuals with σ² · n_{γ∖τ}, at the same cost.
        let total = (AttributeSet::EMPTY, budget.variance * sizes[position] as f64);
        let attribute = (AttributeSet::single(position), budget.variance);
        // With a single value there is no residual, and nothing to pay for.
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
        let place = access.select(&selection, closure.candidates(), &estimates)?;
        let chosen = closure.candidates().list()[place];
        let own = chosen.attributes.items(&sizes);
        let precisions = estimates.residuals.precisions(chosen.attributes);
        let allocation = allocate(&own, &precisions, Rho::new(budget.measurement_cost())?)?;
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
            AxisSet::subsets(own.len()).map(|axes| change_norm(&own, axes, &changes)).collect();
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

/// ‖Σ_{τ⊆β} Recon(z'_τ − z_τ, τ, β)‖₁ for the subset β of γ (of the given sizes) with these axes;
/// `changes` by τ.
fn change_norm(sizes: &[usize], beta: AxisSet, changes: &[Option<Vec<f64>>]) -> f64 {
    let own = beta.of_items(sizes);
    let mut total: Option<Vec<f64>> = None;
    for (tau, change) in
        AxisSet::subsets(sizes.len()).zip(changes).filter(|(tau, _)| tau.is_subset(beta))
    {
        if let Some(change) = change {
            let total = total.get_or_insert_with(|| vec![0.0; own.iter().product()]);
            spread_onto(total, &own, tau.among(beta), change);
        }
    }
    total.map_or(0.0, |change| change.iter().map(|x| x.abs()).sum())
}

#[cfg(test)]
mod tests;
