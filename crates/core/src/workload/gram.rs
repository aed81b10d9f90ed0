//! The Gram matrix of a workload, as a Kronecker product if the workload is one.

use std::sync::Arc;

use ndarray::{Array2, Axis};

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::centre_box;
use matmech_linalg as linalg;

/// Maximum cells of a dense factor: one n × n matrix of f64 takes 2 GiB.
pub const MAX_DENSE_CELLS: usize = 16_384;

/// A Kronecker factor of a [`Gram`]: a dense matrix over the cells of one or more attributes.
#[derive(Debug, Clone)]
pub struct GramFactor {
    /// The sizes of the attributes of the factor.
    pub shape: Vec<usize>,
    /// The factor, cells × cells, symmetric positive semidefinite. Shared by equal factors.
    pub matrix: Arc<Array2<f64>>,
}

/// The Gram matrix `G = WᵀW` over the cells of a domain.
///
/// Stored as a Kronecker product `G₁ ⊗ … ⊗ G_k` of dense factors; k = 1 means no structure.
/// Strategy selectors see only the Gram matrix, because workloads with equal Gram matrices have
/// equal errors under every strategy (S1, Sec. 4.2).
#[derive(Debug, Clone)]
pub struct Gram {
    factors: Vec<GramFactor>,
    /// The parts, for a union of workloads over marginals.
    pub(super) marginals: Option<Arc<Vec<MarginalGram>>>,
}

/// The part of a workload on one marginal.
#[derive(Debug, Clone)]
pub struct MarginalGram {
    /// The attributes of the marginal.
    pub attributes: AttributeSet,
    /// The Gram matrix of the part's queries over the cells of the marginal.
    pub gram: Gram,
}

impl Gram {
    /// Creates a Gram matrix from its Kronecker factors.
    ///
    /// # Errors
    /// No factor, or a factor that is not a finite symmetric matrix with a nonnegative diagonal
    /// over the cells of its attributes.
    pub fn from_factors(factors: Vec<GramFactor>) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::bad_input(
                "Gram matrix",
                "at least one factor",
                "none",
                "use a workload over at least one attribute",
            ));
        }
        for factor in &factors {
            check_factor(factor)?;
        }
        Ok(Gram { factors, marginals: None })
    }

    /// Creates a Gram matrix without product structure over a domain of the given shape.
    ///
    /// # Errors
    /// As [`Gram::from_factors`].
    pub fn dense(shape: &[usize], matrix: Array2<f64>) -> Result<Self> {
        Self::from_factors(vec![GramFactor { shape: shape.to_vec(), matrix: Arc::new(matrix) }])
    }

    /// Returns the Kronecker factors, in the order of the attributes.
    pub fn factors(&self) -> &[GramFactor] {
        &self.factors
    }

    /// Returns the sizes of all attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|f| f.shape.iter().copied()).collect()
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.factors.iter().map(|f| f.matrix.nrows()).product()
    }

    /// Returns `tr G`, the error of the identity strategy.
    pub fn trace(&self) -> f64 {
        self.factors.iter().map(|f| f.matrix.diag().sum()).product()
    }

    /// Returns `max_i G_ii`, the squared sensitivity of the workload.
    pub fn max_diagonal(&self) -> f64 {
        self.factors.iter().map(|f| f.matrix.diag().iter().copied().fold(0.0, f64::max)).product()
    }

    /// Returns the dense matrix. O(cells²) memory.
    ///
    /// # Errors
    /// More than [`MAX_DENSE_CELLS`] cells.
    pub fn to_dense(&self) -> Result<Array2<f64>> {
        check_dense_size("dense Gram matrix", self.cells())?;
        let mut out = self.factors[0].matrix.as_ref().clone();
        for factor in &self.factors[1..] {
            out = linalg::kron(out.view(), factor.matrix.view());
        }
        Ok(out)
    }

    /// Merges consecutive factors: the k-th new factor is the product of `groups[k]` factors.
    ///
    /// # Errors
    /// Groups that do not cover the factors, or a new factor with more than [`MAX_DENSE_CELLS`]
    /// cells.
    pub fn grouped(&self, groups: &[usize]) -> Result<Self> {
        if groups.iter().sum::<usize>() != self.factors.len() || groups.contains(&0) {
            return Err(Error::bad_input(
                "grouping of Kronecker factors",
                format!("positive group sizes that sum to {}", self.factors.len()),
                format!("{groups:?}"),
                "cover every factor once",
            ));
        }
        let mut rest = self.factors.as_slice();
        let mut factors = Vec::with_capacity(groups.len());
        for &size in groups {
            let (group, tail) = rest.split_at(size);
            rest = tail;
            if let [single] = group {
                factors.push(single.clone());
            } else {
                let part = Gram { factors: group.to_vec(), marginals: None };
                factors
                    .push(GramFactor { shape: part.shape(), matrix: Arc::new(part.to_dense()?) });
            }
        }
        Ok(Gram { factors, marginals: None })
    }

    /// Returns the Gram matrix of the residual part of the workload ([`Workload::residual`]):
    /// `C G C` with `C = ⊗ (I − J/n_i)`. O(attributes · cells²) per factor.
    ///
    /// [`Workload::residual`]: super::Workload::residual
    pub fn residual(&self) -> Self {
        let factors = self
            .factors
            .iter()
            .map(|f| GramFactor {
                shape: f.shape.clone(),
                matrix: Arc::new(centred(&f.shape, f.matrix.as_ref().clone())),
            })
            .collect();
        Gram { factors, marginals: None }
    }
}

