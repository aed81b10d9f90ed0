//! Bounds on δ of the direction that removes a record, `E_Q (1 − e^ε L)₊`.
//!
//! By Jensen's inequality ln L ≥ ȳ − τ, for the mean ȳ of the y_j and τ = tr A/2b. ȳ is normal with
//! the variance Ā, the mean of the entries of A. So `E (1 − e^{ε − τ + ȳ})₊` bounds δ. Where that is too
//! large, outputs are drawn with mean −t times the mean of the s_j, t = (ε − τ)/Ā: the weights
//! `e^{tȳ + t²Ā/2} (1 − e^ε L)₊` are at most `e^{−(ε − τ)²/2Ā}`, since L ≤ e^{−ε} implies ȳ ≤ τ − ε.

use ndarray::{Array1, Axis};

use super::bins::Bins;
use super::confidence::Moments;
use super::outputs;
use matmech_privacy::sampled::normal_below;

/// The variance Ā and τ.
fn mean_output(bins: &Bins, sigma: f64) -> (f64, f64) {
    let square = sigma * sigma;
    let mean = |x: Option<f64>| x.unwrap_or(0.0) / square;
    (mean(bins.gram().mean()), 0.5 * mean(bins.gram().diag().mean()))
}

/// Returns the bound by Jensen's inequality.
pub(super) fn bound(bins: &Bins, (sigma, epsilon): (f64, f64)) -> f64 {
    let (variance, half_trace) = mean_output(bins, sigma);
    let root = variance.sqrt();
    let start = (half_trace - epsilon) / root;
    let factor = (epsilon - half_trace + 0.5 * variance).exp();
    (normal_below(start) - factor * normal_below(start - root)).max(0.0)
}

/// Returns the moments of the weights, whose mean is δ.
pub(super) fn moments(
    bins: &Bins,
    (sigma, epsilon): (f64, f64),
    (samples, seed): (usize, u64),
) -> Moments {
    let (variance, half_trace) = mean_output(bins, sigma);
    let gap = (epsilon - half_trace).max(0.0);
    let t = gap / variance;
    let square = sigma * sigma;
    let count = bins.count() as f64;
    let towards: Array1<f64> = bins.gram().sum_axis(Axis(1)) * (t / (count * square));
    let half_diagonal = bins.gram().diag().mapv(|x| 0.5 * x / square);
    let mut moments = Moments::default();
    outputs::for_each(bins, samples, seed, |_, v| {
        let mut sum = 0.0;
        for ((x, towards), half) in v.iter_mut().zip(&towards).zip(&half_diagonal) {
            *x = *x / sigma - towards;
            sum += *x;
            *x -= half;
        }
        let ln_ratio = outputs::exponentials(v);
        let ln_weight = t * sum / count + 0.5 * t * t * variance;
        moments.add(ln_weight.exp() * -(epsilon + ln_ratio).exp_m1().min(0.0));
    });
    moments.largest = (-0.5 * gap * gap / variance).exp();
    moments
}
