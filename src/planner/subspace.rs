//! Strategies for one residual subspace, and their variances.

use ndarray::Array2;

use super::kernel::Kernel;
use crate::error::{Error, Result};
use crate::strategy::StrategyFactor;
use matmech_linalg::{self as linalg, BoxTransform};

/// A strategy for one residual subspace at unit privacy cost.
#[derive(Debug)]
pub enum SubspaceStrategy {
    /// The Kronecker product of factors.
    ///
    /// No factors for ∅, where the total is measured.
    Kronecker(Vec<StrategyFactor>),
    /// Noise on Fourier coefficients.
    ///
    /// V is block-circulant with the given eigenvalues, one per frequency of the box.
    Fourier {
        /// The sizes of the attributes.
        shape: Vec<usize>,
        /// The eigenvalues of V; zero where a frequency is not measured.
        spectrum: Vec<f64>,
    },
}

impl SubspaceStrategy {
    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                factors.iter().flat_map(|f| f.shape().iter().copied()).collect()
            }
            SubspaceStrategy::Fourier { shape, .. } => shape.clone(),
        }
    }

    /// Returns the privacy cost with noise of variance 1: the largest diagonal entry of V.
    ///
    /// Recomputed from the matrices.
    pub fn max_diagonal(&self) -> f64 {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                factors.iter().map(StrategyFactor::sensitivity_squared).product()
            }
            SubspaceStrategy::Fourier { spectrum, .. } => {
                spectrum.iter().sum::<f64>() / spectrum.len() as f64
            }
        }
    }

    /// Returns V as a dense matrix.
    ///
    /// O(cells²) memory.
    ///
    /// # Errors
    /// The domain has too many cells.
    pub fn gram(&self) -> Result<Array2<f64>> {
        let cells = self.shape().iter().product();
        crate::workload::check_dense_size("strategy of a residual subspace", cells)?;
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let grams = factors.iter().map(|f| f.gram()).collect::<Result<Vec<_>>>()?;
                Ok(linalg::kron_all(grams.iter().map(|g| g.view())))
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let row = BoxTransform::new(shape).circulant_row(spectrum)?;
                let positions: Vec<Vec<usize>> =
                    (0..cells).map(|c| crate::domain::coordinates(shape, c)).collect();
                Ok(Array2::from_shape_fn((cells, cells), |(i, j)| {
                    let shift: Vec<usize> = positions[i]
                        .iter()
                        .zip(&positions[j])
                        .zip(shape)
                        .map(|((a, b), n)| (b + n - a) % n)
                        .collect();
                    row[crate::domain::cell_index(shape, &shift)]
                }))
            }
        }
    }

    /// Returns the strategy's answers `B x` on a marginal.
    ///
    /// Their privacy cost with noise of variance 1 is [`SubspaceStrategy::max_diagonal`]. O(cells ·
    /// Σ sizes) time, O(cells log cells) for Fourier strategies.
    ///
    /// # Errors
    /// The marginal has the wrong length.
    pub fn answers(&self, marginal: &[f64]) -> Result<Vec<f64>> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let queries =
                    factors.iter().map(StrategyFactor::queries).collect::<Result<Vec<_>>>()?;
                Ok(linalg::kron_apply(
                    &queries.iter().map(|q| q.view()).collect::<Vec<_>>(),
                    marginal.to_vec(),
                )?)
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let roots: Vec<f64> = spectrum.iter().map(|s| s.sqrt()).collect();
                Ok(BoxTransform::new(shape).filter(marginal, &roots)?)
            }
        }
    }

    /// Returns the estimate `B⁺ y` of a marginal from noisy answers.
    ///
    /// With noise of variance σ² it is unbiased for the projection of the marginal on the range of
    /// V, with covariance `σ² V⁺`.
    ///
    /// # Errors
    /// The number of answers is wrong.
    pub fn reconstruct(&self, answers: &[f64]) -> Result<Vec<f64>> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let back =
                    factors.iter().map(StrategyFactor::inverse).collect::<Result<Vec<_>>>()?;
                Ok(linalg::kron_apply(
                    &back.iter().map(|b| b.view()).collect::<Vec<_>>(),
                    answers.to_vec(),
                )?)
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let inverse: Vec<f64> = spectrum
                    .iter()
                    .map(|s| if *s > 0.0 { s.sqrt().recip() } else { 0.0 })
                    .collect();
                Ok(BoxTransform::new(shape).filter(answers, &inverse)?)
            }
        }
    }

    /// Returns `B^{+T} qᵀ`, the weights of [`SubspaceStrategy::answers`] in the estimate of a
    /// residual query.
    ///
    /// The variance of the query at unit privacy cost is their sum of squares. O(cells · Σ sizes)
    /// time, O(cells log cells) for Fourier strategies.
    ///
    /// # Errors
    /// The query has the wrong length.
    pub fn weights_of(&self, query: &[f64]) -> Result<Vec<f64>> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let back =
                    factors.iter().map(StrategyFactor::inverse).collect::<Result<Vec<_>>>()?;
                let views: Vec<_> = back.iter().map(|b| b.t()).collect();
                Ok(linalg::kron_apply(&views, query.to_vec())?)
            }
            // The strategy is symmetric.
            SubspaceStrategy::Fourier { .. } => self.reconstruct(query),
        }
    }

    /// Returns `V⁺ qᵀ`: the covariance of the estimate of [`SubspaceStrategy::reconstruct`] with the
    /// answer to a residual query, at unit privacy cost.
    ///
    /// O(cells · Σ sizes) time, O(cells log cells) for Fourier strategies.
    ///
    /// # Errors
    /// The query has the wrong length.
    pub fn times_covariance(&self, query: &[f64]) -> Result<Vec<f64>> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let covariances =
                    factors.iter().map(|f| f.covariance()).collect::<Result<Vec<_>>>()?;
                let views: Vec<_> = covariances.iter().map(|c| c.view()).collect();
                Ok(linalg::kron_apply(&views, query.to_vec())?)
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let inverse: Vec<f64> =
                    spectrum.iter().map(|s| if *s > 0.0 { s.recip() } else { 0.0 }).collect();
                Ok(BoxTransform::new(shape).filter(query, &inverse)?)
            }
        }
    }

    /// Returns the variance `q V⁺ qᵀ` of a residual query at unit privacy cost.
    ///
    /// O(cells · Σ sizes) time, O(cells log cells) for Fourier strategies.
    ///
    /// # Errors
    /// The query has the wrong length.
    pub fn variance(&self, query: &[f64]) -> Result<f64> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                if let [single] = factors.as_slice() {
                    return single.variance(query);
                }
                let covariance = self.times_covariance(query)?;
                Ok(covariance.iter().zip(query).map(|(x, q)| x * q).sum())
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let power = BoxTransform::new(shape).power(std::iter::once(query.to_vec()))?;
                Ok(quotient(&power, spectrum))
            }
        }
    }

    /// Returns the total variance `tr(K V⁺)` of queries with residual Gram K.
    ///
    /// The variance is at unit privacy cost. K is a product of kernels: one per attribute, or one
    /// over all.
    ///
    /// # Errors
    /// A kernel is too large for a dense matrix.
    pub fn trace(&self, kernels: &[&Kernel]) -> Result<f64> {
        match self {
            SubspaceStrategy::Kronecker(factors) => match (factors.as_slice(), kernels) {
                ([single], [joint]) if single.is_low_rank() => single.total_variance(joint.rows()?),
                (factors, kernels) if factors.len() == kernels.len() => {
                    factors.iter().zip(kernels).try_fold(1.0, |product, (factor, kernel)| {
                        Ok(product
                            * entrywise(kernel.gram()?.as_ref(), factor.covariance()?.as_ref()))
                    })
                }
                ([block], kernels) => {
                    let grams = kernels.iter().map(|k| k.gram()).collect::<Result<Vec<_>>>()?;
                    let product = linalg::kron_all(grams.iter().map(|g| g.view()));
                    Ok(entrywise(&product, block.covariance()?.as_ref()))
                }
                (_, [joint]) => {
                    let mut sum = 0.0;
                    for row in joint.rows()? {
                        sum += self.variance(&row)?;
                    }
                    Ok(sum)
                }
                _ => Err(Error::bad_input(
                    "variance of a residual subspace",
                    format!("{} kernels or one", factors.len()),
                    kernels.len().to_string(),
                    "use the strategy of the same attributes",
                )),
            },
            SubspaceStrategy::Fourier { spectrum, .. } => {
                Ok(quotient(&product_power(kernels)?, spectrum))
            }
        }
    }
}

/// Returns `Σ_j P_j / (N λ_j)` over the measured frequencies.
fn quotient(power: &[f64], spectrum: &[f64]) -> f64 {
    let cells = spectrum.len() as f64;
    power.iter().zip(spectrum).filter(|(_, s)| **s > 0.0).map(|(p, s)| p / (cells * s)).sum()
}

/// Returns the power spectrum of a Kronecker product.
///
/// It is the product of the spectra.
pub(super) fn product_power(kernels: &[&Kernel]) -> Result<Vec<f64>> {
    let mut out = vec![1.0];
    for kernel in kernels {
        let factor = kernel.power()?;
        out = out.iter().flat_map(|x| factor.iter().map(move |y| x * y)).collect();
    }
    Ok(out)
}

/// Returns the sum of the entrywise product: `tr(aᵀ b)`.
pub(super) fn entrywise(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
