//! The eigen-queries of a workload: an orthonormal basis of the eigenvectors of `G = WᵀW` with
//! non-zero eigenvalues (S2, Def. 6).
//!
//! If eigenvalues coincide, the eigenbasis is not unique, and Program 1 depends on the basis. The
//! structure of the workload then selects the basis:
//!
//! - `a I + b J` (identity, total, all predicates): Walsh–Hadamard if the size is a power of two,
//!   else real Fourier.
//! - A sum over marginals whose factors on every attribute commute (marginals, circular-range
//!   marginals): the Kronecker product of one basis per attribute.
//! - Any other Gram matrix: one basis per block of the workload's symmetries, such as functions
//!   odd or even along every attribute.
//!
//! A factor of low rank is decomposed in its row space: O(n · rank²) instead of O(n³).

use ndarray::{Array1, Array2, Axis};

use crate::error::{Error, Result};
use crate::symmetry::Reduction;
use crate::workload::{Gram, GramFactor, MarginalGram};
use matmech_linalg as linalg;

/// Relative tolerance for equal entries and for commuting matrices.
const EQUAL: f64 = 1e-12;

/// Blocks of at most this share of the full rank are decomposed in their row space.
const LOW_RANK: f64 = 0.25;

/// Eigen-queries with their eigenvalues.
#[derive(Debug, Clone)]
pub struct EigenQueries {
    /// λ > 0, descending.
    pub values: Array1<f64>,
    /// The eigen-queries, one orthonormal row per eigenvalue, × cells.
    pub rows: Array2<f64>,
}

impl EigenQueries {
    /// Returns the eigen-queries of every Kronecker factor.
    ///
    /// Their Kronecker products are the eigen-queries of the workload. At most O(n³) for the
    /// largest factor; the module documentation lists cheaper cases.
    ///
    /// # Errors
    /// The eigensolver fails, or a factor is zero.
    pub fn of_factors(gram: &Gram) -> Result<Vec<Self>> {
        if let Some(terms) = gram.marginals()
            && let Some(structured) = of_marginals(&gram.shape(), terms)?
        {
            return Ok(vec![structured]);
        }
        let mut known: Vec<(&GramFactor, Self)> = Vec::new();
        for factor in gram.factors() {
            let same =
                known.iter().find(|(f, _)| f.shape == factor.shape && f.matrix == factor.matrix);
            let eigen = match same {
                Some((_, eigen)) => eigen.clone(),
                None => of_factor(factor)?,
            };
            known.push((factor, eigen));
        }
        Ok(known.into_iter().map(|(_, eigen)| eigen).collect())
    }

    /// Returns the eigen-queries of the whole workload. O(rank · cells) memory.
    ///
    /// # Errors
    /// As [`EigenQueries::of_factors`], or the workload has too many cells to be dense.
    pub fn of(gram: &Gram) -> Result<Self> {
        crate::workload::check_dense_size("eigen-queries", gram.cells())?;
        let mut factors = Self::of_factors(gram)?;
        if factors.len() == 1
            && let Some(only) = factors.pop()
        {
            return Ok(only);
        }
        let rows = linalg::kron_all(factors.iter().map(|f| f.rows.view()));
        let products = |values: Vec<f64>, f: &Self| -> Vec<f64> {
            values.iter().flat_map(|x| f.values.iter().map(move |y| x * y)).collect()
        };
        Ok(Self::sorted(factors.iter().fold(vec![1.0], products), &rows))
    }

    fn sorted(values: Vec<f64>, rows: &Array2<f64>) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        EigenQueries {
            values: order.iter().map(|&k| values[k]).collect(),
            rows: rows.select(Axis(0), &order),
        }
    }

    /// Returns the number of eigen-queries, the rank of the workload.
    pub fn rank(&self) -> usize {
        self.values.len()
    }
}

fn no_queries() -> Error {
    Error::bad_input(
        "eigen-queries",
        "a workload with at least one non-zero query",
        "a Gram matrix of zeros",
        "drop this workload: it needs no measurement",
    )
}

/// Returns the eigen-queries of one dense factor.
fn of_factor(factor: &GramFactor) -> Result<EigenQueries> {
    let g = factor.matrix.as_ref();
    let n = g.nrows();
    if let Some((a, b)) = uniform(g) {
        let values = |k: usize| if k == 0 { a + n as f64 * b } else { a };
        return positive((0..n).map(values).collect(), &flat_basis(n));
    }
    let reduction = Reduction::of(&factor.shape, g.view());
    let mut values = Vec::new();
    let mut rows: Vec<Array1<f64>> = Vec::new();
    for (character, block) in reduction.orbits.characters.iter().zip(&reduction.blocks) {
        let (block_values, basis) = decomposed(block)?;
        let entries = reduction.orbits.entries(character);
        for (value, vector) in block_values.into_iter().zip(basis.rows()) {
            values.push(value);
            rows.push(
                entries.iter().map(|entry| entry.map_or(0.0, |(k, x)| x * vector[k])).collect(),
            );
        }
    }
    let mut stacked = Array2::zeros((rows.len(), n));
    rows.iter().zip(stacked.rows_mut()).for_each(|(row, mut to)| to.assign(row));
    positive(values, &stacked)
}

