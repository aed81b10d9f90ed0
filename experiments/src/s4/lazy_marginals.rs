//! Lazy updating: the marginals of a workload, updated residual by residual (S4, Sec. 4.2).

use matmech::Result;
use matmech::domain::{AttributeSet, AxisSet};
use matmech::estimation::ResidualEstimates;
use matmech::residual::add_spread;
use matmech::schema::Schema;

/// The estimated marginals μ̂_γ of a workload.
///
/// When the estimate of one residual τ changes, only the marginals on γ ⊇ τ change, each by Recon
/// of the change (S4, Prop. 4.2). *Memory*: 8 bytes per cell of the workload.
#[derive(Debug, Clone)]
pub(super) struct LazyMarginals {
    sets: Vec<AttributeSet>,
    sizes: Vec<Vec<usize>>,
    marginals: Vec<Vec<f64>>,
}

impl LazyMarginals {
    /// Computes the marginals of a workload from the current estimates.
    ///
    /// # Errors
    /// An attribute that the schema lacks.
    pub(super) fn new(
        schema: &Schema,
        estimates: &ResidualEstimates,
        workload: &[AttributeSet],
    ) -> Result<Self> {
        let sizes = workload.iter().map(|gamma| schema.shape_of(*gamma)).collect::<Result<_>>()?;
        let marginals =
            workload.iter().map(|gamma| estimates.marginal(*gamma)).collect::<Result<_>>()?;
        Ok(LazyMarginals { sets: workload.to_vec(), sizes, marginals })
    }

    /// Adds Recon(change, τ, γ) to every μ̂_γ with γ ⊇ τ, and returns the number of updated cells.
    ///
    /// `change` is the return value of [`ResidualEstimates::update`]. O(|W| + updated cells).
    ///
    /// # Errors
    /// A change whose length is not the number of cells of the marginal on τ.
    pub(super) fn apply(&mut self, tau: AttributeSet, change: &[f64]) -> Result<usize> {
        let mut touched = 0;
        for ((gamma, sizes), marginal) in self.sets.iter().zip(&self.sizes).zip(&mut self.marginals)
        {
            if tau.is_subset(*gamma) {
                add_spread(marginal, sizes, gamma.axes_in(tau), change)?;
                touched += marginal.len();
            }
        }
        Ok(touched)
    }

    /// Recomputes every marginal as Σ_τ Recon(z_τ, τ, γ) and returns the number of cells written.
    ///
    /// This is the paper's baseline for lazy updating (S4, Alg. 3, line 4). It writes n_γ cells for
    /// every measured τ ⊆ γ; [`ResidualEstimates::marginal`] needs fewer passes. O(2^k · cells of
    /// the workload).
    ///
    /// # Errors
    /// Estimates for another schema.
    pub(super) fn rebuild(&mut self, estimates: &ResidualEstimates) -> Result<usize> {
        let mut written = 0;
        for ((gamma, sizes), marginal) in self.sets.iter().zip(&self.sizes).zip(&mut self.marginals)
        {
            marginal.fill(0.0);
            for (kept, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
                let Some(estimate) = estimates.get(tau) else { continue };
                add_spread(marginal, sizes, kept, estimate.centred())?;
                written += marginal.len();
            }
        }
        Ok(written)
    }

    /// Returns the marginals, in the order of the workload.
    pub(super) fn into_marginals(self) -> Vec<Vec<f64>> {
        self.marginals
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use matmech::domain::AttributeKind;
    use matmech::residual::centre_in_place;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    const SIZES: [usize; 4] = [3, 2, 1, 4];

    fn schema() -> Schema {
        Schema::of_sizes(&SIZES, AttributeKind::Categorical).unwrap()
    }

    /// Returns the set whose attributes are the bits of a number.
    fn numbered(bits: usize) -> AttributeSet {
        AttributeSet::first(SIZES.len()).at(AxisSet::from_number(bits))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// S4, Prop. 4.2: after any sequence of updates the lazy marginals equal the reconstructed
        /// ones.
        #[test]
        fn lazy_marginals_equal_reconstructed_ones(
            updates in prop::collection::vec((0usize..16, 1e-3..1e3f64), 1..40),
            workload in prop::collection::vec(0usize..16, 1..8),
            start in 0usize..40,
            seed in any::<u64>(),
        ) {
            let workload: Vec<AttributeSet> = workload.into_iter().map(numbered).collect();
            let cells = |set: AttributeSet| schema().shape_of(set).unwrap().iter().product();
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let mut estimates = ResidualEstimates::new(&schema());
            let mut lazy = None;
            for (step, (mask, variance)) in updates.iter().enumerate() {
                if step == start.min(updates.len() - 1) {
                    lazy = Some(LazyMarginals::new(&schema(), &estimates, &workload).unwrap());
                }
                let tau = numbered(*mask);
                let mut y: Vec<f64> =
                    (0..cells(tau)).map(|_| rng.random_range(-3.0..3.0)).collect();
                centre_in_place(&schema().shape_of(tau).unwrap(), &mut y).unwrap();
                let change = estimates.update(tau, &y, *variance).unwrap();
                if let Some(lazy) = lazy.as_mut() {
                    let touched = lazy.apply(tau, &change).unwrap();
                    let changed = workload.iter().filter(|gamma| tau.is_subset(**gamma));
                    prop_assert_eq!(touched, changed.map(|gamma| cells(*gamma)).sum::<usize>());
                }
            }
            let lazy = lazy.unwrap();
            let mut rebuilt = lazy.clone();
            rebuilt.rebuild(&estimates).unwrap();
            for found in [lazy, rebuilt] {
                for (marginal, &gamma) in found.marginals.iter().zip(&workload) {
                    let full = estimates.marginal(gamma).unwrap();
                    assert_abs_diff_eq!(marginal.as_slice(), full.as_slice(), epsilon = 1e-9);
                }
            }
        }
    }

    #[test]
    fn invalid_changes_and_attributes_are_refused() {
        let estimates = ResidualEstimates::new(&schema());
        let outside = AttributeSet::from_positions(&[4]).unwrap();
        assert!(LazyMarginals::new(&schema(), &estimates, &[outside]).is_err());
        let mut lazy = LazyMarginals::new(&schema(), &estimates, &[numbered(0b11)]).unwrap();
        let refused = lazy.apply(numbered(0b01), &[0.0; 2]).unwrap_err().to_string();
        assert!(refused.contains("3 cells"), "{refused}");
        assert_eq!(lazy.apply(numbered(0b1000), &[0.0; 4]).unwrap(), 0);
    }
}
