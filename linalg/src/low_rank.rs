//! Roots of positive semidefinite matrices of low rank.

use ndarray::{Array1, Array2, ArrayView2};

use crate::error::{Error, Result};

/// R with `RᵀR = a` (rank × n) by Cholesky's factorisation with complete pivoting, or `None` once
/// more than `most` rows would be needed. What is left out has a largest entry of 8 ε times the
/// largest one of `a`. O(n · rank²) time.
///
/// # Errors
/// `a` is not square, or not positive semidefinite by more than rounding.
pub fn low_rank_root(a: ArrayView2<'_, f64>, most: usize) -> Result<Option<Array2<f64>>> {
    let (n, columns) = a.dim();
    if n != columns || n == 0 {
        let found = format!("{n} x {columns}");
        return Err(Error::shape(
            "low-rank root",
            "a non-empty square matrix",
            found,
            "pass a Gram matrix",
        ));
    }
    let mut left: Array1<f64> = a.diag().to_owned();
    let top = left.iter().copied().fold(0.0, f64::max);
    let lowest = left.iter().copied().fold(f64::INFINITY, f64::min);
    if !top.is_finite() || lowest < -1e-9 * top {
        return Err(Error::NotPositiveDefinite { what: "low-rank root".into(), order: n });
    }
    let cut = 8.0 * f64::EPSILON * top;
    let mut rows: Vec<Array1<f64>> = Vec::new();
    loop {
        let (pivot, &largest) = match left.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) {
            Some(found) => found,
            None => return Ok(None),
        };
        if largest <= cut {
            let mut out = Array2::zeros((rows.len(), n));
            rows.iter().zip(out.rows_mut()).for_each(|(row, mut to)| to.assign(row));
            return Ok(Some(out));
        }
        if rows.len() == most {
            return Ok(None);
        }
        let mut row = a.row(pivot).to_owned();
        for earlier in &rows {
            row.scaled_add(-earlier[pivot], earlier);
        }
        row /= largest.sqrt();
        left.zip_mut_with(&row, |left, x| *left -= x * x);
        left[pivot] = 0.0;
        rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gram_of;
    use approx::assert_abs_diff_eq;

    #[test]
    fn a_root_has_the_rank_and_the_gram() {
        let rows = Array2::from_shape_fn((5, 40), |(i, j)| (((1 + i) * (2 + j * j)) as f64).sin());
        let doubled =
            Array2::from_shape_fn((10, 40), |(i, j)| (1 + i / 5) as f64 * rows[[i % 5, j]]);
        let gram = gram_of(doubled.view());
        let root = low_rank_root(gram.view(), 20).unwrap().unwrap();
        assert_eq!(root.nrows(), 5);
        assert_abs_diff_eq!(gram_of(root.view()), gram, epsilon = 1e-12);
        assert!(low_rank_root(gram.view(), 4).unwrap().is_none());
        assert!(low_rank_root(Array2::eye(7).view(), 6).unwrap().is_none());
        assert_eq!(low_rank_root(Array2::zeros((3, 3)).view(), 2).unwrap().unwrap().nrows(), 0);
        assert!(low_rank_root((-gram).view(), 20).is_err());
    }
}
