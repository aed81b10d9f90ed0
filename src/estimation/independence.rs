//! Marginals from residuals for a reference measure: unmeasured residuals mean independence.

use std::collections::HashMap;

use super::{MarginalEstimates, ResidualEstimates};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::residual::{Measure, ReferenceMeasure, project_for, spread_for};

/// The estimates of [`ResidualEstimates`] for a reference measure ν.
///
/// A residual is spread over an attribute i that it lacks by ν_i instead of 1/n_i:
///
/// ```text
/// f_τ = (⊗_{i∈τ} (I − ν_i 1ᵀ)) μ̂_τ    for every measured τ,
/// μ̃_γ = Σ_{τ⊆γ, τ measured} f_τ ⊗ (⊗_{i∈γ∖τ} ν_i),
/// ```
///
/// with μ̂ the estimates of GReM. With ν_i the normalised 1-way marginals, a pair that was not
/// measured is that of independent attributes (total · ν_i ⊗ ν_j). GReM's is the additive model
/// μ̂_i/n_j + μ̂_j/n_i − total/(n_i n_j).
///
/// μ̃ is consistent. μ̃_γ = μ̂_γ if every subset of γ was measured, and for every γ if ν is
/// uniform. *Limitation*: ν is computed from noisy answers, so an estimate with an unmeasured
/// residual is neither linear in the measurements nor a maximum-likelihood estimate. It costs no
/// privacy. *Memory*: 8 n_τ bytes per measured residual. *Source*: the project's
/// `docs/reference-measures.md`.
#[derive(Debug, Clone)]
pub struct IndependentMarginals {
    sizes: Vec<usize>,
    measure: ReferenceMeasure,
    parts: HashMap<AttributeSet, Vec<f64>>,
}

impl IndependentMarginals {
    /// Uses the estimated 1-way marginals as the measure.
    ///
    /// Negative counts are set to 0 and each marginal is scaled to sum to 1; the measure is uniform
    /// if no count is positive. O(k n_τ) for every measured τ of k attributes.
    ///
    /// # Errors
    /// None for estimates of one table.
    pub fn of_estimates(estimates: &ResidualEstimates) -> Result<Self> {
        let measures = (0..estimates.sizes().len())
            .map(|position| {
                estimates.marginal(AttributeSet::single(position)).map(|counts| normalised(&counts))
            })
            .collect::<Result<Vec<_>>>()?;
        Self::for_measure(estimates, ReferenceMeasure::new(measures))
    }

    /// Uses a given measure.
    ///
    /// # Errors
    /// A measure whose attributes are not those of the estimates.
    pub fn for_measure(estimates: &ResidualEstimates, measure: ReferenceMeasure) -> Result<Self> {
        measure.check_sizes(estimates.sizes())?;
        let mut parts = HashMap::with_capacity(estimates.measured());
        for tau in estimates.measured_sets() {
            let mut part = estimates.marginal(tau)?;
            project_for(&tau.select(estimates.sizes()), &mut part, &measure.of(tau));
            parts.insert(tau, part);
        }
        Ok(IndependentMarginals { sizes: estimates.sizes().to_vec(), measure, parts })
    }

    /// Returns the reference measure ν.
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }
}

impl MarginalEstimates for IndependentMarginals {
    /// Returns μ̃_γ. O(2^k k n_γ) for k attributes.
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        if gamma.end() > self.sizes.len() {
            return Err(super::grem::outside(gamma, self.sizes.len()));
        }
        let (sizes, measures) = (gamma.select(&self.sizes), self.measure.of(gamma));
        let mut sum = vec![0.0; sizes.iter().product()];
        for (kept, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
            if let Some(part) = self.parts.get(&tau) {
                spread_for(&mut sum, &sizes, kept, part, &measures);
            }
        }
        Ok(sum)
    }
}

