//! Normal outputs in the coordinates of the bins.

use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use super::bins::Bins;
use matmech_linalg::{self as linalg, matmul};

/// Samples drawn at once: few enough for the cache.
const BATCH: usize = 64;

/// A = M/σ², and half of its diagonal: the logarithm of the ratio of bin j is `y_j − A_jj/2`.
#[derive(Debug)]
pub(super) struct Scaled {
    /// A.
    pub gram: Array2<f64>,
    /// A_jj/2.
    pub half_diagonal: Array1<f64>,
}

impl Scaled {
    /// Computes A.
    pub fn new(bins: &Bins, sigma: f64) -> Self {
        let gram = bins.gram().mapv(|x| x / (sigma * sigma));
        let half_diagonal = gram.diag().mapv(|x| 0.5 * x);
        Scaled { gram, half_diagonal }
    }

    /// Returns b.
    pub fn count(&self) -> usize {
        self.gram.nrows()
    }
}

/// Draws `N(0, M)` for every sample, the same ones for the same seed, and calls `visit` with the
/// generator and the sample. O(samples · b²).
pub(super) fn for_each(
    bins: &Bins,
    samples: usize,
    seed: u64,
    mut visit: impl FnMut(&mut ChaCha12Rng, &mut [f64]),
) {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let count = bins.count();
    let mut output = vec![0.0; count];
    let mut left = samples;
    while left > 0 {
        let rows = left.min(BATCH);
        left -= rows;
        let normals = Array2::from_shape_simple_fn((rows, count), || random.sample(StandardNormal));
        for row in matmul(normals.view(), bins.factor().t()).rows() {
            output.iter_mut().zip(row).for_each(|(to, x)| *to = *x);
            visit(&mut random, &mut output);
        }
    }
}

/// Replaces v_j by `e^{v_j − max v}`, and returns the logarithm of the mean of the `e^{v_j}`.
pub(super) fn exponentials(v: &mut [f64]) -> f64 {
    let largest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    v.iter_mut().for_each(|v| *v -= largest);
    linalg::exponentials(v);
    largest + (v.iter().sum::<f64>() / v.len() as f64).ln()
}