/// Keeps the eigenvalues above 8 n ε times the largest one.
fn positive(values: Vec<f64>, rows: &Array2<f64>) -> Result<EigenQueries> {
    let cut = 8.0 * rows.ncols() as f64 * f64::EPSILON * values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..values.len()).filter(|&k| values[k] > cut).collect();
    if kept.is_empty() {
        return Err(no_queries());
    }
    Ok(EigenQueries::sorted(
        kept.iter().map(|&k| values[k]).collect(),
        &rows.select(Axis(0), &kept),
    ))
}

/// Returns the eigenvalues, and the eigenvectors as rows.
fn decomposed(block: &Array2<f64>) -> Result<(Vec<f64>, Array2<f64>)> {
    let max_rank = (LOW_RANK * block.nrows() as f64) as usize;
    match linalg::low_rank_root(block.view(), max_rank) {
        Ok(Some(root)) if root.nrows() == 0 => Ok((Vec::new(), root)),
        Ok(Some(root)) => {
            let space = linalg::row_space(root.view())?;
            Ok((space.singular_values.iter().map(|s| s * s).collect(), space.basis))
        }
        // Rounding may make a block indefinite; then the eigensolver is used.
        _ => {
            let eigen = linalg::eigh(block.view())?;
            Ok((
                eigen.values.to_vec(),
                eigen.vectors.reversed_axes().as_standard_layout().into_owned(),
            ))
        }
    }
}

/// Returns a and b if the matrix is `a I + b J`.
fn uniform(matrix: &Array2<f64>) -> Option<(f64, f64)> {
    let n = matrix.nrows();
    let (on, off) = (matrix[[0, 0]], if n > 1 { matrix[[0, 1]] } else { 0.0 });
    let scale = EQUAL * on.abs().max(off.abs());
    let fits =
        |((i, j), x): ((usize, usize), &f64)| (x - if i == j { on } else { off }).abs() <= scale;
    matrix.indexed_iter().all(fits).then_some((on - off, off))
}

/// Returns an orthonormal basis, in rows, with a constant first vector and entries of nearly equal
/// magnitude: Walsh–Hadamard for powers of two, else sines and cosines.
fn flat_basis(n: usize) -> Array2<f64> {
    let root = (n as f64).sqrt();
    if n.is_power_of_two() {
        return Array2::from_shape_fn((n, n), |(k, j)| {
            if (k & j).count_ones().is_multiple_of(2) { 1.0 / root } else { -1.0 / root }
        });
    }
    Array2::from_shape_fn((n, n), |(k, j)| {
        // The angle is computed from integers, so that equal entries have equal bits.
        let angle =
            |frequency: usize| std::f64::consts::TAU * (frequency * j % n) as f64 / n as f64;
        match k {
            0 => 1.0 / root,
            _ if k + 1 == n && n.is_multiple_of(2) => {
                if j.is_multiple_of(2) {
                    1.0 / root
                } else {
                    -1.0 / root
                }
            }
            _ if k % 2 == 1 => 2f64.sqrt() / root * angle(k.div_ceil(2)).cos(),
            _ => 2f64.sqrt() / root * angle(k / 2).sin(),
        }
    })
}

/// Returns the Kronecker eigenbasis of a sum over marginals, if the factors of all terms commute on
/// every attribute.
fn of_marginals(shape: &[usize], terms: &[MarginalGram]) -> Result<Option<EigenQueries>> {
    let mut bases = Vec::new();
    // Per attribute and term: the eigenvalue of every basis vector.
    let mut spectra: Vec<Vec<Array1<f64>>> = Vec::new();
    for (attribute, &n) in shape.iter().enumerate() {
        let mut matrices = Vec::with_capacity(terms.len());
        for term in terms {
            let Some(position) = term.attributes.positions().position(|p| p == attribute) else {
                matrices.push(Array2::ones((n, n)));
                continue;
            };
            if term.gram.factors().iter().any(|f| f.shape.len() != 1) {
                return Ok(None);
            }
            matrices.push(term.gram.factors()[position].matrix.as_ref().clone());
        }
        let Some(basis) = common_basis(&matrices)? else { return Ok(None) };
        let diagonal =
            |m: &Array2<f64>| (&linalg::matmul(basis.view(), m.view()) * &basis).sum_axis(Axis(1));
        spectra.push(matrices.iter().map(diagonal).collect());
        bases.push(basis);
    }
    let cells: usize = shape.iter().product();
    let mut values = vec![0.0; cells];
    for term in 0..terms.len() {
        let eigenvalues = spectra.iter().fold(vec![1.0], |products: Vec<f64>, spectrum| {
            products.iter().flat_map(|x| spectrum[term].iter().map(move |y| x * y)).collect()
        });
        values.iter_mut().zip(eigenvalues).for_each(|(sum, x)| *sum += x);
    }
    let cut = 8.0 * cells as f64 * f64::EPSILON * values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..cells).filter(|&k| values[k] > cut).collect();
    if kept.is_empty() {
        return Err(no_queries());
    }
    let mut rows = Array2::zeros((kept.len(), cells));
    for (&k, mut row) in kept.iter().zip(rows.rows_mut()) {
        let chosen = linalg::coordinates(shape, k);
        let vectors =
            bases.iter().zip(&chosen).map(|(basis, &c)| basis.row(c).insert_axis(Axis(0)));
        row.assign(&linalg::kron_all(vectors).row(0));
    }
    Ok(Some(EigenQueries::sorted(kept.iter().map(|&k| values[k]).collect(), &rows)))
}

