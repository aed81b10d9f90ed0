//! The dual function of the strategy problem, with a certificate at every point.
//!
//! In symmetry-adapted coordinates with `RᵀR = G` (R of full row rank) and weights μ ≥ 0 on the
//! orbits, `K = R diag(μ) Rᵀ`, `t = tr K^½`, and `v_i = r_iᵀ K^(−½) r_i`, averaged over the cells
//! of an orbit. If `Σ μ = 1` over the cells, `t²` is a lower bound on the error of every strategy,
//! and the strategy `V = RᵀK^(−½)R / max v` has sensitivity 1 and error `t · max v`.

use ndarray::{Array1, Array2, Axis};

use super::low_rank::RowReduction;
use crate::error::Result;
use crate::exchangeable::{Exchangeable, Parts};
use crate::symmetry::Reduction;
use matmech_linalg::{self as linalg, Semidefinite};

/// Largest zero eigenvalue of a Gram block, relative to the largest and per order of the block.
const RANK_CUT: f64 = 8.0 * f64::EPSILON;

/// Minimum ratio of two weights for `diag(μ)^½ G diag(μ)^½`.
///
/// Below it the accuracy of the small ones is lost, and K is used instead.
const MIN_WEIGHT_RATIO: f64 = 1e-8;

/// The dual problem of one Gram factor.
pub(super) struct Dual {
    /// The number of cells of every orbit.
    pub orbit_sizes: Vec<f64>,
    blocks: Vec<DualBlock>,
}

struct DualBlock {
    /// Its index among the blocks of the reduction; blocks of rank 0 are omitted.
    index: usize,
    /// The orbit of every column.
    orbits: Vec<usize>,
    /// The block if it has full rank.
    full_rank: Option<Array2<f64>>,
    /// R, rank × columns, `RᵀR` = the block.
    root: Array2<f64>,
}

/// One evaluation of the dual function.
#[derive(Clone)]
pub(super) struct DualPoint {
    /// Weights per cell, one per orbit, with `Σ |O| μ_O = 1`.
    pub mu: Vec<f64>,
    /// `t = tr K^½`.
    pub t: f64,
    /// `v_O`, the mean of `r_iᵀ K^(−½) r_i` over the orbit; `Σ |O| μ_O v_O = t`.
    pub v: Vec<f64>,
    /// The spectral data of every block.
    pub spectra: Vec<Spectrum>,
}

/// The spectral data of one block at a point.
#[derive(Clone)]
pub(super) struct Spectrum {
    /// Square roots of the eigenvalues of K.
    pub s: Array1<f64>,
    /// `UᵀR`, rank × columns.
    pub y: Array2<f64>,
}

impl DualPoint {
    /// Returns `t²`, a lower bound on the error of any strategy.
    pub fn lower_bound(&self) -> f64 {
        self.t * self.t
    }

    /// Returns `t · max v`, the error of the strategy of this point.
    pub fn upper_bound(&self) -> f64 {
        self.t * self.max_v()
    }

    /// Returns the largest `v`.
    pub fn max_v(&self) -> f64 {
        self.v.iter().copied().fold(0.0, f64::max)
    }

    /// Returns `upper/lower − 1`.
    pub fn gap(&self) -> f64 {
        self.max_v() / self.t - 1.0
    }
}

impl Dual {
    /// Prepares the roots of all blocks. O(Σ block³).
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn new(reduction: &Reduction) -> Result<Self> {
        let columns = reduction.orbits.characters.iter().map(|c| c.orbits.clone());
        let blocks = columns.zip(reduction.blocks.iter().cloned()).collect();
        Self::of_blocks(reduction.orbits.sizes.clone(), blocks)
    }