/// Checks that a dense matrix is allowed, before it is allocated.
///
/// # Errors
/// More than [`MAX_DENSE_CELLS`] cells.
pub fn check_dense_size(what: &str, cells: usize) -> Result<()> {
    if cells > MAX_DENSE_CELLS {
        let gib = (cells as f64).powi(2) * 8.0 / 1024f64.powi(3);
        return Err(Error::too_large(
            format!("{what} ({gib:.1} GiB per matrix)"),
            "cells",
            MAX_DENSE_CELLS as f64,
            cells as f64,
            "use a Kronecker product of smaller workloads, or plan over marginals",
        ));
    }
    Ok(())
}

fn check_factor(factor: &GramFactor) -> Result<()> {
    let cells: usize = factor.shape.iter().product();
    let refuse = |expected: &str, found: String| {
        Err(Error::bad_input(
            format!("Gram factor over {:?}", factor.shape),
            expected,
            found,
            "use WᵀW of a workload matrix W with one column per cell",
        ))
    };
    let matrix = &factor.matrix;
    if cells == 0 || matrix.dim() != (cells, cells) {
        return refuse(
            &format!("a {cells} x {cells} matrix"),
            format!("{} x {}", matrix.nrows(), matrix.ncols()),
        );
    }
    let scale = matrix.diag().iter().copied().fold(0.0, f64::max);
    for i in 0..cells {
        for j in 0..=i {
            let (x, y) = (matrix[[i, j]], matrix[[j, i]]);
            if !x.is_finite() || !y.is_finite() {
                return refuse("finite entries", format!("{x} at ({i}, {j})"));
            }
            if (x - y).abs() > 1e-9 * scale {
                return refuse(
                    "a symmetric matrix",
                    format!("{x} at ({i}, {j}) and {y} at ({j}, {i})"),
                );
            }
        }
        if matrix[[i, i]] < -1e-9 * scale {
            return refuse("a nonnegative diagonal", format!("{} at ({i}, {i})", matrix[[i, i]]));
        }
    }
    Ok(())
}

/// Centres rows and columns of a matrix over a row-major box along every axis of the box.
fn centred(shape: &[usize], mut matrix: Array2<f64>) -> Array2<f64> {
    for side in [Axis(0), Axis(1)] {
        for mut lane in matrix.lanes_mut(side) {
            let mut values = lane.to_vec();
            centre_box(shape, &mut values);
            lane.assign(&ndarray::ArrayView1::from(&values));
        }
    }
    matrix
}

