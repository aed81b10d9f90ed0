//! Roots of positive semidefinite matrices of low rank.

use ndarray::{Array1, Array2, ArrayView2};

use crate::dense::check_square;
use crate::error::{Error, Result};

/// Returns R (rank × n) with `RᵀR = a`, or `None` if the rank exceeds `max_rank`.
///
/// Cholesky factorisation with complete pivoting. The largest entry of the remainder is at most 8 ε
/// times the largest entry of `a`. O(n · rank²) time.
///
/// # Errors
/// `a` is not square, or is not positive semidefinite up to rounding.
pub fn low_rank_root(a: ArrayView2<'_, f64>, max_rank: usize) -> Result<Option<Array2<f64>>> {
    let n = check_square("low-rank root", a)?;
    let mut remainder: Array1<f64> = a.diag().to_owned();
    let largest_diagonal = remainder.iter().copied().fold(0.0, f64::max);
    let lowest = remainder.iter().copied().fold(f64::INFINITY, f64::min);
    if !largest_diagonal.is_finite() || lowest < -1e-9 * largest_diagonal {
        return Err(Error::NotPositiveDefinite { what: "low-rank root".into(), order: n });
    }
    let cut = 8.0 * f64::EPSILON * largest_diagonal;
    let mut rows: Vec<Array1<f64>> = Vec::new();
    loop {
        let (pivot, &largest) = match remainder.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))
        {
            Some(found) => found,
            None => return Ok(None),
        };
        if largest <= cut {
            let mut out = Array2::zeros((rows.len(), n));
            rows.iter().zip(out.rows_mut()).for_each(|(row, mut to)| to.assign(row));
            return Ok(Some(out));
        }
        if rows.len() == max_rank {
            return Ok(None);
        }
        let mut row = a.row(pivot).to_owned();
        for earlier in &rows {
            row.scaled_add(-earlier[pivot], earlier);
        }
        row /= largest.sqrt();
        remainder.zip_mut_with(&row, |remainder, x| *remainder -= x * x);
        remainder[pivot] = 0.0;
        rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gram_of;
    use approx::assert_abs_diff_eq;

    #[test]
    fn roots_have_the_rank_and_the_gram_of_the_matrix() {
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
