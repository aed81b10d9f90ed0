//! Lazy updating: the marginals of a workload, updated residual by residual (S4, Sec. 4.2).

use super::grem::ResidualEstimates;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::spread_onto;

/// The estimated marginals μ̂_γ of a workload.
///
/// When the estimate of one residual τ changes, only the marginals on γ ⊇ τ change, each by Recon
/// of the change (S4, Prop. 4.2). *Memory*: 8 bytes per cell of the workload.
/// [`ResidualEstimates::marginal`] needs less: it computes one marginal at a time.
#[derive(Debug, Clone)]
pub struct LazyMarginals {
    sets: Vec<AttributeSet>,
    sizes: Vec<Vec<usize>>,
    marginals: Vec<Vec<f64>>,
}

impl LazyMarginals {
    /// Computes the marginals of a workload from the current estimates.
    ///
    /// # Errors
    /// An attribute that the schema lacks.
    pub fn new(estimates: &ResidualEstimates, workload: &[AttributeSet]) -> Result<Self> {
        let mut sizes = Vec::with_capacity(workload.len());
        let mut marginals = Vec::with_capacity(workload.len());
        for &gamma in workload {
            sizes.push(estimates.shape_of(gamma)?);
            marginals.push(estimates.marginal(gamma)?);
        }
        Ok(LazyMarginals { sets: workload.to_vec(), sizes, marginals })
    }

    /// Adds Recon(change, τ, γ) to every μ̂_γ with γ ⊇ τ, and returns the number of updated cells.
    ///
    /// `change` is the return value of [`ResidualEstimates::update`]. O(|W| + updated cells).
    ///
    /// # Errors
    /// A change whose length is not the number of cells of the marginal on τ.
    pub fn apply(&mut self, tau: AttributeSet, change: &[f64]) -> Result<usize> {
        let mut touched = 0;
        for ((gamma, sizes), marginal) in self.sets.iter().zip(&self.sizes).zip(&mut self.marginals)
        {
            if !tau.is_subset(*gamma) {
                continue;
            }
            let kept = gamma.axes_in(tau);
            let cells: usize = kept.select(sizes).iter().product();
            if change.len() != cells {
                return Err(Error::bad_input(
                    format!("change of the residual on {tau:?}"),
                    format!("{cells} numbers, one per cell of the marginal"),
                    format!("{} numbers", change.len()),
                    "pass the change that `ResidualEstimates::update` returned",
                ));
            }
            spread_onto(marginal, sizes, kept, change);
            touched += marginal.len();
        }
        Ok(touched)
    }

    /// Recomputes every marginal as Σ_τ Recon(z_τ, τ, γ) and returns the number of cells written.
    ///
    /// This is the paper's baseline for lazy updating (S4, Alg. 3, line 4). It writes n_γ cells for
    /// every measured τ ⊆ γ; [`ResidualEstimates::marginal`] needs fewer passes. O(2^k · cells of
    /// the workload).
    pub fn rebuild(&mut self, estimates: &ResidualEstimates) -> usize {
        let mut written = 0;
        for ((gamma, sizes), marginal) in self.sets.iter().zip(&self.sizes).zip(&mut self.marginals)
        {
            marginal.fill(0.0);
            for (kept, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
                let Some(estimate) = estimates.get(tau) else { continue };
                spread_onto(marginal, sizes, kept, estimate.centred());
                written += marginal.len();
            }
        }
        written
    }

    /// Returns the marginals, in the order of the workload.
    pub fn into_marginals(self) -> Vec<Vec<f64>> {
        self.marginals
    }

    /// The marginals, in the order of the workload.
    pub fn marginals(&self) -> &[Vec<f64>] {
        &self.marginals
    }

    /// The attribute sets, in the order of the workload.
    pub fn sets(&self) -> &[AttributeSet] {
        &self.sets
    }
}
