//! Normal outputs in the coordinates of the bins.

use ndarray::{Array2, ArrayViewMut1};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use super::bins::Bins;
use matmech_linalg::matmul;

/// Samples drawn at once.
const BATCH: usize = 512;

/// Draws `N(0, M)` for every sample, the same ones for the same seed, and calls `visit` with the
/// generator and the sample. O(samples · b²).
pub(super) fn for_each(
    bins: &Bins,
    samples: usize,
    seed: u64,
    mut visit: impl FnMut(&mut ChaCha12Rng, ArrayViewMut1<'_, f64>),
) {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let count = bins.count();
    let mut left = samples;
    while left > 0 {
        let rows = left.min(BATCH);
        left -= rows;
        let normals = Array2::from_shape_simple_fn((rows, count), || random.sample(StandardNormal));
        let mut outputs = matmul(normals.view(), bins.factor().t());
        for row in outputs.rows_mut() {
            visit(&mut random, row);
        }
    }
}

/// Replaces v_j by `e^{v_j − max v}`, and returns the logarithm of the mean of the `e^{v_j}`.
pub(super) fn exponentials(row: &mut ArrayViewMut1<'_, f64>) -> f64 {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.mapv_inplace(|v| (v - largest).exp());
    largest + (row.sum() / row.len() as f64).ln()
}