/// Returns the probabilities proportional to the positive parts of estimated counts.
fn normalised(counts: &[f64]) -> Measure {
    let total: f64 = counts.iter().map(|count| count.max(0.0)).sum();
    let weights: Vec<f64> = counts.iter().map(|count| count.max(0.0) / total).collect();
    Measure::signed(&weights).unwrap_or_else(|| Measure::uniform(counts.len()))
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use rand::RngExt;

    use super::*;

    use crate::residual::{centre_box, summed};

    use crate::test_support::{rng, schema};

    const SIZES: [usize; 4] = [3, 2, 1, 4];

    /// Estimates from noisy measurements of these residuals, by the bits of their attributes.
    fn estimates(measured: &[usize]) -> ResidualEstimates {
        let mut rng = rng(11);
        let mut estimates = ResidualEstimates::new(&schema(&SIZES));
        for &bits in measured {
            let tau = numbered(bits);
            let sizes = tau.select(&SIZES);
            let mut counts: Vec<f64> =
                (0..sizes.iter().product()).map(|_| rng.random_range(0.0..9.0)).collect();
            centre_box(&sizes, &mut counts);
            let total = if bits == 0 { vec![60.0] } else { counts };
            estimates.update(tau, &total, 0.5).unwrap();
        }
        estimates
    }

    fn numbered(bits: usize) -> AttributeSet {
        AttributeSet::first(SIZES.len()).at(AxisSet::from_number(bits))
    }

    fn same(
        estimates: &ResidualEstimates,
        independent: &IndependentMarginals,
        gamma: AttributeSet,
    ) {
        let (found, expected) =
            (independent.marginal(gamma).unwrap(), estimates.marginal(gamma).unwrap());
        assert_abs_diff_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-10);
    }

    #[test]
    fn equals_grem_for_the_uniform_measure_and_for_measured_residuals() {
        let all: Vec<usize> = (0..16).collect();
        let (some, whole) = (estimates(&[0, 1, 2, 8, 3, 9]), estimates(&all));
        let uniform =
            IndependentMarginals::for_measure(&some, ReferenceMeasure::uniform(&SIZES)).unwrap();
        let (of_some, of_whole) = (
            IndependentMarginals::of_estimates(&some).unwrap(),
            IndependentMarginals::of_estimates(&whole).unwrap(),
        );
        assert!(!of_whole.measure().is_uniform());
        for bits in all {
            same(&some, &uniform, numbered(bits));
            same(&whole, &of_whole, numbered(bits));
        }
        // Attribute 2 has one value and therefore no residual: {0, 1} and {0, 1, 2} are measured,
        // {1, 3} is not.
        for bits in [0, 1, 2, 4, 8, 3, 9, 7, 13] {
            same(&some, &of_some, numbered(bits));
        }
    }

    /// Cell by cell from the marginals: total · p_i p_j for a pair, and μ̂_{ij} ⊗ p_k for a triple
    /// with one measured pair.
    #[test]
    fn unmeasured_pairs_are_independent() {
        let estimates = estimates(&[0, 1, 2, 8, 3]);
        let independent = IndependentMarginals::of_estimates(&estimates).unwrap();
        let marginal = |bits| estimates.marginal(numbered(bits)).unwrap();
        let (first, last, pair) = (marginal(1), marginal(8), marginal(3));
        assert!(first.iter().chain(&last).all(|count| *count > 0.0));
        let product = |left: &[f64]| -> Vec<f64> {
            left.iter().flat_map(|x| last.iter().map(move |y| x * y / 60.0)).collect()
        };
        for (bits, expected) in [(9, product(&first)), (11, product(&pair))] {
            let found = independent.marginal(numbered(bits)).unwrap();
            assert_abs_diff_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-10);
        }
    }

    #[test]
    fn estimates_are_consistent_with_negative_counts() {
        let mut estimates = estimates(&[0, 3, 9, 8]);
        estimates.update(numbered(1), &[-50.0, 10.0, 40.0], 1.0).unwrap();
        let independent = IndependentMarginals::of_estimates(&estimates).unwrap();
        assert_eq!(independent.measure().of_attribute(0).weight(0), 0.0);
        for gamma in numbered(15).subsets() {
            let marginal = independent.marginal(gamma).unwrap();
            for beta in gamma.subsets() {
                let added = summed(&gamma.select(&SIZES), gamma.axes_in(beta), &marginal);
                assert_abs_diff_eq!(
                    added.as_slice(),
                    independent.marginal(beta).unwrap().as_slice(),
                    epsilon = 1e-10
                );
            }
        }
        assert_eq!(normalised(&[-1.0, -2.0]), Measure::uniform(2));
        assert!(
            independent
                .marginal(AttributeSet::single(4))
                .unwrap_err()
                .to_string()
                .contains("below 4")
        );
    }
}