/// Returns an orthonormal basis, in rows, that diagonalises all the matrices, if they commute.
fn common_basis(matrices: &[Array2<f64>]) -> Result<Option<Array2<f64>>> {
    let Some(first) = matrices.first() else { return Ok(None) };
    if matrices.iter().all(|m| uniform(m).is_some()) {
        return Ok(Some(flat_basis(first.nrows())));
    }
    let mut mixed = Array2::zeros(first.dim());
    let norms: Vec<f64> =
        matrices.iter().map(|m| m.iter().fold(0.0f64, |max, x| max.max(x.abs()))).collect();
    for (k, (matrix, norm)) in matrices.iter().zip(&norms).enumerate() {
        // In a generic combination, eigenvalues coincide only if they do in every matrix.
        let weight = 1.0 + ((k + 1) as f64 * 0.618_033_988_749_894_9).fract();
        mixed.scaled_add(weight / norm.max(f64::MIN_POSITIVE), matrix);
    }
    let basis =
        linalg::eigh(mixed.view())?.vectors.reversed_axes().as_standard_layout().into_owned();
    for (matrix, norm) in matrices.iter().zip(&norms) {
        let rotated = linalg::matmul(linalg::matmul(basis.view(), matrix.view()).view(), basis.t());
        let size = norm * first.nrows() as f64;
        if rotated.indexed_iter().any(|((i, j), x)| i != j && x.abs() > EQUAL * size) {
            return Ok(None);
        }
    }
    Ok(Some(basis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::gram;

    use approx::assert_abs_diff_eq;

    /// For every structure: orthonormal rows that reconstruct the Gram matrix, with its rank.
    #[test]
    fn eigen_queries_reconstruct_the_gram() {
        for (text, rank) in [
            ("range:12", 12),
            ("cdf:9", 9),
            ("predicate:8", 8),
            ("predicate:6", 6),
            ("total:5", 1),
            ("circular:7", 7),
            ("range:3x4", 12),
            ("permuted-range:10", 10),
            ("identity-marginals(ways=1):3x4x2", 7),
            ("identity-marginals(ways=1+2):3x4x2", 18),
            ("circular-marginals(ways=2):5x4", 20),
            ("range-marginals(ways=1):6x5", 10),
            ("range-marginals(ways=2):4x4x3", 30),
            ("predicate-sample(queries=5,seed=2):40", 5),
            ("affine:5x6", 10),
        ] {
            let gram = gram(text);
            let eigen = EigenQueries::of(&gram).unwrap();
            assert_eq!(eigen.rank(), rank, "{text}");
            assert_abs_diff_eq!(
                eigen.rows.dot(&eigen.rows.t()),
                Array2::eye(rank),
                epsilon = 1e-12
            );
            let weighted = &eigen.rows * &eigen.values.clone().insert_axis(Axis(1));
            let scale = gram.max_diagonal();
            assert_abs_diff_eq!(
                eigen.rows.t().dot(&weighted),
                gram.to_dense().unwrap(),
                epsilon = 1e-11 * scale
            );
            assert!(eigen.values.windows(2).into_iter().all(|pair| pair[0] >= pair[1]), "{text}");
        }
    }

    #[test]
    fn marginals_have_a_flat_kronecker_basis() {
        let gram = gram("identity-marginals(ways=2):4x2x4");
        let eigen = EigenQueries::of(&gram).unwrap();
        assert!(eigen.rows.iter().all(|x| (x.abs() - 1.0 / 32f64.sqrt()).abs() < 1e-15));
        assert!(EigenQueries::of(&Gram::dense(&[3], Array2::zeros((3, 3))).unwrap()).is_err());
    }
}
