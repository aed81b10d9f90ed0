//! Lazy updating: the marginals of a workload, kept up to date residual by residual (S4, Sec. 4.2).

use super::grem::{ResidualEstimates, subset};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::add_spread;

/// The estimated marginals μ̂_γ of a workload.
///
/// When the estimate of one residual τ changes, only the marginals on γ ⊇ τ change, each by Recon of the change (S4,
/// Prop. 4.2). *Memory*: 8 bytes per cell of the workload; where that is too much,
/// [`ResidualEstimates::marginal`] makes each marginal when it is needed.
#[derive(Debug, Clone)]
pub struct LazyMarginals {
    sets: Vec<AttributeSet>,
    positions: Vec<Vec<usize>>,
    sizes: Vec<Vec<usize>>,
    marginals: Vec<Vec<f64>>,
}

impl LazyMarginals {
    /// The marginals on the given ascending positions, as they follow from what is known now.
    ///
    /// # Errors
    /// Positions that are not ascending positions of the schema.
    pub fn new(estimates: &ResidualEstimates, workload: &[Vec<usize>]) -> Result<Self> {
        let mut sizes = Vec::with_capacity(workload.len());
        let mut sets = Vec::with_capacity(workload.len());
        let mut marginals = Vec::with_capacity(workload.len());
        for positions in workload {
            sizes.push(estimates.own_sizes(positions)?);
            sets.push(AttributeSet::from_positions(positions)?);
            marginals.push(estimates.marginal(positions)?);
        }
        Ok(LazyMarginals { sets, positions: workload.to_vec(), sizes, marginals })
    }

    /// Adds Recon(change, τ, γ) to every μ̂_γ with γ ⊇ τ, and returns the number of cells touched. `change` is what
    /// [`ResidualEstimates::update`] returned. O(|W| + cells touched).
    ///
    /// # Errors
    /// A change of another number of cells than the marginal on τ has.
    pub fn apply(&mut self, tau: AttributeSet, change: &[f64]) -> Result<usize> {
        let mut touched = 0;
        for (place, set) in self.sets.iter().enumerate() {
            if !tau.is_subset(*set) {
                continue;
            }
            let sizes = &self.sizes[place];
            let kept: Vec<bool> = self.positions[place].iter().map(|&p| tau.contains(p)).collect();
            let cells: usize = sizes.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(n, _)| n).product();
            if change.len() != cells {
                return Err(Error::invalid(
                    format!("change of the residual on {:?}", tau.positions().collect::<Vec<_>>()),
                    format!("{cells} numbers, one per cell of the marginal"),
                    format!("{} numbers", change.len()),
                    "give what the update of the estimates returned",
                ));
            }
            let marginal = &mut self.marginals[place];
            add_spread(marginal, sizes, &kept, change);
            touched += marginal.len();
        }
        Ok(touched)
    }

    /// Makes every marginal anew as Σ_τ Recon(z_τ, τ, γ), residual by residual (S4, Alg. 3, line 4), and returns the number
    /// of cells written: n_γ for every measured τ ⊆ γ. It is the baseline that lazy updating is compared with;
    /// [`ResidualEstimates::marginal`] needs fewer passes. O(2^k · cells of the workload).
    ///
    /// # Errors
    /// Positions beyond what a set of attributes holds: not after [`LazyMarginals::new`].
    pub fn rebuild(&mut self, estimates: &ResidualEstimates) -> Result<usize> {
        let mut written = 0;
        for ((positions, sizes), marginal) in self.positions.iter().zip(&self.sizes).zip(&mut self.marginals) {
            marginal.fill(0.0);
            for mask in 0..1usize << positions.len() {
                let Some(estimate) = estimates.get(subset(positions, mask)?) else { continue };
                let kept: Vec<bool> = (0..positions.len()).map(|i| mask >> i & 1 == 1).collect();
                add_spread(marginal, sizes, &kept, estimate.centred());
                written += marginal.len();
            }
        }
        Ok(written)
    }

    /// The marginals themselves, in the order of the workload.
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
