//! Λ, the posterior probabilities of pairs of bins where the ratio is e^ε.

use ndarray::{Array2, Axis};

use crate::allocation::Bins;
use crate::allocation::mixture::Mixture;
use crate::allocation::outputs::Outputs;
use matmech_linalg::add_gram;

/// Standard deviation of the window of ln L.
const WIDTH: f64 = 0.25;

/// Samples outside this many standard deviations are left out.
const REACH: f64 = 4.0;

/// Rows that are added at once.
const BATCH: usize = 512;

/// The share of the bins over which entries at one distance are averaged.
const SMOOTH: f64 = 1.0 / 32.0;

/// Estimates `Λ_ij = E_P[π_i π_j | ln L = ε]` up to a factor, at noise σ, with a Gaussian window in
/// ln L. O(samples · b²).
pub(super) fn posterior(
    bins: &Bins,
    (sigma, epsilon): (f64, f64),
    (samples, seed): (usize, u64),
) -> Array2<f64> {
    let count = bins.count();
    let mut found = Array2::zeros((count, count));
    let mut batch = Array2::<f64>::zeros((BATCH, count));
    let mut filled = 0;
    let mixture = Mixture::new(bins, (sigma, epsilon), seed ^ 1);
    let distance = |ln_ratio: f64| (ln_ratio - epsilon) / WIDTH;
    let wanted = |ln_ratio: f64| distance(ln_ratio).abs() <= REACH;
    mixture.sample(&Outputs::new(bins, samples, seed), wanted, |sample| {
        // Under P.
        let ln = sample.ln_weight + sample.ln_ratio - 0.5 * distance(sample.ln_ratio).powi(2);
        let sum: f64 = sample.ratios.iter().sum();
        let factor = (0.5 * ln).exp() / sum;
        let mut row = batch.index_axis_mut(Axis(0), filled);
        row.iter_mut().zip(sample.ratios).for_each(|(to, ratio)| *to = factor * ratio);
        filled += 1;
        if filled == BATCH {
            add_gram(&mut found, batch.view());
            filled = 0;
        }
    });
    add_gram(&mut found, batch.slice_axis(Axis(0), (0..filled).into()));
    smoothed(&found)
}

/// Averages entries at one distance from the diagonal over near positions.
fn smoothed(matrix: &Array2<f64>) -> Array2<f64> {
    let count = matrix.nrows();
    let reach = (SMOOTH * count as f64) as usize;
    let mut out = Array2::zeros((count, count));
    for distance in 0..count {
        let length = count - distance;
        let entry = |i: usize| 0.5 * (matrix[[i, i + distance]] + matrix[[i + distance, i]]);
        let mut sums = vec![0.0; length + 1];
        for i in 0..length {
            sums[i + 1] = sums[i] + entry(i);
        }
        for i in 0..length {
            // The same reach to both sides, so that a linear change is kept.
            let near = reach.min(i).min(length - 1 - i);
            let mean = (sums[i + near + 1] - sums[i - near]) / (2 * near + 1) as f64;
            out[[i, i + distance]] = mean;
            out[[i + distance, i]] = mean;
        }
    }
    out
}
