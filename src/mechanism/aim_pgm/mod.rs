//! AIM+PGM: AIM's loop with a graphical model of bounded size, the baseline of S4.
//!
//! ```text
//! measure every 1-way marginal with σ² = T/(1.8ρ), T = 16d; fit
//! repeat
//!     candidates: γ ∈ W↓ inside a clique of the model, or with a junction tree (of γ and all
//!         measured sets) of at most max_mb · (fraction of ρ spent after this round)
//!     γ ← exponential mechanism on w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ n_γ)              costs ε²/8
//!     measure γ with σ²; fit with a warm start                                     costs 1/(2σ²)
//!     if ‖μ̂_γ − μ̂'_γ‖₁ ≤ √(2/π) σ n_γ: σ² ← σ²/4, ε ← 2ε
//! until the budget is spent; a longer fit
//! ```
//!
//! The answers are nonnegative, consistent and biased. *Differences from the published code*: a fit
//! ends at a given tolerance of a certified gap or when it stalls, not after 1,000 steps; the loss
//! has 2σ², not 2σ. *Cost*: the fits, O(cells of the model · measured sets per clique) per step.
//! *Memory*: two models; the limit applies to the cells of one. *Source*: S4, App. F; McKenna et
//! al., AIM (2022).

use std::cell::RefCell;

use super::aim::{
    AdaptiveEstimates, Closure, RoundBudget, Schedule, measure_attributes, run_rounds,
};
use super::{Mechanism, RunReport, marginals_of};
use crate::access::{Candidate, PaidAccess};
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::graphical_model::{
    CalibratedTree, Fit, FitSettings, GraphicalModel, JunctionTree, Messages, cells_of_mb,
};
use crate::estimation::{FittedModel, MarginalEstimates};
use crate::workload::GroupedWorkload;

/// The number of rounds per attribute that determines the first round's noise.
const ROUNDS: usize = 16;

/// The settings of the fit after a round.
const ROUND_FIT: FitSettings = FitSettings { iterations: 1000, tolerance: 1e-3, stall: 5e-3 };

/// The settings of the fit after the last round.
const LAST_FIT: FitSettings = FitSettings { iterations: 2500, tolerance: 1e-5, stall: 5e-4 };

/// Reads the option `max-mb` of a mechanism with a model, in MB of 2²⁰ bytes.
///
/// # Errors
/// A size that is negative or not finite.
pub(super) fn max_mb(call: &Call<'_>, default: f64) -> Result<f64> {
    call.number("max-mb", default, "a finite number of MB, at least 0,", |mb| mb >= 0.0)
}

/// The mechanism `aim-pgm`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimPgm {
    /// Maximum size of the model's cliques, in MB of 2²⁰ bytes.
    max_mb: f64,
}

impl Default for AimPgm {
    fn default() -> Self {
        AimPgm { max_mb: 50.0 }
    }
}

impl AimPgm {
    fn closure(&self, workload: &GroupedWorkload) -> Result<(Vec<AttributeSet>, Closure)> {
        let marginals = marginals_of(self.name(), workload)?;
        let closure = Closure::of_workload(workload.schema(), &marginals)?;
        let smallest = JunctionTree::new(&workload.schema().sizes(), closure.attributes(), &[])?;
        let needed = smallest.megabytes(&workload.schema().sizes());
        if needed > self.max_mb {
            return Err(Error::too_large(
                "model of the 1-way marginals alone, mechanism `aim-pgm`",
                "MB",
                self.max_mb,
                needed,
                "raise the size limit (--max-mb)",
            ));
        }
        Ok((marginals, closure))
    }
}

impl Mechanism for AimPgm {
    fn name(&self) -> &str {
        "aim-pgm"
    }

    fn summary(&self) -> &str {
        "adaptive: a graphical model, fitted every round; nonnegative, consistent, biased, slow"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn ends_with_model(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [&'static str] {
        &["max-mb"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        Ok(Box::new(AimPgm { max_mb: max_mb(call, self.max_mb)? }))
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        self.closure(workload).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let (marginals, closure) = self.closure(workload)?;
        let sizes = workload.schema().sizes();
        let first =
            RoundBudget::of_rounds(access.total(), (ROUNDS * closure.attributes().len()) as f64);
        let mut estimates = ModelEstimates::new(sizes, closure.attributes(), self.max_mb)?;
        measure_attributes(&closure, &first, access, &mut estimates)?;
        let rounds = run_rounds(&closure, first, Schedule::AIM, access, &mut estimates)?;
        for (index, &gamma) in marginals.iter().enumerate() {
            answers(index, &estimates.marginal(gamma)?)?;
        }
        let last = estimates.fits.last().copied();
        let details = vec![
            ("rounds", rounds.len() as f64),
            ("model_mb", estimates.tree().megabytes()),
            ("fit_iterations", estimates.fits.iter().map(|fit| fit.iterations as f64).sum()),
            ("fit_loss", last.map_or(0.0, |fit| fit.loss)),
            ("fit_gap", last.map_or(0.0, |fit| fit.gap)),
        ];
        Ok(RunReport { details, model: Some(FittedModel::Tree(estimates.tree().clone())) })
    }
}

struct ModelEstimates {
    model: GraphicalModel,
    attributes: AttributeSet,
    /// Maximum number of cells of the model's cliques.
    max_cells: f64,
    sizes: Vec<usize>,
    fits: Vec<Fit>,
    messages: RefCell<Messages>,
}

impl ModelEstimates {
    fn new(sizes: Vec<usize>, attributes: AttributeSet, max_mb: f64) -> Result<Self> {
        Ok(ModelEstimates {
            model: GraphicalModel::new(&sizes, attributes)?,
            attributes,
            max_cells: cells_of_mb(max_mb),
            sizes,
            fits: Vec::new(),
            messages: RefCell::default(),
        })
    }

    fn tree(&self) -> &CalibratedTree {
        self.model.marginals()
    }

    fn fit(&mut self, settings: FitSettings) -> Result<()> {
        self.fits.push(self.model.fit(settings)?);
        self.messages.take();
        Ok(())
    }
}

impl AdaptiveEstimates for ModelEstimates {
    fn keeps(&self, candidate: &Candidate, _budget: &RoundBudget, used: f64) -> bool {
        let gamma = candidate.attributes;
        self.tree().tree().clique_of(&self.sizes, gamma).is_some() || {
            let sets: Vec<AttributeSet> = self.model.sets().chain([gamma]).collect();
            JunctionTree::cells_for(&self.sizes, self.attributes, &sets) <= self.max_cells * used
        }
    }

    fn begin(&mut self, measured: Vec<(AttributeSet, Vec<f64>)>, variance: f64) -> Result<()> {
        for (gamma, values) in measured {
            self.model.measure(gamma, values, variance)?;
        }
        self.fit(ROUND_FIT)
    }

    fn measured(
        &mut self,
        gamma: AttributeSet,
        values: Vec<f64>,
        budget: &RoundBudget,
    ) -> Result<()> {
        self.model.measure(gamma, values, budget.variance)?;
        self.fit(if budget.last { LAST_FIT } else { ROUND_FIT })
    }
}

impl MarginalEstimates for ModelEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.tree().marginal_with(&mut self.messages.borrow_mut(), gamma)
    }
}

#[cfg(test)]
mod tests;
