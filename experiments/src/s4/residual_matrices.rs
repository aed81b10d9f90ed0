//! The matrices of residuals, and random arrays, for numerical checks.

use matmech::domain::AxisSet;
use matmech::linalg;
use matmech::residual::decomp;
use ndarray::Array2;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// Returns random numbers from 0.1 to 1.
pub(super) fn random(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(0.1..1.0)).collect()
}

/// Returns the largest absolute difference of two arrays.
pub(super) fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Returns the largest squared norm of a record's residual, in the norm of the inverse covariance.
pub(super) fn squared_norm_of_a_record(sizes: &[usize]) -> matmech::Result<f64> {
    let matrix = residual_matrix_of(sizes)?;
    let covariance = matrix.dot(&matrix.t());
    let inverse = linalg::spd_inverse(covariance.view())?;
    Ok(matrix.t().dot(&inverse).dot(&matrix).diag().iter().copied().fold(0.0, f64::max))
}

/// Returns the matrix of the residual on all axes of a marginal.
pub(super) fn residual_matrix_of(sizes: &[usize]) -> matmech::Result<Array2<f64>> {
    let cells: usize = sizes.iter().product();
    let mut columns = Vec::new();
    for cell in 0..cells {
        let mut unit = vec![0.0; cells];
        unit[cell] = 1.0;
        columns.push(decomp(&unit, sizes, AxisSet::all(sizes.len()))?);
    }
    let rows = columns[0].len();
    Ok(Array2::from_shape_fn((rows, cells), |(i, j)| columns[j][i]))
}
