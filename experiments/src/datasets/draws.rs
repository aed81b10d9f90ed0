//! Random draws that are the same on every machine: integer arithmetic, and `libm` instead of the
//! functions of the platform.

use rand::Rng;
use rand_chacha::ChaCha20Rng;

/// 2⁻⁵³.
const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;

/// Returns a uniform number below `bound` (at most 2³²).
///
/// The relative error of a probability is below 2⁻³².
pub fn below(bound: usize, rng: &mut ChaCha20Rng) -> usize {
    ((u128::from(rng.next_u64()) * bound as u128) >> 64) as usize
}

/// Returns the first `kept` values of a random permutation of 0 … n − 1.
pub fn permutation(n: usize, kept: usize, rng: &mut ChaCha20Rng) -> Vec<u32> {
    let mut values: Vec<u32> = (0..n as u32).collect();
    for i in 0..kept.min(n.saturating_sub(1)) {
        values.swap(i, i + below(n - i, rng));
    }
    values.truncate(kept);
    values
}

/// Returns a uniform multiple of 2⁻⁵³ in [0, 1).
pub fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * UNIT
}

/// Returns a standard normal number, by the method of Box and Muller.
pub fn normal(rng: &mut ChaCha20Rng) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - uniform(rng))).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform(rng))
}

/// Returns the logarithm of a Gamma(shape, 1) number; the shape is positive.
///
/// Marsaglia and Tsang (2000) for shapes of at least 1. Below, ln G(shape + 1) + ln(U)/shape, which
/// does not underflow.
fn log_gamma_draw(shape: f64, rng: &mut ChaCha20Rng) -> f64 {
    if shape < 1.0 {
        return log_gamma_draw(shape + 1.0, rng) + libm::log(1.0 - uniform(rng)) / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v > 0.0 {
            let log_v = libm::log(v);
            if libm::log(1.0 - uniform(rng)) < 0.5 * x * x + d * (1.0 - v + log_v) {
                return libm::log(d) + log_v;
            }
        }
    }
}

/// Returns a Dirichlet vector: a distribution with mean `shapes`/Σ `shapes`.
///
/// The shapes are positive. The larger their sum, the smaller the variance.
pub fn dirichlet(shapes: &[f64], rng: &mut ChaCha20Rng) -> Vec<f64> {
    let logs: Vec<f64> = shapes.iter().map(|&shape| log_gamma_draw(shape, rng)).collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - largest)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Returns the distribution function at the values, from probabilities with a positive sum.
///
/// The sums are divided by their total, so that the last value with a positive probability and all
/// after it are exactly 1. [`inverted`] never draws a value of probability 0.
pub fn cumulative(probabilities: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let total: f64 = probabilities.iter().sum();
    probabilities.iter().scan(0.0, move |sum, probability| {
        *sum += probability;
        Some(*sum / total)
    })
}

/// Returns the value at a uniform number in [0, 1), by inversion of the distribution function.
pub fn inverted(cumulative: &[f64], uniform: f64) -> u32 {
    cumulative.partition_point(|&sum| sum <= uniform).min(cumulative.len() - 1) as u32
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const DRAWS: usize = 200_000;

    /// Compares the mean and the variance with exact ones, within 4.9 standard errors (two-sided
    /// probability 1e-6) of the mean, and of the variance with the exact fourth central moment.
    fn check(draw: impl FnMut(usize) -> f64, mean: f64, variance: f64, fourth: f64) {
        let values: Vec<f64> = (0..DRAWS).map(draw).collect();
        let n = DRAWS as f64;
        let found = values.iter().sum::<f64>() / n;
        let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        assert!((found - mean).abs() < 4.9 * (variance / n).sqrt(), "{found}, {mean}");
        let error = ((fourth - variance * variance) / n).sqrt();
        assert!((spread - variance).abs() < 4.9 * error, "{spread}, {variance}");
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        check(|_| uniform(&mut rng), 0.5, 1.0 / 12.0, 1.0 / 80.0);
        check(|_| normal(&mut rng), 0.0, 1.0, 3.0);
        // Gamma(k): mean k, variance k, fourth central moment 3k² + 6k.
        for shape in [0.3, 1.0, 4.5] {
            let fourth = 3.0 * shape * shape + 6.0 * shape;
            check(|_| log_gamma_draw(shape, &mut rng).exp(), shape, shape, fourth);
        }
    }

    /// A component of Dirichlet(a) is Beta(aᵢ, A − aᵢ) with A = Σ a: mean m = aᵢ/A and variance
    /// m(1 − m)/(A + 1). A fourth central moment is at most the variance, for values in [0, 1].
    #[test]
    fn dirichlet_vectors_have_their_mean_and_variance() {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let shapes = [0.2, 1.0, 2.8];
        let draws: Vec<Vec<f64>> = (0..DRAWS).map(|_| dirichlet(&shapes, &mut rng)).collect();
        for (i, shape) in shapes.iter().enumerate() {
            let mean = shape / 4.0;
            let variance = mean * (1.0 - mean) / 5.0;
            check(|k| draws[k][i], mean, variance, variance);
        }
        for draw in draws {
            assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // Shapes far below 1 do not underflow to 0/0.
        let tiny = dirichlet(&[1e-6; 3], &mut rng);
        assert!(tiny.iter().all(|p| p.is_finite()) && tiny.iter().sum::<f64>() > 0.99);
    }

    #[test]
    fn values_of_probability_zero_are_not_drawn() {
        let bounds: Vec<f64> = cumulative(&[0.0, 0.1, 0.2, 0.0, 0.7, 0.0]).collect();
        assert_eq!((bounds[0], bounds[4], bounds[5]), (0.0, 1.0, 1.0));
        let at = |u| inverted(&bounds, u);
        assert_eq!((at(0.0), at(0.05), at(0.25), at(0.5), at(1.0 - UNIT)), (1, 1, 2, 4, 4));
    }

    #[test]
    fn permutations_hold_every_value_once() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for n in [1, 2, 7] {
            let mut all = permutation(n, n, &mut rng);
            all.sort_unstable();
            assert_eq!(all, (0..n as u32).collect::<Vec<_>>());
            assert_eq!(permutation(n, n.min(3), &mut rng).len(), n.min(3));
        }
        // Each of the six permutations of three values has probability 1/6; it is missing in 200
        // draws with probability (5/6)^200 < 2e-16.
        let seen: std::collections::HashSet<Vec<u32>> =
            (0..200).map(|_| permutation(3, 3, &mut rng)).collect();
        assert_eq!(seen.len(), 6);
    }
}
