//! The dual weights of the optimum, for those who need its derivative: by the envelope theorem they
//! are constants there.

use ndarray::{Array2, ArrayView2};

use super::dual::Dual;
use super::{Optimal, Proved, certify};
use crate::error::Result;
use crate::strategy::Certificate;
use crate::strategy::symmetry::{Orbits, Reduction};

/// Weights start at no less than this share of the uniform ones, so that none is fixed at zero.
const LEAST: f64 = 1e-6;

/// Weights μ on the cells that prove the optimum, `LB(μ) = (tr (M^½ G M^½)^½)²`.
#[derive(Debug, Clone)]
pub(crate) struct DualWeights {
    /// One per cell; they sum to 1.
    pub mu: Vec<f64>,
    /// The bounds that were reached.
    pub certificate: Certificate,
}

impl Optimal {
    /// The dual weights of a Gram over a box, from weights near them if there are any. O(cells³)
    /// per iteration.
    ///
    /// # Errors
    /// A Gram of zeros, or the eigensolver fails.
    pub(crate) fn weights(
        &self,
        shape: &[usize],
        gram: ArrayView2<'_, f64>,
        start: Option<&[f64]>,
    ) -> Result<DualWeights> {
        let reduction = Reduction::of(shape, gram);
        let dual = Dual::new(&reduction)?;
        self.found(&dual, &reduction.orbits, start)
    }

    fn found(&self, dual: &Dual, orbits: &Orbits, start: Option<&[f64]>) -> Result<DualWeights> {
        let cells = orbits.cells();
        let start = match start.filter(|start| start.len() == cells) {
            Some(start) => {
                let mut mean = vec![LEAST / cells as f64; orbits.sizes.len()];
                for (&orbit, mu) in orbits.orbit_of.iter().zip(start) {
                    mean[orbit] += mu / orbits.sizes[orbit];
                }
                mean
            }
            None => dual.uniform(),
        };
        let Proved { dual: weights, certificate, .. } = certify(dual, start, &self.options, cells)?;
        Ok(DualWeights {
            mu: orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect(),
            certificate,
        })
    }
}

/// `D^½ (D^½ G D^½)^(−½) D^½` with `D = diag(μ)`, the inverse square root on the range, and
/// `t = tr (D^½ G D^½)^½`: the derivative of `E = t²` by G is `t` times that matrix. O(cells³).
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
    Ok((t, crate::linalg::gram_of(rows.view())))
}

/// `K^(−½) R D` with `K = R D Rᵀ`, and `t = tr K^½`: the derivative of `E = t²` by R is `2t` times
/// that matrix. O(rows² · cells).
///
/// # Errors
/// The eigensolver fails.
pub(crate) fn by_rows(rows: ArrayView2<'_, f64>, mu: &[f64]) -> Result<(f64, Array2<f64>)> {
    let mut weighted = rows.to_owned();
    for mut row in weighted.rows_mut() {
        row.iter_mut().zip(mu).for_each(|(x, m)| *x *= m);
    }
    let (t, roots) = inverse_roots(crate::linalg::matmul(rows, weighted.t()).view())?;
    let inverse = crate::linalg::gram_of(roots.view());
    Ok((t, crate::linalg::matmul(inverse.view(), weighted.view())))
}

/// tr A^½, and rows whose Gram is `A^(−½)` on the range of A.
fn inverse_roots(a: ArrayView2<'_, f64>) -> Result<(f64, Array2<f64>)> {
    const RANK_CUT: f64 = 1e-13;
    let eigen = crate::linalg::eigh(a)?;
    let top = eigen.values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> =
        (0..eigen.values.len()).filter(|&k| eigen.values[k] > RANK_CUT * top).collect();
    let mut rows = Array2::zeros((kept.len(), a.nrows()));
    let mut t = 0.0;
    for (mut row, &k) in rows.rows_mut().into_iter().zip(&kept) {
        t += eigen.values[k].sqrt();
        row.assign(&eigen.vectors.column(k));
        row *= eigen.values[k].powf(-0.25);
    }
    Ok((t, rows))
}
