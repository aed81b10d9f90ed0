//! Strategies for one residual subspace, and the variances they give.

use std::sync::Arc;

use ndarray::Array2;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::factor_strategy::FactorStrategy;
use super::kernel::Kernel;
use crate::error::{Error, Result};
use crate::fourier::BoxTransform;
use crate::linalg;

/// A strategy for one residual subspace at unit privacy cost.
pub enum SubspaceStrategy {
    /// The Kronecker product of factors; none for ∅, where the total itself is measured.
    Kronecker(Vec<Arc<FactorStrategy>>),
    /// Noise on Fourier coefficients: V is block-circulant with the given eigenvalues, one per frequency of the box.
    Fourier {
        /// The sizes of the attributes.
        shape: Vec<usize>,
        /// The eigenvalues of V; zero where a frequency is not measured.
        spectrum: Vec<f64>,
    },
}

impl SubspaceStrategy {
    /// The sizes of the attributes.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            SubspaceStrategy::Kronecker(factors) => factors.iter().flat_map(|f| f.shape().iter().copied()).collect(),
            SubspaceStrategy::Fourier { shape, .. } => shape.clone(),
        }
    }

    /// The privacy cost of measuring it as it stands: the largest diagonal entry of V, recomputed from the matrices.
    pub fn max_diagonal(&self) -> f64 {
        match self {
            SubspaceStrategy::Kronecker(factors) => factors.iter().map(|f| f.max_diagonal()).product(),
            SubspaceStrategy::Fourier { spectrum, .. } => spectrum.iter().sum::<f64>() / spectrum.len() as f64,
        }
    }

    /// V as one dense matrix, O(cells²) memory.
    ///
    /// # Errors
    /// Too many cells.
    pub fn gram(&self) -> Result<Array2<f64>> {
        let cells = self.shape().iter().product();
        crate::workload::check_dense_size("strategy of a residual subspace", cells)?;
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let grams = factors.iter().map(|f| f.gram()).collect::<Result<Vec<_>>>()?;
                Ok(grams.iter().fold(Array2::eye(1), |acc, g| linalg::kron(acc.view(), g.view())))
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let row = BoxTransform::new(shape).circulant_row(spectrum)?;
                let places: Vec<Vec<usize>> = (0..cells).map(|c| crate::domain::coordinates(shape, c)).collect();
                Ok(Array2::from_shape_fn((cells, cells), |(i, j)| {
                    let shift: Vec<usize> =
                        places[i].iter().zip(&places[j]).zip(shape).map(|((a, b), n)| (b + n - a) % n).collect();
                    row[crate::domain::cell_index(shape, &shift)]
                }))
            }
        }
    }

    /// Measures a marginal at a privacy cost and reconstructs the cells: `B⁺(B x + N(0, I/cost))`, unbiased for the part of
    /// x that V sees, with covariance `V⁺/cost`. O(cells · Σ sizes), for Fourier strategies O(cells log cells).
    ///
    /// # Errors
    /// A marginal of another length.
    pub fn measure(&self, marginal: &[f64], privacy_cost: f64, rng: &mut dyn Rng) -> Result<Vec<f64>> {
        let deviation = privacy_cost.sqrt().recip();
        let mut disturb = |answers: &mut [f64]| {
            for answer in answers {
                let noise: f64 = StandardNormal.sample(rng);
                *answer += deviation * noise;
            }
        };
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                let queries = factors.iter().map(|f| f.queries()).collect::<Result<Vec<_>>>()?;
                let rows: Vec<_> = queries.iter().map(|q| q.0.view()).collect();
                let back: Vec<_> = queries.iter().map(|q| q.1.view()).collect();
                let mut answers = linalg::kron_apply(&rows, marginal)?;
                disturb(&mut answers);
                linalg::kron_apply(&back, &answers)
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let transform = BoxTransform::new(shape);
                let roots: Vec<f64> = spectrum.iter().map(|s| s.sqrt()).collect();
                let inverse: Vec<f64> = roots.iter().map(|r| if *r > 0.0 { r.recip() } else { 0.0 }).collect();
                let mut answers = transform.filter(marginal, &roots)?;
                disturb(&mut answers);
                transform.filter(&answers, &inverse)
            }
        }
    }

    /// `q V⁺ qᵀ`: the variance of a residual query at unit privacy cost. O(cells · Σ sizes), for Fourier strategies
    /// O(cells log cells).
    ///
    /// # Errors
    /// A query of another length.
    pub fn variance(&self, query: &[f64]) -> Result<f64> {
        match self {
            SubspaceStrategy::Kronecker(factors) => {
                if let [single] = factors.as_slice() {
                    return single.variance(query);
                }
                let covariances = factors.iter().map(|f| f.covariance()).collect::<Result<Vec<_>>>()?;
                let views: Vec<_> = covariances.iter().map(|c| c.view()).collect();
                Ok(linalg::kron_apply(&views, query)?.iter().zip(query).map(|(x, q)| x * q).sum())
            }
            SubspaceStrategy::Fourier { shape, spectrum } => {
                let power = BoxTransform::new(shape).power(std::iter::once(query.to_vec()))?;
                Ok(quotient(&power, spectrum))
            }
        }
    }

    /// `tr(K V⁺)` for a product of kernels (one per attribute, or one over all): the total variance at unit privacy cost
    /// of the queries whose residual Gram K is.
    ///
    /// # Errors
    /// A kernel too large to be dense where that is needed.
    pub fn trace(&self, kernels: &[&Kernel]) -> Result<f64> {
        match self {
            SubspaceStrategy::Kronecker(factors) => match (factors.as_slice(), kernels) {
                ([few], [joint]) if few.is_low_rank() => few.total_variance(joint.rows()?),
                (factors, kernels) if factors.len() == kernels.len() => {
                    factors.iter().zip(kernels).try_fold(1.0, |product, (factor, kernel)| {
                        Ok(product * entrywise(kernel.gram()?.as_ref(), factor.covariance()?.as_ref()))
                    })
                }
                ([block], kernels) => {
                    let grams = kernels.iter().map(|k| k.gram()).collect::<Result<Vec<_>>>()?;
                    let product = grams.iter().fold(Array2::eye(1), |acc, g| linalg::kron(acc.view(), g.view()));
                    Ok(entrywise(&product, block.covariance()?.as_ref()))
                }
                (_, [joint]) => {
                    let mut sum = 0.0;
                    for row in joint.rows()? {
                        sum += self.variance(&row)?;
                    }
                    Ok(sum)
                }
                _ => Err(Error::invalid(
                    "variance of a residual subspace",
                    format!("{} kernels or one", factors.len()),
                    kernels.len().to_string(),
                    "use the strategy of the same attributes",
                )),
            },
            SubspaceStrategy::Fourier { spectrum, .. } => Ok(quotient(&product_power(kernels)?, spectrum)),
        }
    }
}

/// `Σ_j P_j / (N λ_j)` over the measured frequencies.
fn quotient(power: &[f64], spectrum: &[f64]) -> f64 {
    let cells = spectrum.len() as f64;
    power.iter().zip(spectrum).filter(|(_, s)| **s > 0.0).map(|(p, s)| p / (cells * s)).sum()
}

/// The power spectrum of a Kronecker product: the product of the spectra.
pub(super) fn product_power(kernels: &[&Kernel]) -> Result<Vec<f64>> {
    let mut out = vec![1.0];
    for kernel in kernels {
        let own = kernel.power()?;
        out = out.iter().flat_map(|x| own.iter().map(move |y| x * y)).collect();
    }
    Ok(out)
}

fn entrywise(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
