//! The parametrisations of strategies that are fitted.

use ndarray::Array2;

/// A family of lower triangular strategies. Their cost is that of the absolute values.
pub trait AllocatedForm {
    /// Returns the variables of a start: a strategy near the square root of the prefix sums, of which
    /// only the first bands are used where the form allows that.
    fn start(&self, bands: usize) -> Vec<f64>;

    /// Returns the index from which on the variables are nonnegative.
    fn first_bounded(&self) -> usize {
        0
    }

    /// Returns C.
    fn matrix(&self, x: &[f64]) -> Array2<f64>;

    /// Returns the derivative by the variables for the derivative by the entries of C, of which
    /// those above the diagonal are not read.
    fn gradient(&self, x: &[f64], of_matrix: &Array2<f64>) -> Vec<f64>;
}

/// Returns the first n coefficients of (1 − x)^(−½).
pub(super) fn square_root(n: usize) -> impl Iterator<Item = f64> {
    let mut c = 1.0;
    (0..n).map(move |lag| {
        let current = c;
        c *= (lag as f64 + 0.5) / (lag as f64 + 1.0);
        current
    })
}

/// Returns the first `bands` coefficients of (1 − x)^(−½), and zeros up to n coefficients.
pub(super) fn banded_square_root(bands: usize, n: usize) -> Vec<f64> {
    let mut c: Vec<f64> = square_root(n).collect();
    c.iter_mut().skip(bands).for_each(|c| *c = 0.0);
    c
}
