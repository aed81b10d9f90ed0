//! Bounds on δ of the direction that adds a record, `E_Q (L − e^ε)₊`, from tilted samples.

use super::bins::Bins;
use super::confidence::Moments;
use super::tilted::Tilted;

/// Powers that are tried.
const POWERS: [usize; 14] = [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 38, 50];

/// Returns the moments of the weights `w (L − e^ε)₊`, whose mean is δ.
pub(super) fn moments(
    bins: &Bins,
    (sigma, epsilon): (f64, f64),
    power: usize,
    (samples, seed): (usize, u64),
) -> Moments {
    let tilted = Tilted::new(bins, sigma, power);
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
    // (L − e^ε) L^{−k} is largest at L = e^ε k/(k − 1).
    let k = power as f64;
    let of_ratio = match power {
        1 => 0.0,
        _ => (1.0 - k) * (epsilon + (k / (k - 1.0)).ln()) - k.ln(),
    };
    moments.largest = (of_ratio + tilted.ln_largest_factor()).exp();
    moments
}

/// Returns the power whose confidence bound of a number of samples is nearest to the mean, relative
/// to it.
pub(super) fn power(
    bins: &Bins,
    at: (f64, f64),
    drawn: (usize, u64),
    (samples, failure_probability): (usize, f64),
) -> usize {
    let relative = |power: usize| {
        let found = moments(bins, at, power, drawn);
        match found.mean() > 0.0 {
            true => found.upper(samples, failure_probability) / found.mean(),
            false => f64::INFINITY,
        }
    };
    let (mut best, mut least, mut worse) = (1, relative(1), 0);
    for power in POWERS.into_iter().skip(1) {
        let found = relative(power);
        if found < least {
            (best, least, worse) = (power, found, 0);
        } else if least.is_finite() {
            worse += 1;
            if worse == 2 {
                break;
            }
        }
    }
    best
}
