//! The dual weights of the optimum, and its derivative by the Gram matrix. By the envelope theorem the
//! weights are constant in the derivative.

use ndarray::{Array2, ArrayView2};

use super::bounds::{Optimal, Proved};
use super::dual::Dual;
use super::search::certify;
use crate::error::Result;
use crate::symmetry::Reduction;
use matmech_linalg as linalg;

/// Minimum starting weight, relative to the uniform weights, so that no weight is fixed at zero.
const MIN_START: f64 = 1e-6;

/// Largest eigenvalue of `M^½ G M^½` that counts as zero, relative to the largest.
const RANK_CUT: f64 = 1e-13;

/// The optimum as a function of the Gram matrix.
#[derive(Debug, Clone)]
pub struct OptimumOfGram {
    /// The lower bound `E = (tr (M^½ G M^½)^½)²` with `M = diag(μ)`.
    pub error: f64,
    /// The derivative of E by G.
    pub by_gram: Array2<f64>,
    /// The weights, one per cell; their sum is 1.
    pub mu: Vec<f64>,
    /// The number of eigendecompositions.
    pub iterations: usize,
}

impl Optimal {
    /// Returns the optimum of a Gram matrix over a box, optionally from weights near the optimum.
    ///
    /// O(cells³) per iteration.
    ///
    /// # Errors
    /// The Gram matrix is zero, or the eigensolver fails.
    pub fn with_derivative(
        &self,
        shape: &[usize],
        gram: ArrayView2<'_, f64>,
        start: Option<&[f64]>,
    ) -> Result<OptimumOfGram> {
        let reduction = Reduction::of(shape, gram);
        let (dual, orbits) = (Dual::new(&reduction)?, &reduction.orbits);
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
            certify(&dual, start, &self.options, cells, false)?;
        let (t, mut by_gram) = trace_of_root(&reduction, &weights)?;
        by_gram *= t;
        Ok(OptimumOfGram {
            error: t * t,
            by_gram,
            mu: orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect(),
            iterations: certificate.iterations,
        })
    }
}

/// Returns `t = tr (M^½ G M^½)^½` and `P = M^½ (M^½ G M^½)^(−½) M^½` for weights of the orbits.
///
/// `P/2` is the derivative of t by G; the inverse square root is on the range. O(Σ block³).
///
/// # Errors
/// The eigensolver fails.
fn trace_of_root(reduction: &Reduction, weights: &[f64]) -> Result<(f64, Array2<f64>)> {
    let mut blocks = Vec::with_capacity(reduction.blocks.len());
    for (block, character) in reduction.blocks.iter().zip(&reduction.orbits.characters) {
        let roots: Vec<f64> = character.orbits.iter().map(|&o| weights[o].sqrt()).collect();
        let scaled =
            Array2::from_shape_fn(block.dim(), |(i, j)| roots[i] * block[[i, j]] * roots[j]);
        blocks.push((linalg::eigh(scaled.view())?, roots));
    }
    let max = blocks.iter().flat_map(|(eigen, _)| &eigen.values).copied().fold(0.0, f64::max);
    let mut t = 0.0;
    let mut part = |(eigen, roots): &(linalg::Eigh, Vec<f64>)| {
        let kept = (0..roots.len()).filter(|&k| eigen.values[k] > RANK_CUT * max);
        let kept: Vec<usize> = kept.collect();
        let mut rows = Array2::zeros((kept.len(), roots.len()));
        for (mut row, &k) in rows.rows_mut().into_iter().zip(&kept) {
            t += eigen.values[k].sqrt();
            row.assign(&eigen.vectors.column(k));
            row *= eigen.values[k].powf(-0.25);
            row.iter_mut().zip(roots).for_each(|(x, root)| *x *= root);
        }
        linalg::gram_of(rows.view())
    };
    let parts: Vec<Array2<f64>> = blocks.iter().map(&mut part).collect();
    Ok((t, reduction.assemble(&parts)))
}
