//! Lengths of confidence intervals that are valid for the discrete noise itself.
//!
//! The error of an answer is S = Σ a_i N_i with independent discrete Gaussians N_i of deviations
//! σ_i ≥ σ₀, and s = √(Σ a_i²σ_i²) is its standard error. By the argument of
//! [`privacy::fine_noise`](crate::privacy::fine_noise), with the same F, κ and u,
//!
//! ```text
//! P(|S| ≥ t s) ≤ (2F/Φ(u)) Q((t − κu)/√(1 + κ²)),        Q the tail of the normal distribution
//! ```
//!
//! so intervals are longer than normal intervals by a share of only 10⁻⁴. On one side the factor 2
//! is omitted. For one discrete Gaussian of any σ, P(N ≥ t σ) ≤ exp(−t²/2) (Canonne, Kamath &
//! Steinke 2020, Prop. 25).

use std::f64::consts::SQRT_2;

use crate::privacy::RationalDeviation;
use crate::privacy::fine_noise::{REACH, SMOOTHING};

/// The miss probability of intervals.
const MISS_PROBABILITY: f64 = 0.05;

/// Half-lengths of confidence intervals, in standard errors.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// For one query: it misses with probability at most 0.05.
    pub single: f64,
    /// For all queries together, by a union bound.
    pub simultaneous: f64,
}

impl Reach {
    /// Returns the half-lengths for a number of queries.
    pub fn of(queries: f64) -> Self {
        // The last factor covers F/Φ(u) and the rounding errors of this computation.
        let reach = |missed: f64| length(missed, SMOOTHING, REACH) * (1.0 + 1e-9);
        Reach {
            single: reach(MISS_PROBABILITY),
            simultaneous: reach(MISS_PROBABILITY / queries.max(1.0)),
        }
    }
}

/// Returns t for which one discrete Gaussian is at least t σ with probability at most `missed`.
pub(super) fn one_sided(missed: f64, deviation: RationalDeviation) -> f64 {
    let of_any = (-2.0 * missed.ln()).sqrt();
    let reach = match deviation.is_fine() {
        true => length(2.0 * missed, SMOOTHING, REACH).min(of_any),
        false => of_any,
    };
    reach * (1.0 + 1e-9)
}

/// Returns the t for which the bound is `missed`, with F/Φ(u) = 1.
fn length(missed: f64, kappa: f64, u: f64) -> f64 {
    (1.0 + kappa * kappa).sqrt() * upper_point(0.5 * missed) + kappa * u
}

/// Returns Q(x).
fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// Returns the x with Q(x) = `missed`, for small probabilities.
fn upper_point(missed: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if tail(middle) > missed { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns P(N = z) for z = 0, 1, … of the discrete Gaussian.
    fn probabilities(sigma: f64) -> Vec<f64> {
        let reach = (12.0 * sigma).ceil() as i32 + 2;
        let weight = |z: i32| (-0.5 * (f64::from(z) / sigma).powi(2)).exp();
        let sum: f64 = (-reach..=reach).map(weight).sum();
        (0..=reach).map(|z| weight(z) / sum).collect()
    }

    /// Returns P(|a N + b M| > length) for N and M of the same σ, summed over exact probabilities.
    fn missed(sigma: f64, (a, b): (f64, f64), length: f64) -> f64 {
        let probabilities = probabilities(sigma);
        let all = |x: f64| -> Vec<(f64, f64)> {
            let positive = probabilities.iter().enumerate().map(|(z, p)| (x * z as f64, *p));
            positive.clone().chain(positive.skip(1).map(|(y, p)| (-y, p))).collect()
        };
        let second = if b == 0.0 { vec![(0.0, 1.0)] } else { all(b) };
        let of_first = |(x, p): (f64, f64)| {
            p * second.iter().filter(|(y, _)| (x + y).abs() > length).map(|(_, q)| q).sum::<f64>()
        };
        all(a).into_iter().map(of_first).sum()
    }

    /// One noisy integer of the smallest σ. Oracle: its exact probabilities.
    #[test]
    fn intervals_hold_for_one_noisy_integer() {
        let sigma = 65_536.0;
        for queries in [1.0, 20.0, 1e6] {
            let reach = Reach::of(queries);
            assert!(missed(sigma, (1.0, 0.0), reach.single * sigma) <= MISS_PROBABILITY);
            let share = missed(sigma, (1.0, 0.0), reach.simultaneous * sigma);
            assert!(
                share <= MISS_PROBABILITY / queries && share > 0.98 * MISS_PROBABILITY / queries,
                "{queries}: {share}"
            );
        }
    }

    /// Sums of two noisy integers whose coefficients leave no common grid, with coarse noise and
    /// the κ that it requires. Oracle: exact probabilities.
    #[test]
    fn intervals_hold_for_sums_of_noisy_integers() {
        for (sigma, kappa, u) in [(2.0, 0.9, 3.0), (7.0, 0.25, 4.0), (20.0, 0.1, 5.0)] {
            let h = sigma * kappa / f64::hypot(1.0, kappa);
            let factor = 1.0 + 2.1 * (-2.0 * (std::f64::consts::PI * h).powi(2)).exp();
            for (a, b) in [(1.0, 0.0), (1.0, 1.0), (1.0, -2.0), (1.0, 0.05), (0.7, 2f64.sqrt())] {
                for wanted in [0.05, 0.001] {
                    let allowed = wanted * (1.0 - tail(u)) / (factor * factor);
                    let reach = length(allowed, kappa, u) * sigma * f64::hypot(a, b);
                    assert!(missed(sigma, (a, b), reach) <= wanted, "{sigma} {a} {b}");
                }
            }
        }
    }

    /// One discrete Gaussian of any σ, on one side. Oracle: its exact probabilities.
    #[test]
    fn one_sided_bounds_hold_for_any_deviation() {
        for (numerator, denominator) in [(1, 4), (1, 2), (1, 1), (3, 2), (5, 1), (65_536, 1)] {
            let deviation = RationalDeviation::new(numerator, denominator).unwrap();
            let sigma = deviation.to_f64();
            let probabilities = probabilities(sigma);
            for wanted in [0.05, 0.025, 1e-4] {
                let length = one_sided(wanted, deviation) * sigma;
                let above = probabilities.iter().enumerate().filter(|(z, _)| *z as f64 > length);
                let missed: f64 = above.map(|(_, p)| p).sum();
                assert!(missed <= wanted, "{sigma}: {missed} of {wanted}");
                assert!(!deviation.is_fine() || missed > 0.98 * wanted, "{missed} of {wanted}");
            }
        }
        let fine = one_sided(MISS_PROBABILITY, RationalDeviation::new(1 << 20, 1).unwrap());
        assert!(fine > 1.644_85 && fine < 1.646_5, "{fine}");
    }

    /// Normal intervals are too short for coarse noise, and intervals of fine noise are almost
    /// normal.
    #[test]
    fn intervals_are_almost_normal() {
        let normal = upper_point(0.5 * MISS_PROBABILITY);
        approx::assert_relative_eq!(normal, 1.959_963_984_540_054, max_relative = 1e-12);
        assert!(missed(0.4, (1.0, 0.0), normal * 0.4) > MISS_PROBABILITY);
        assert!(missed(30.0, (1.0, 0.0), normal * 30.0) > MISS_PROBABILITY);
        let reach = Reach::of(1e6);
        assert!(reach.single > normal && reach.single < normal + 3e-4);
        approx::assert_relative_eq!(reach.simultaneous, 5.451_31 + 2.44e-4, epsilon = 2e-5);
    }
}
