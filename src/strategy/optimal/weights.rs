//! The dual weights of the optimum, and its derivatives. By the envelope theorem the weights are
//! constant in the derivatives.

use ndarray::{Array2, ArrayView2};

use super::dual::Dual;
use super::{Optimal, Proved, certify};
use crate::error::Result;
use crate::strategy::Certificate;
use crate::strategy::symmetry::{Orbits, Reduction};

/// Minimum starting weight, relative to the uniform weights, so that no weight is fixed at zero.
const MIN_START: f64 = 1e-6;

/// Weights μ on the cells that prove the optimum, `LB(μ) = (tr (M^½ G M^½)^½)²`.
#[derive(Debug, Clone)]
pub(crate) struct DualWeights {
    /// The weights, one per cell; their sum is 1.
    pub mu: Vec<f64>,
    /// The bounds reached.
    pub certificate: Certificate,
}

impl Optimal {
    /// Returns the dual weights of a Gram matrix over a box, optionally from a start near them.
    ///
    /// O(cells³) per iteration.
    ///
    /// # Errors
    /// The Gram matrix is zero, or the eigensolver fails.
    pub(crate) fn weights(
        &self,
        shape: &[usize],
        gram: ArrayView2<'_, f64>,
        start: Option<&[f64]>,
    ) -> Result<DualWeights> {
        let reduction = Reduction::of(shape, gram);
        let dual = Dual::new(&reduction)?;
        self.weights_of(&dual, &reduction.orbits, start)
    }

    /// Solves the dual problem and returns the weights per cell.
    fn weights_of(
        &self,
        dual: &Dual,
        orbits: &Orbits,
        start: Option<&[f64]>,
    ) -> Result<DualWeights> {
        let cells = orbits.cells();
        let start = match start.filter(|start| start.len() == cells) {
            Some(start) => {
                let mut mean = vec![MIN_START / cells as f64; orbits.sizes.len()];
                for (&orbit, mu) in orbits.orbit_of.iter().zip(start) {
                    mean[orbit] += mu / orbits.sizes[orbit];
                }
                mean
            }
            None => dual.uniform(),
        };
        let Proved { dual: weights, certificate, .. } =
            certify(dual, start, &self.options, cells, false)?;
        Ok(DualWeights {
            mu: orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect(),
            certificate,
        })
    }
}

/// Returns t and a matrix P for which `t P` is the derivative of `E = t²` by G.
///
/// `t = tr (D^½ G D^½)^½` and `P = D^½ (D^½ G D^½)^(−½) D^½` with `D = diag(μ)` and the inverse
/// square root on the range. O(cells³).
///
/// # Errors
/// The eigensolver fails.
pub(crate) fn by_gram(gram: ArrayView2<'_, f64>, mu: &[f64]) -> Result<(f64, Array2<f64>)> {
    let roots: Vec<f64> = mu.iter().map(|m| m.sqrt()).collect();
    let scaled = Array2::from_shape_fn(gram.dim(), |(i, j)| roots[i] * gram[[i, j]] * roots[j]);
    let (t, mut rows) = inverse_roots(scaled.view())?;
    for mut row in rows.rows_mut() {
        row.iter_mut().zip(&roots).for_each(|(x, root)| *x *= root);
    }
    Ok((t, matmech_linalg::gram_of(rows.view())))
}

/// Returns tr A^½, and rows whose Gram matrix is `A^(−½)` on the range of A.
fn inverse_roots(a: ArrayView2<'_, f64>) -> Result<(f64, Array2<f64>)> {
    const RANK_CUT: f64 = 1e-13;
    let eigen = matmech_linalg::eigh(a)?;
    let max = eigen.values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> =
        (0..eigen.values.len()).filter(|&k| eigen.values[k] > RANK_CUT * max).collect();
    let mut rows = Array2::zeros((kept.len(), a.nrows()));
    let mut t = 0.0;
    for (mut row, &k) in rows.rows_mut().into_iter().zip(&kept) {
        t += eigen.values[k].sqrt();
        row.assign(&eigen.vectors.column(k));
        row *= eigen.values[k].powf(-0.25);
    }
    Ok((t, rows))
}
