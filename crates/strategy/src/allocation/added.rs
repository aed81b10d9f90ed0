//! Bounds on δ of the direction that adds a record, `E_Q (L − e^ε)₊`, from tilted samples.

use super::bins::Bins;
use super::confidence::Moments;
use super::tilted::Tilted;

/// Returns the moments of the weights `w (L − e^ε)₊`, whose mean is δ.
pub(super) fn moments(
    bins: &Bins,
    (sigma, epsilon): (f64, f64),
    (samples, seed): (usize, u64),
) -> Moments {
    let tilted = Tilted::new(bins, sigma, epsilon);
    let mut moments = Moments::default();
    tilted.sample(samples, seed, |sample| {
        let above = sample.ln_ratio > epsilon;
        moments.add(match above {
            true => {
                (sample.ln_ratio + sample.ln_weight).exp() * -(epsilon - sample.ln_ratio).exp_m1()
            }
            false => 0.0,
        });
    });
    moments.largest = tilted.ln_largest_weight(epsilon).exp();
    moments
}