/// Computes `Σ qᵀq` over rows, in chunks.
///
/// # Errors
/// Too many cells for a dense matrix, or rows whose length is not the number of cells.
pub fn sum_of_squares(cells: usize, rows: impl Iterator<Item = Vec<f64>>) -> Result<Array2<f64>> {
    const CHUNK: usize = 256;
    check_dense_size("Gram matrix of queries given by rows", cells)?;
    let mut sum = Array2::zeros((cells, cells));
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let chunk: Vec<f64> = rows.by_ref().take(CHUNK).flatten().collect();
        let block = Array2::from_shape_vec((chunk.len() / cells.max(1), cells), chunk)
            .map_err(|e| Error::bug("rows of queries", "one value per cell", e))?;
        matmech_linalg::add_gram(&mut sum, block.view());
    }
    Ok(sum)
}

/// Scales a query to unit length; a zero query is unchanged.
pub(super) fn to_unit_length(mut query: Vec<f64>) -> Vec<f64> {
    let length = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        query.iter_mut().for_each(|x| *x /= length);
    }
    query
}

/// Computes `Σ_q qᵀq / N_q` from rows. O(queries · cells²).
///
/// # Errors
/// Too many cells for a dense matrix.
pub(super) fn of_unit_rows(
    cells: usize,
    rows: impl Iterator<Item = Vec<f64>>,
) -> Result<Array2<f64>> {
    sum_of_squares(cells, rows.map(to_unit_length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn centring_is_the_projector_on_the_residual_subspace() {
        let shape = [3, 4];
        let mut by_matrix = Array2::eye(1);
        for &n in &shape {
            let c = Array2::from_shape_fn((n, n), |(i, j)| {
                f64::from(u8::from(i == j)) - 1.0 / n as f64
            });
            by_matrix = linalg::kron(by_matrix.view(), c.view());
        }
        let x: Vec<f64> = (0..12).map(|i| ((i * i) as f64).cos()).collect();
        let mut y = x.clone();
        centre_box(&shape, &mut y);
        let expected = by_matrix.dot(&ndarray::Array1::from_vec(x));
        assert_abs_diff_eq!(ndarray::Array1::from_vec(y), expected, epsilon = 1e-14);
    }

    #[test]
    fn invalid_matrices_are_refused() {
        assert!(Gram::from_factors(vec![]).is_err());
        assert!(Gram::dense(&[3], Array2::eye(2)).is_err());
        let mut asymmetric = Array2::eye(2);
        asymmetric[[0, 1]] = 0.5;
        let message = Gram::dense(&[2], asymmetric).unwrap_err().to_string();
        assert!(message.contains("symmetric"), "{message}");
        assert!(Gram::dense(&[2], -Array2::<f64>::eye(2)).is_err());
        assert!(Gram::dense(&[2], Array2::from_elem((2, 2), f64::NAN)).is_err());
    }

    #[test]
    fn grouped_factors_are_kronecker_products() {
        let a = Gram::from_factors(vec![
            GramFactor {
                shape: vec![2],
                matrix: Arc::new(ndarray::array![[2.0, 1.0], [1.0, 2.0]]),
            },
            GramFactor { shape: vec![3], matrix: Arc::new(Array2::ones((3, 3))) },
        ])
        .unwrap();
        let b = a.grouped(&[2]).unwrap();
        assert_eq!(b.factors().len(), 1);
        assert_abs_diff_eq!(b.factors()[0].matrix.as_ref(), &a.to_dense().unwrap());
        assert_eq!(
            (a.trace(), a.max_diagonal(), a.cells()),
            (b.trace(), b.max_diagonal(), b.cells())
        );
        assert!(a.grouped(&[1]).is_err());
    }
}
