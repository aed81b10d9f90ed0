//! Baseline: Decomp and Recon as Kronecker matrix times vector, by the shuffle algorithm.
//!
//! S4, App. E.
//!
//! Decomp is the matrix ⊗ F_i with F_i = S for a kept axis and F_i = 1ᵀ otherwise. Recon is the
//! Kronecker product of the pseudoinverses (S4, Eq. 3 and 4). The shuffle algorithm applies the
//! factors from the last to the first. It reshapes the vector to a matrix with rows along the
//! factor's axis, multiplies, and transposes. After all factors the axes are in order again. The
//! factors are dense matrices ([`apply_dense`]) or operations in O(rows + columns)
//! ([`apply_structured`]).
//!
//! For comparison only: [`decomp`](super::decomp()) and [`recon`](super::recon()) need no
//! transposed copies.

use ndarray::{Array2, ArrayView2};

use super::axis::{self, AxisView};
use crate::domain::AxisSet;
use crate::error::{Error, Result};
use matmech_linalg as linalg;

/// One factor of a Kronecker matrix, for an axis of `n` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// 1ᵀ: 1 × n.
    Sum(usize),
    /// S = [−1 I]: (n − 1) × n.
    Sub(usize),
    /// S⁺: n × (n − 1).
    Centre(usize),
    /// 1/n: n × 1.
    Smear(usize),
}

impl Factor {
    /// Returns the number of rows: the length of the result along the axis.
    pub fn rows(self) -> usize {
        match self {
            Factor::Sum(_) => 1,
            Factor::Sub(n) => n.saturating_sub(1),
            Factor::Centre(n) | Factor::Smear(n) => n,
        }
    }

    /// Returns the number of columns: the length of the input along the axis.
    pub fn columns(self) -> usize {
        match self {
            Factor::Sum(n) | Factor::Sub(n) => n,
            Factor::Centre(n) => n.saturating_sub(1),
            Factor::Smear(_) => 1,
        }
    }

    /// Returns the factor as a matrix.
    pub fn to_dense(self) -> Array2<f64> {
        let indicator = |condition: bool| f64::from(u8::from(condition));
        Array2::from_shape_fn((self.rows(), self.columns()), |(i, j)| match self {
            Factor::Sum(_) => 1.0,
            Factor::Sub(_) => indicator(j == i + 1) - indicator(j == 0),
            Factor::Centre(n) => indicator(i == j + 1) - 1.0 / n as f64,
            Factor::Smear(n) => 1.0 / n as f64,
        })
    }

    /// Multiplies every row of a matrix with `rows` rows by the factor.
    ///
    /// Does not form the factor's matrix.
    fn times_rows(self, from: &[f64], rows: usize, to: &mut [f64]) {
        let view = |n| AxisView { outer: rows, n, inner: 1 };
        match self {
            Factor::Sum(n) => axis::sum(from, view(n), to),
            Factor::Sub(n) => axis::sub(from, view(n), to),
            Factor::Centre(n) => axis::centre(from, view(n), to),
            Factor::Smear(n) => axis::smear(from, view(n), to),
        }
    }
}

/// Returns the factors of Decomp: S for kept axes, 1ᵀ for the others (S4, Eq. 3).
pub fn decomp_factors(sizes: &[usize], kept: AxisSet) -> Vec<Factor> {
    let factor = |(axis, &n): (usize, &usize)| {
        if kept.contains(axis) { Factor::Sub(n) } else { Factor::Sum(n) }
    };
    sizes.iter().enumerate().map(factor).collect()
}

/// Returns the factors of Recon: S⁺ for kept axes, 1/n for the others (S4, Eq. 4).
pub fn recon_factors(sizes: &[usize], kept: AxisSet) -> Vec<Factor> {
    let factor = |(axis, &n): (usize, &usize)| {
        if kept.contains(axis) { Factor::Centre(n) } else { Factor::Smear(n) }
    };
    sizes.iter().enumerate().map(factor).collect()
}

/// Returns `(⊗ F_i) x`, with dense factors.
///
/// Each step is a product with a transposed matrix. O(Σ_i rows_i · cells) flops, two arrays of
/// memory.
///
/// # Errors
/// The length of `x` is not the product of the factors' columns.
pub fn apply_dense(factors: &[Factor], x: Vec<f64>) -> Result<Vec<f64>> {
    if let Some(zeros) = empty(factors, &x)? {
        return Ok(zeros);
    }
    let matrices: Vec<Array2<f64>> = factors.iter().map(|factor| factor.to_dense()).collect();
    let views: Vec<ArrayView2<'_, f64>> = matrices.iter().map(|matrix| matrix.view()).collect();
    Ok(linalg::kron_apply(&views, x)?)
}

/// Returns `(⊗ F_i) x`, with factors as operations in O(rows + columns).
///
/// Each step is one pass along the rows and one transposed copy. O(factors · cells) time, two
/// arrays of memory.
///
/// # Errors
/// As [`apply_dense`].
pub fn apply_structured(factors: &[Factor], x: Vec<f64>) -> Result<Vec<f64>> {
    if let Some(zeros) = empty(factors, &x)? {
        return Ok(zeros);
    }
    let mut current = x;
    let mut product = Vec::new();
    for factor in factors.iter().rev() {
        let rows = current.len() / factor.columns();
        product.resize(rows * factor.rows(), 0.0);
        factor.times_rows(&current, rows, &mut product);
        current.resize(product.len(), 0.0);
        transpose(&product, rows, factor.rows(), &mut current);
    }
    Ok(current)
}

/// Returns the result if it or the input is empty.
///
/// This needs an axis of one value.
///
/// # Errors
/// The length of `x` is not the product of the factors' columns.
fn empty(factors: &[Factor], x: &[f64]) -> Result<Option<Vec<f64>>> {
    let columns: usize = factors.iter().map(|factor| factor.columns()).product();
    let rows: usize = factors.iter().map(|factor| factor.rows()).product();
    if x.len() != columns {
        return Err(Error::bad_input(
            "Kronecker product of residual factors times a vector",
            format!("a vector of {columns} cells"),
            format!("{} cells", x.len()),
            "pass row-major values, the last attribute fastest",
        ));
    }
    Ok((columns == 0 || rows == 0).then(|| vec![0.0; rows]))
}

/// Transposes a `rows × columns` matrix.
///
/// Works in square blocks that fit in the L1 cache.
fn transpose(from: &[f64], rows: usize, columns: usize, to: &mut [f64]) {
    const SIDE: usize = 32;
    for top in (0..rows).step_by(SIDE) {
        let bottom = (top + SIDE).min(rows);
        for left in (0..columns).step_by(SIDE) {
            for column in left..(left + SIDE).min(columns) {
                let cells = &mut to[column * rows + top..column * rows + bottom];
                for (cell, x) in
                    cells.iter_mut().zip(from[top * columns + column..].iter().step_by(columns))
                {
                    *cell = *x;
                }
            }
        }
    }
}
