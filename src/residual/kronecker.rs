//! The baseline: Decomp and Recon as products of a Kronecker matrix with a vector, by the shuffle
//! algorithm (S4, App. E).
//!
//! Decomp is the matrix ⊗ F_i with F_i = S for a kept axis and 1ᵀ for another, and Recon the
//! product of the pseudoinverses (S4, Eq. 3 and 4). The shuffle algorithm goes through the factors
//! from the last to the first: the vector is reshaped to a matrix whose rows run along the factor's
//! axis, multiplied, and transposed, so that after all factors the axes are in order again. The
//! factors are either dense matrices ([`apply_dense`]) or their action in O(rows + columns)
//! ([`apply_structured`]).
//!
//! Kept for comparison: [`decomp`](super::decomp()) and [`recon`](super::recon()) need no
//! transposed copies.

use ndarray::{Array2, ArrayView2};

use super::axis::{self, Lanes};
use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::linalg;

/// One factor of a Kronecker matrix, for an axis of `n` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// 1ᵀ: 1 × n.
    Sum(usize),
    /// S = [−1 I]: (n − 1) × n.
    Sub(usize),
    /// S⁺: n × (n − 1).
    Center(usize),
    /// 1/n: n × 1.
    Smear(usize),
}

impl Factor {
    /// Number of rows: length of the result along the axis.
    pub fn rows(self) -> usize {
        match self {
            Factor::Sum(_) => 1,
            Factor::Sub(n) => n.saturating_sub(1),
            Factor::Center(n) | Factor::Smear(n) => n,
        }
    }

    /// Number of columns: length along the axis before.
    pub fn columns(self) -> usize {
        match self {
            Factor::Sum(n) | Factor::Sub(n) => n,
            Factor::Center(n) => n.saturating_sub(1),
            Factor::Smear(_) => 1,
        }
    }

    /// The factor as a matrix.
    pub fn to_dense(self) -> Array2<f64> {
        let unit = |hit: bool| f64::from(u8::from(hit));
        Array2::from_shape_fn((self.rows(), self.columns()), |(i, j)| match self {
            Factor::Sum(_) => 1.0,
            Factor::Sub(_) => unit(j == i + 1) - unit(j == 0),
            Factor::Center(n) => unit(i == j + 1) - 1.0 / n as f64,
            Factor::Smear(n) => 1.0 / n as f64,
        })
    }

    /// The factor times every row of a matrix with `rows` rows, without the matrix of the factor.
    fn times_rows(self, from: &[f64], rows: usize, to: &mut [f64]) {
        let lanes = |n| Lanes { outer: rows, n, inner: 1 };
        match self {
            Factor::Sum(n) => axis::sum(from, lanes(n), to),
            Factor::Sub(n) => axis::sub(from, lanes(n), to),
            Factor::Center(n) => axis::center(from, lanes(n), to),
            Factor::Smear(n) => axis::smear(from, lanes(n), to),
        }
    }
}

/// The factors of Decomp: S for kept axes, 1ᵀ for the others (S4, Eq. 3).
pub fn decomp_factors(sizes: &[usize], kept: AxisSet) -> Vec<Factor> {
    let factor = |(axis, &n): (usize, &usize)| {
        if kept.contains(axis) { Factor::Sub(n) } else { Factor::Sum(n) }
    };
    sizes.iter().enumerate().map(factor).collect()
}

/// The factors of Recon: S⁺ for kept axes, 1/n for the others (S4, Eq. 4).
pub fn recon_factors(sizes: &[usize], kept: AxisSet) -> Vec<Factor> {
    let factor = |(axis, &n): (usize, &usize)| {
        if kept.contains(axis) { Factor::Center(n) } else { Factor::Smear(n) }
    };
    sizes.iter().enumerate().map(factor).collect()
}

/// `(⊗ F_i) x` with dense factors: each step a matrix product with a transposed matrix. O(Σ_i
/// rows_i · cells) flops.
///
/// # Errors
/// `x` of another length than the product of the factors' columns.
pub fn apply_dense(factors: &[Factor], x: &[f64]) -> Result<Vec<f64>> {
    if let Some(zeros) = empty(factors, x)? {
        return Ok(zeros);
    }
    let matrices: Vec<Array2<f64>> = factors.iter().map(|factor| factor.to_dense()).collect();
    let views: Vec<ArrayView2<'_, f64>> = matrices.iter().map(|matrix| matrix.view()).collect();
    Ok(linalg::kron_apply(&views, x)?)
}

/// `(⊗ F_i) x` with the factors' action in O(rows + columns): each step one pass along the rows and
/// one transposed copy. O(factors · cells) time.
///
/// # Errors
/// As [`apply_dense`].
pub fn apply_structured(factors: &[Factor], x: &[f64]) -> Result<Vec<f64>> {
    if let Some(zeros) = empty(factors, x)? {
        return Ok(zeros);
    }
    let mut current = x.to_vec();
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

/// The result if the factors make it empty or nothing goes into it, which needs an axis of one
/// value.
///
/// # Errors
/// `x` of another length than the product of the factors' columns.
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

/// Copies a `rows × columns` matrix transposed, in squares that fit in the first-level cache.
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
