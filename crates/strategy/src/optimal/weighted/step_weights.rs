//! Dual weights of the steps: a positive definite block per pattern.
//!
//! For patterns π that partition the steps, `M = ⊕_π q_π Y_π` with Y_π ≻ 0 of unit diagonal, q > 0
//! and Σq = 1. For one participation the patterns are the single cells and M = diag(μ).

use ndarray::{Array2, ArrayView2, Axis, Slice};

use crate::error::Result;
use crate::optimal::proof::{normalised, refused};
use matmech_linalg as linalg;

/// Minimum eigenvalue of a block, relative to its q.
const MIN_EIGENVALUE: f64 = 1e-13;

/// The weights M, in the order of the patterns.
#[derive(Debug, Clone)]
pub(super) struct StepWeights {
    /// q, one per pattern.
    pub masses: Vec<f64>,
    /// `q_π Y_π`.
    pub blocks: Vec<Array2<f64>>,
    /// The lower Cholesky factors of the blocks.
    factors: Vec<Array2<f64>>,
}

/// The weights of queries and of steps.
pub(super) type Weights = (Vec<f64>, StepWeights);

impl StepWeights {
    /// Returns the weights for logarithms of the blocks, one after the other.
    ///
    /// Rows and columns are scaled to equal diagonal entries within each block, and the masses to
    /// sum 1 and at least `floor`. O(patterns · k³).
    ///
    /// # Errors
    /// The eigensolver fails, for example if a logarithm is not finite.
    pub fn of_logarithms(logarithms: &[f64], size: usize, floor: f64) -> Result<Self> {
        let mut blocks = Vec::with_capacity(logarithms.len() / (size * size));
        if size == 1 {
            let max = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            blocks.extend(logarithms.iter().map(|x| Array2::from_elem((1, 1), (x - max).exp())));
        } else {
            for entries in logarithms.chunks_exact(size * size) {
                let block = ArrayView2::from_shape((size, size), entries)
                    .map_err(|_| crate::error::Error::bug("block of weights", "k x k", "other"))?;
                blocks.push(map_eigenvalues(block, f64::exp)?);
            }
        }
        Self::normalised(blocks, floor)
    }

