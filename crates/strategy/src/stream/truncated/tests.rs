//! Tests against dense algebra and finite differences.

use ndarray::Array2;

use super::*;
use approx::assert_abs_diff_eq;
use matmech_linalg as linalg;

fn coefficients(steps: usize, bands: usize, buffers: usize) -> Truncated {
    let wave = |phase: f64| {
        Array2::from_shape_fn((steps, buffers), |(t, j)| {
            0.3 + 0.1 * (phase + 1.3 * t as f64 + 2.1 * j as f64).sin()
        })
    };
    Truncated {
        rates: (0..buffers).map(|j| 0.1 + 0.4 * j as f64).collect(),
        input: wave(0.0),
        output: wave(1.0),
        diagonal: (0..steps).map(|t| 1.0 + 0.2 * (t as f64).cos()).collect(),
        scale: (0..steps).map(|t| 1.0 + 0.1 * (t as f64).sin()).collect(),
        bands,
    }
}

/// Oracle: the product with the strategy matrix.
#[test]
fn the_noise_matrix_is_the_inverse_of_the_banded_strategy() {
    for (steps, bands, buffers) in [(1, 1, 1), (7, 1, 2), (23, 5, 2), (30, 10, 3), (12, 12, 2)] {
        let form = coefficients(steps, bands, buffers);
        let strategy = form.strategy_matrix();
        for ((t, s), entry) in strategy.indexed_iter() {
            assert_eq!(*entry != 0.0, s <= t && t - s < bands, "{t} {s}");
        }
        let product = linalg::matmul(strategy.view(), form.noise_matrix().view());
        assert_abs_diff_eq!(product, Array2::eye(steps), epsilon = 1e-12);
    }
}