    /// Prepares the roots of blocks, each with the orbits of its columns. O(Σ block³).
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn of_blocks(orbit_sizes: Vec<f64>, parts: Vec<(Vec<usize>, Array2<f64>)>) -> Result<Self> {
        let mut blocks = Vec::with_capacity(parts.len());
        let largest = parts.iter().flat_map(|(_, b)| b.diag().to_vec()).fold(0.0, f64::max);
        for (index, (orbits, block)) in parts.into_iter().enumerate() {
            if let Some(factor) = linalg::full_rank_cholesky(block.view())? {
                let root = factor.t().as_standard_layout().into_owned();
                blocks.push(DualBlock { index, orbits, full_rank: Some(block), root });
                continue;
            }
            let cut = |values: &Array1<f64>| {
                RANK_CUT * block.nrows() as f64 * values.iter().copied().fold(largest, f64::max)
            };
            let range = Semidefinite::above(block.view(), cut)?;
            if range.rank() > 0 {
                blocks.push(DualBlock { index, orbits, full_rank: None, root: range.root() });
            }
        }
        Ok(Dual { orbit_sizes, blocks })
    }

    /// Prepares the blocks of a Gram matrix with exchangeable values. O(Σ block³).
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn of_exchangeable(values: &Exchangeable, parts: &Parts) -> Result<Self> {
        let scaled = values.blocks().into_iter().zip(parts.blocks());
        let scaled = scaled.map(|((orbits, copies), block)| (orbits, block * (copies * copies)));
        Self::of_blocks(values.orbit_sizes(), scaled.collect())
    }

    /// Prepares a workload given by its rows, whose roots are known.
    pub fn of_rows(reduction: &RowReduction) -> Self {
        let orbits = &reduction.orbits;
        let blocks = (orbits.characters.iter().zip(&reduction.roots).enumerate())
            .filter(|(_, (_, root))| root.nrows() > 0)
            .map(|(index, (character, root))| DualBlock {
                index,
                orbits: character.orbits.clone(),
                full_rank: None,
                root: root.clone(),
            })
            .collect();
        Dual { orbit_sizes: orbits.sizes.clone(), blocks }
    }

    /// Returns the problem restricted to some orbits; the others have no weight.
    pub fn restricted(&self, kept: &[usize]) -> Self {
        let mut index_of = vec![None; self.orbit_sizes.len()];
        kept.iter().enumerate().for_each(|(k, &orbit)| index_of[orbit] = Some(k));
        let blocks = self.blocks.iter().map(|block| {
            let (columns, orbits): (Vec<usize>, Vec<usize>) = block
                .orbits
                .iter()
                .enumerate()
                .filter_map(|(c, &orbit)| Some((c, index_of[orbit]?)))
                .unzip();
            let root = block.root.select(Axis(1), &columns).as_standard_layout().into_owned();
            DualBlock { index: block.index, orbits, full_rank: None, root }
        });
        Dual {
            orbit_sizes: kept.iter().map(|&orbit| self.orbit_sizes[orbit]).collect(),
            blocks: blocks.collect(),
        }
    }

    /// Returns the uniform weights, whose lower bound is the SVD bound.
    pub fn uniform(&self) -> Vec<f64> {
        vec![1.0 / self.orbit_sizes.iter().sum::<f64>(); self.orbit_sizes.len()]
    }

    /// Returns the orbits of the columns of every block, in the order of [`DualPoint::spectra`].
    pub fn block_orbits(&self) -> impl Iterator<Item = &[usize]> {
        self.blocks.iter().map(|b| b.orbits.as_slice())
    }

    /// Returns the estimated multiplications of one evaluation: an eigendecomposition and products.
    pub fn evaluation_flops(&self) -> f64 {
        self.blocks
            .iter()
            .map(|b| (b.root.nrows() as f64, b.root.ncols() as f64))
            .map(|(rank, columns)| 10.0 * rank.powi(3) + 2.0 * rank * rank * columns)
            .sum()
    }

