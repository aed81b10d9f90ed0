//! The dual weights of the optimum, and its derivative by the Gram matrix. By the envelope theorem the
//! weights are constant in the derivative.

use ndarray::{Array2, ArrayView2};

use super::bounds::{Optimal, Proved};
use super::dual::Dual;
use super::search::certify;
use crate::error::Result;
use crate::exchangeable::{Exchangeable, Parts};
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
        let structure = Structure::of(shape, gram);
        let dual = structure.dual()?;
        let (orbit_of, sizes) = structure.orbits();
        let cells = orbit_of.len();
        let start = match start.filter(|start| start.len() == cells) {
            Some(start) => {
                let mut mean = vec![MIN_START / cells as f64; sizes.len()];
                for (&orbit, mu) in orbit_of.iter().zip(start) {
                    mean[orbit] += mu / sizes[orbit];
                }
                mean
            }
            None => dual.uniform(),
        };
        let Proved { dual: weights, certificate, .. } =
            certify(&dual, start, &self.options, cells, false)?;
        let (t, blocks) = trace_of_root(&structure.blocks(), &weights)?;
        let mut by_gram = structure.assembled(blocks);
        by_gram *= t;
        Ok(OptimumOfGram {
            error: t * t,
            by_gram,
            mu: orbit_of.iter().map(|&orbit| weights[orbit]).collect(),
            iterations: certificate.iterations,
        })
    }
}

/// A Gram matrix in the coordinates of its symmetries.
enum Structure {
    /// Exchangeable values of one attribute.
    Exchangeable(Exchangeable, Parts),
    /// Reflections and swaps of attributes.
    Reflections(Reduction),
}

/// A block with the orbits of its columns and the number of its copies.
type Block<'a> = (Vec<usize>, &'a Array2<f64>, f64);

impl Structure {
    fn of(shape: &[usize], gram: ArrayView2<'_, f64>) -> Self {
        match Exchangeable::of(shape, gram) {
            Some(values) => {
                let parts = values.parts(gram);
                Structure::Exchangeable(values, parts)
            }
            None => Structure::Reflections(Reduction::of(shape, gram)),
        }
    }

    fn dual(&self) -> Result<Dual> {
        match self {
            Structure::Exchangeable(values, parts) => Dual::of_exchangeable(values, parts),
            Structure::Reflections(reduction) => Dual::new(reduction),
        }
    }

    /// Returns the orbit of every cell, and the sizes of the orbits.
    fn orbits(&self) -> (Vec<usize>, Vec<f64>) {
        match self {
            Structure::Exchangeable(values, _) => (values.orbits(), values.orbit_sizes()),
            Structure::Reflections(Reduction { orbits, .. }) => {
                (orbits.orbit_of.clone(), orbits.sizes.clone())
            }
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        match self {
            Structure::Exchangeable(values, parts) => (values.blocks().into_iter())
                .zip(parts.blocks())
                .map(|((orbits, copies), block)| (orbits, block, copies))
                .collect(),
            Structure::Reflections(Reduction { orbits, blocks }) => (orbits.characters.iter())
                .zip(blocks)
                .map(|(character, block)| (character.orbits.clone(), block, 1.0))
                .collect(),
        }
    }

    fn assembled(&self, blocks: Vec<Array2<f64>>) -> Array2<f64> {
        match self {
            Structure::Exchangeable(values, _) => values.assembled(&values.parts_of_blocks(blocks)),
            Structure::Reflections(reduction) => reduction.assemble(&blocks),
        }
    }
}

/// Returns `t = tr (M^½ G M^½)^½` and the blocks of `P = M^½ (M^½ G M^½)^(−½) M^½` for weights of the
/// orbits.
///
/// `P/2` is the derivative of t by G; the inverse square root is on the range. O(Σ block³).
///
/// # Errors
/// The eigensolver fails.
fn trace_of_root(blocks: &[Block<'_>], weights: &[f64]) -> Result<(f64, Vec<Array2<f64>>)> {
    let mut spectra = Vec::with_capacity(blocks.len());
    for (orbits, block, copies) in blocks {
        let roots: Vec<f64> = orbits.iter().map(|&o| weights[o].sqrt()).collect();
        let scaled =
            Array2::from_shape_fn(block.dim(), |(i, j)| roots[i] * block[[i, j]] * roots[j]);
        spectra.push((linalg::eigh(scaled.view())?, roots, copies));
    }
    let max = spectra.iter().flat_map(|(eigen, ..)| &eigen.values).copied().fold(0.0, f64::max);
    let mut t = 0.0;
    let mut part = |(eigen, roots, copies): &(linalg::Eigh, Vec<f64>, &f64)| {
        let kept = (0..roots.len()).filter(|&k| eigen.values[k] > RANK_CUT * max);
        let kept: Vec<usize> = kept.collect();
        let mut rows = Array2::zeros((kept.len(), roots.len()));
        for (mut row, &k) in rows.rows_mut().into_iter().zip(&kept) {
            t += **copies * eigen.values[k].sqrt();
            row.assign(&eigen.vectors.column(k));
            row *= eigen.values[k].powf(-0.25);
            row.iter_mut().zip(roots).for_each(|(x, root)| *x *= root);
        }
        linalg::gram_of(rows.view())
    };
    let parts: Vec<Array2<f64>> = spectra.iter().map(&mut part).collect();
    Ok((t, parts))
}