    /// Scales blocks to constant diagonals with sum 1 over the patterns.
    pub fn normalised(mut blocks: Vec<Array2<f64>>, floor: f64) -> Result<Self> {
        let size = blocks.first().map_or(1, Array2::nrows) as f64;
        let mut masses: Vec<f64> = blocks.iter().map(|block| block.diag().sum() / size).collect();
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|q| *q = (*q / total).max(floor));
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|q| *q /= total);
        let mut factors = Vec::with_capacity(blocks.len());
        for (block, &mass) in blocks.iter_mut().zip(&masses) {
            let scales = block.diag().mapv(|x| (mass / x).sqrt());
            for ((i, j), x) in block.indexed_iter_mut() {
                *x = if i == j { mass } else { *x * scales[i] * scales[j] };
            }
            if block.len() == 1 {
                factors.push(Array2::from_elem((1, 1), mass.sqrt()));
            } else {
                // The eigenvalues are kept away from zero; the diagonal becomes q again.
                *block *= 1.0 - MIN_EIGENVALUE;
                block.diag_mut().fill(mass);
                factors.push(linalg::cholesky(block.view())?);
            }
        }
        Ok(StepWeights { masses, blocks, factors })
    }

    /// Returns weights of single steps, or the rows of the lower triangular factors L of the blocks
    /// of several, without the zeros above the diagonal.
    pub fn roots(&self) -> Vec<f64> {
        if self.size() == 1 {
            return self.masses.clone();
        }
        let rows = self.factors.iter().flat_map(|l| l.rows().into_iter().enumerate());
        rows.flat_map(|(i, row)| row.iter().take(i + 1).copied().collect::<Vec<_>>()).collect()
    }

    /// Returns the weights of [`StepWeights::roots`] for a number of patterns, of any scale.
    ///
    /// # Errors
    /// Another number of weights, or blocks that are not positive definite.
    pub fn of_roots(roots: &[f64], size: usize, patterns: usize) -> Result<Self> {
        if size == 1 {
            let masses = normalised(roots, patterns)?;
            let blocks = masses.iter().map(|q| Array2::from_elem((1, 1), *q)).collect();
            return Self::normalised(blocks, f64::MIN_POSITIVE);
        }
        let entries = size * (size + 1) / 2;
        if roots.len() != entries * patterns || roots.iter().any(|x| !x.is_finite()) {
            return Err(refused(
                format!("{patterns} triangular blocks of {size} steps"),
                format!("{} numbers", roots.len()),
            ));
        }
        let block = |entries: &[f64]| {
            let lower = Array2::from_shape_fn((size, size), |(i, j)| {
                if j <= i { entries[i * (i + 1) / 2 + j] } else { 0.0 }
            });
            linalg::matmul(lower.view(), lower.t())
        };
        Self::normalised(roots.chunks_exact(entries).map(block).collect(), f64::MIN_POSITIVE)
    }

    /// Returns the number of steps of a pattern.
    pub fn size(&self) -> usize {
        self.blocks.first().map_or(1, Array2::nrows)
    }

    /// Returns `M_π⁻¹` of a pattern.
    pub fn inverse_block(&self, pattern: usize) -> Array2<f64> {
        linalg::gram_of(linalg::inverse_of_lower(self.factors[pattern].view()).view())
    }

    /// Returns `(ln det M)/n`.
    pub fn mean_log_determinant(&self) -> f64 {
        let roots = self.factors.iter().flat_map(|factor| factor.diag().to_vec());
        2.0 * roots.map(f64::ln).sum::<f64>() / (self.factors.len() * self.size()) as f64
    }

    /// Returns the logarithms of the blocks.
    pub fn logarithms(&self) -> Result<Vec<f64>> {
        logarithms(&self.blocks)
    }

    /// Returns `Lᵀ A L` with `M = L Lᵀ`, for a symmetric A in the order of the patterns.
    pub fn congruent(&self, a: &Array2<f64>) -> Array2<f64> {
        let half = self.by_blocks(a, |factor| factor.t().to_owned());
        self.by_blocks(&half.reversed_axes(), |factor| factor.t().to_owned())
    }

    /// Returns `A L`, for an A whose columns are in the order of the patterns.
    pub fn times_factor(&self, a: &Array2<f64>) -> Array2<f64> {
        self.by_blocks(&a.t().to_owned(), |factor| factor.t().to_owned()).reversed_axes()
    }

    /// Returns `L^(−ᵀ) A L^(−1)`.
    pub fn inverse_congruent(&self, a: &Array2<f64>) -> Array2<f64> {
        let inverse =
            |factor: &Array2<f64>| linalg::inverse_of_lower(factor.view()).reversed_axes();
        let half = self.by_blocks(a, inverse);
        self.by_blocks(&half.reversed_axes(), inverse)
    }

    /// Returns `L A Lᵀ`.
    pub fn forward_congruent(&self, a: &Array2<f64>) -> Array2<f64> {
        let half = self.by_blocks(a, Array2::clone);
        self.by_blocks(&half.reversed_axes(), Array2::clone)
    }

    /// Multiplies the rows of every pattern by a matrix that is computed from its factor.
    fn by_blocks(
        &self,
        a: &Array2<f64>,
        matrix: impl Fn(&Array2<f64>) -> Array2<f64>,
    ) -> Array2<f64> {
        let size = self.size();
        let mut out = Array2::zeros(a.dim());
        for (c, factor) in self.factors.iter().enumerate() {
            let rows = c * size..(c + 1) * size;
            let matrix = matrix(factor);
            if size == 1 {
                let mut row = out.row_mut(c);
                row.assign(&a.row(c));
                row *= matrix[[0, 0]];
            } else {
                let from = a
                    .slice_axis(Axis(0), Slice::from(rows.clone()))
                    .as_standard_layout()
                    .into_owned();
                out.slice_axis_mut(Axis(0), Slice::from(rows))
                    .assign(&linalg::matmul(matrix.view(), from.view()));
            }
        }
        out
    }
}

/// Returns the logarithms of symmetric positive definite blocks, one after the other.
pub(super) fn logarithms(blocks: &[Array2<f64>]) -> Result<Vec<f64>> {
    let mut out = Vec::with_capacity(blocks.iter().map(Array2::len).sum());
    for block in blocks {
        if block.len() == 1 {
            out.push(block[[0, 0]].max(f64::MIN_POSITIVE).ln());
        } else {
            out.extend(map_eigenvalues(block.view(), |x| x.max(f64::MIN_POSITIVE).ln())?.iter());
        }
    }
    Ok(out)
}

/// Returns `U diag(f(λ)) Uᵀ`.
fn map_eigenvalues(a: ArrayView2<'_, f64>, f: impl Fn(f64) -> f64) -> Result<Array2<f64>> {
    let eigen = linalg::eigh(a)?;
    let mut scaled = eigen.vectors.clone();
    for (mut column, &value) in scaled.axis_iter_mut(Axis(1)).zip(&eigen.values) {
        column *= f(value);
    }
    Ok(linalg::matmul(scaled.view(), eigen.vectors.t()))
}