    /// Returns the rank and the number of columns of every block.
    pub fn block_sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.blocks.iter().map(|b| b.root.dim())
    }

    /// Evaluates the dual function at weights proportional to `mu`.
    ///
    /// The cost is one eigendecomposition of K, block by block.
    ///
    /// # Errors
    /// The eigensolver fails, for example if a weight is not finite.
    pub fn evaluate(&self, mu: &[f64]) -> Result<DualPoint> {
        let total: f64 = mu.iter().zip(&self.orbit_sizes).map(|(m, size)| m * size).sum();
        let mu: Vec<f64> = mu.iter().map(|m| m / total).collect();
        let (mut t, mut v) = (0.0, vec![0.0; mu.len()]);
        let mut spectra = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let spectrum = block.spectrum(&mu)?;
            t += spectrum.s.sum();
            for (row, &s) in spectrum.y.rows().into_iter().zip(&spectrum.s) {
                if s > 0.0 {
                    for (&y, &o) in row.iter().zip(&block.orbits) {
                        v[o] += y * y / s;
                    }
                }
            }
            spectra.push(spectrum);
        }
        for (v, size) in v.iter_mut().zip(&self.orbit_sizes) {
            *v /= size;
        }
        Ok(DualPoint { mu, t, v, spectra })
    }

    /// Returns the blocks of `V = RᵀK^(−½)R / max v`, the strategy's Gram matrix at a point.
    ///
    /// There is one block per block of the reduction.
    pub fn strategy_blocks(&self, reduction: &Reduction, point: &DualPoint) -> Vec<Array2<f64>> {
        let mut parts: Vec<Array2<f64>> =
            reduction.blocks.iter().map(|b| Array2::zeros(b.dim())).collect();
        for (index, rows) in self.strategy_rows(point) {
            linalg::add_gram(&mut parts[index], rows.view());
        }
        parts
    }

    /// Returns rows whose Gram matrix is a block of [`Dual::strategy_blocks`], for every block.
    ///
    /// The rows are `(max v)^(−½) K^(−¼) R` in the eigenbasis of K, with the index of the block in
    /// the reduction.
    pub fn strategy_rows(&self, point: &DualPoint) -> Vec<(usize, Array2<f64>)> {
        let scale = point.max_v();
        let scaled = |spectrum: &Spectrum| {
            let mut rows = spectrum.y.clone();
            for (mut row, &s) in rows.rows_mut().into_iter().zip(&spectrum.s) {
                row *= if s > 0.0 { (s * scale).sqrt().recip() } else { 0.0 };
            }
            rows
        };
        self.blocks
            .iter()
            .zip(&point.spectra)
            .map(|(block, spectrum)| (block.index, scaled(spectrum)))
            .collect()
    }
}

impl DualBlock {
    /// Returns the spectral data at weights `mu`.
    fn spectrum(&self, mu: &[f64]) -> Result<Spectrum> {
        let weights: Vec<f64> = self.orbits.iter().map(|&o| mu[o]).collect();
        let (low, high) =
            weights.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &m| (l.min(m), h.max(m)));
        match &self.full_rank {
            // S = M^½ G M^½ has the eigenvalues of K, and Y = Λ^½ Uᵀ M^(−½): no matrix product is
            // needed.
            Some(gram) if low > MIN_WEIGHT_RATIO * high => {
                let roots: Vec<f64> = weights.iter().map(|m| m.sqrt()).collect();
                let scaled =
                    Array2::from_shape_fn(gram.dim(), |(i, j)| roots[i] * gram[[i, j]] * roots[j]);
                let eigen = linalg::eigh(scaled.view())?;
                let s = eigen.values.mapv(|x| x.max(0.0).sqrt());
                let mut y = eigen.vectors.reversed_axes();
                for (mut row, &s) in y.rows_mut().into_iter().zip(&s) {
                    for (y, &root) in row.iter_mut().zip(&roots) {
                        *y *= s / root;
                    }
                }
                Ok(Spectrum { s, y })
            }
            _ => {
                let mut scaled = self.root.clone();
                for (mut column, &m) in scaled.columns_mut().into_iter().zip(&weights) {
                    column *= m.sqrt();
                }
                let eigen = linalg::eigh(linalg::matmul(scaled.view(), scaled.t()).view())?;
                let s = eigen.values.mapv(|x| x.max(0.0).sqrt());
                Ok(Spectrum { s, y: linalg::matmul(eigen.vectors.t(), self.root.view()) })
            }
        }
    }
}
