//! Normal outputs in the coordinates of the bins.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use super::bins::Bins;
use matmech_linalg::{self as linalg, matmul_by_lower_transposed};

/// Samples drawn at once: few enough for the cache, and many per copy of the factor.
const BATCH: usize = 256;

/// The stream of the generator for choices.
const CHOICES: u64 = 1;

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

/// Outputs `N(0, M)` of bins, the same ones for the same seed.
#[derive(Debug)]
pub(crate) struct Outputs<'a> {
    bins: &'a Bins,
    samples: usize,
    seed: u64,
    /// The outputs, one per row, if they are kept.
    kept: Option<Array2<f64>>,
}

impl<'a> Outputs<'a> {
    /// Creates outputs that are drawn at every visit. O(samples · b²) per visit.
    pub fn new(bins: &'a Bins, samples: usize, seed: u64) -> Self {
        Outputs { bins, samples, seed, kept: None }
    }

    /// Draws the outputs once and keeps them, samples · b numbers. O(samples · b) per visit.
    pub fn kept(bins: &'a Bins, samples: usize, seed: u64) -> Self {
        let mut all = Array2::zeros((samples, bins.count()));
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        for mut rows in all.axis_chunks_iter_mut(Axis(0), BATCH) {
            let outputs = drawn(bins, rows.nrows(), &mut random);
            rows.assign(&outputs);
        }
        Outputs { bins, samples, seed, kept: Some(all) }
    }

    /// Returns the bins.
    pub fn bins(&self) -> &'a Bins {
        self.bins
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Calls `visit` for every sample, with a generator for choices that the outputs do not depend on.
    pub fn for_each(&self, mut visit: impl FnMut(&mut ChaCha12Rng, &mut [f64])) {
        let mut random = ChaCha12Rng::seed_from_u64(self.seed);
        let mut choices = random.clone();
        choices.set_stream(CHOICES);
        let mut output = vec![0.0; self.bins.count()];
        let mut visit_all = |rows: ArrayView2<'_, f64>| {
            for row in rows.rows() {
                output.iter_mut().zip(row).for_each(|(to, x)| *to = *x);
                visit(&mut choices, &mut output);
            }
        };
        if let Some(all) = &self.kept {
            return visit_all(all.view());
        }
        for first in (0..self.samples).step_by(BATCH) {
            let rows = BATCH.min(self.samples - first);
            visit_all(drawn(self.bins, rows, &mut random).view());
        }
    }
}

/// Draws outputs, one per row.
fn drawn(bins: &Bins, rows: usize, random: &mut ChaCha12Rng) -> Array2<f64> {
    let normals =
        Array2::from_shape_simple_fn((rows, bins.count()), || random.sample(StandardNormal));
    matmul_by_lower_transposed(normals.view(), bins.factor())
}

/// Replaces v_j by `e^{v_j − max v}`, and returns the logarithm of the mean of the `e^{v_j}`.
pub(super) fn exponentials(v: &mut [f64]) -> f64 {
    let largest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    v.iter_mut().for_each(|v| *v -= largest);
    linalg::exponentials(v);
    largest + (v.iter().sum::<f64>() / v.len() as f64).ln()
}
