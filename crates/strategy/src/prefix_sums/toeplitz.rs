//! Lower triangular Toeplitz strategies, and the square root of the prefix sums.

use ndarray::Array2;

use super::factorisation::{Factorisation, Factorised, NoiseCost, factor, separation_and_count};
use crate::Problem;
use crate::error::Result;

/// The square root of the prefix sums.
///
/// C is the lower triangular Toeplitz matrix with the coefficients of (1 − x)^(−½), and B = C.
/// *Source*: Fichtenberger, Henzinger and Upadhyay, Constant matters: fine-grained error bound on
/// differentially private continual observation (2023), Theorem 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct SquareRoot;

impl Factorised for SquareRoot {
    const NAME: &'static str = "toeplitz";
    const SUMMARY: &'static str = "square root of the prefix sums";

    fn factorise(&self, _problem: &Problem<'_>, n: usize) -> Result<Factorisation> {
        of_coefficients(&square_root(n), n - 1, n)
    }
}

/// Returns the first n coefficients of (1 − x)^(−½).
pub(super) fn square_root(n: usize) -> Vec<f64> {
    power(n, -0.5)
}

/// Returns the first n coefficients of (1 − x)^a.
pub(super) fn power(n: usize, a: f64) -> Vec<f64> {
    let next = |c: &mut f64, i: usize| {
        let current = *c;
        *c *= (i as f64 - a) / (i + 1) as f64;
        Some(current)
    };
    (0..n).scan(1.0, next).collect()
}

/// Returns the first coefficients of 1/c, as many as c has. O(n²).
pub(super) fn series_inverse(c: &[f64]) -> Vec<f64> {
    let mut inverse = Vec::with_capacity(c.len());
    for i in 0..c.len() {
        let sum: f64 = c[1..=i].iter().zip(inverse.iter().rev()).map(|(a, b)| a * b).sum();
        inverse.push(if i == 0 { c[0].recip() } else { -sum / c[0] });
    }
    inverse
}

/// Returns the variances of the prefix sums, `Σ_{i≤t} s_i²` with the partial sums s of the
/// coefficients of C⁻¹.
pub(super) fn variances(inverse: &[f64]) -> Vec<f64> {
    let (mut sum, mut variance) = (0.0, 0.0);
    let next = |x: &f64| {
        sum += x;
        variance += sum * sum;
        variance
    };
    inverse.iter().map(next).collect()
}

/// Returns the sum of the columns 0, b, …, (k − 1)b of C.
pub(super) fn sum_of_columns(c: &[f64], separation: usize, count: usize) -> Vec<f64> {
    let column = |g: usize, t: usize| t.checked_sub(g * separation).map_or(0.0, |i| c[i]);
    (0..c.len()).map(|t| (0..count).map(|g| column(g, t)).sum()).collect()
}

/// Returns the error of nonnegative, decreasing coefficients, whose squared sensitivity is that of
/// the steps 0, b, …, (k − 1)b (Kalinin and Lampert 2024, Theorem 2). O(n²).
pub(super) fn error(problem: &Problem<'_>, c: &[f64], inverse: &[f64]) -> f64 {
    let (separation, count) = separation_and_count(c.len(), problem.participation);
    let squared: f64 = sum_of_columns(c, separation, count).iter().map(|x| x * x).sum();
    let variances = variances(inverse);
    let largest = variances.last().copied().unwrap_or(0.0);
    squared * problem.objective.of(variances.iter().sum(), largest, c.len() as f64)
}

/// Returns the factorisation with C of the coefficients, whose noise takes one normal per step, the
/// buffers and the stored coefficients. O(n³) for CᵀC.
pub(super) fn of_coefficients(c: &[f64], buffers: usize, stored: usize) -> Result<Factorisation> {
    let n = c.len();
    let matrix = Array2::from_shape_fn((n, n), |(t, s)| t.checked_sub(s).map_or(0.0, |lag| c[lag]));
    Ok(Factorisation {
        factor: factor(matrix)?,
        variances: variances(&series_inverse(c)),
        cost: NoiseCost { buffers: buffers as f64, normals: 1.0, coefficients: stored as f64 },
    })
}
