//! How far confidence intervals reach, so that they hold for discrete noise of any size.
//!
//! The error of an answer is S = Σ a_i N_i with independent discrete Gaussians N_i of parameters σ_i. Below σ ≈ 1 their variance is
//! smaller than σ² and their tails are heavier, in standard errors, than the normal ones; so lengths are multiples of
//! s = √(Σ a_i² σ_i²), which is the standard error where every σ_i is at least 2.
//!
//! *Sub-Gaussian.* N_i is sub-Gaussian with variance proxy σ_i² (Canonne, Kamath & Steinke 2020), so P(|S| > t s) ≤ 2 exp(−t²/2).
//!
//! *Smoothed.* Let Y_i ~ N(0, κ²σ_i²) be independent of N_i, and Y = Σ a_i Y_i. By Poisson's summation formula the density of
//! N_i + Y_i is that of N(0, (1 + κ²)σ_i²) but for a factor of at most (1 + δ_i)/(1 − δ_i), δ_i = 2 Σ_k exp(−2π²k²h_i²),
//! h_i² = σ_i²κ²/(1 + κ²). With F the product of these factors and Q the normal tail, P(|S + Y| ≥ r s) ≤ 2F Q(r/√(1 + κ²)). And |S| ≥ t s
//! brings |S + Y| ≥ r s with probability Φ((t − r)/κ) at least, as Y falls to either side alike. So for every r and κ
//!
//! ```text
//! P(|S| ≥ t s) ≤ 2F Q(r/√(1 + κ²)) / Φ((t − r)/κ)
//! ```
//!
//! which needs κ of the order of 1/(smallest σ) only: t comes down to the normal 1.96 as the noise becomes fine.

use std::f64::consts::{PI, SQRT_2};

/// What an interval may miss.
const MISSED: f64 = 0.05;

/// Shares that F may add: the length is the least over these.
const SHARES: [f64; 6] = [1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6];

/// Values of (t − r)/κ that are tried.
const STEPS: u32 = 100;

/// How far intervals reach, in units of s = √(Σ a_i² σ_i²) for an answer with coefficients a_i of the noisy integers. From σ = 2 on, s is
/// the standard error.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// One query: misses with probability 0.05 at most.
    pub single: f64,
    /// All queries together: √(2 ln(2Q/0.05)) for Q queries, by the sub-Gaussian tail and a union bound.
    pub simultaneous: f64,
}

impl Reach {
    /// For so many queries from so many noisy integers, whose smallest σ is given.
    pub fn of(queries: f64, smallest: f64, integers: usize) -> Self {
        let single = smoothed(smallest, integers as f64).min(sub_gaussian(MISSED));
        let simultaneous = sub_gaussian(MISSED / queries.max(1.0));
        // What doubles lose in computing this is far less.
        Reach { single: single * (1.0 + 1e-9), simultaneous: simultaneous * (1.0 + 1e-9) }
    }
}

fn sub_gaussian(missed: f64) -> f64 {
    (2.0 * (2.0 / missed).ln()).sqrt()
}

/// The least t of the smoothed bound, over r and κ; infinite where no κ serves.
fn smoothed(smallest: f64, integers: f64) -> f64 {
    let mut least = f64::INFINITY;
    for share in SHARES {
        // (1 + δ)/(1 − δ) ≤ exp(2.1 δ) below δ = 0.1, and δ ≤ 2.1 exp(−2π²h²) where that is so small.
        let square = (2.1 * 2.1 * integers.max(1.0) / share).ln() / (2.0 * PI * PI);
        let ratio = square / (smallest * smallest - square);
        if !(ratio.is_finite() && ratio > 0.0) {
            continue;
        }
        let kappa = ratio.sqrt();
        for step in 0..=STEPS {
            let u = 6.0 * f64::from(step) / f64::from(STEPS);
            let z = upper_point(0.5 * MISSED * (1.0 - tail(u)) / share.exp());
            least = least.min((1.0 + ratio).sqrt() * z + kappa * u);
        }
    }
    least
}

/// Q(x).
fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// The x with Q(x) = `missed`, for small probabilities.
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
    use crate::privacy::RationalDeviation;

    /// P(N = z) for z = 0, 1, … of the discrete Gaussian.
    fn probabilities(sigma: f64) -> Vec<f64> {
        let reach = (12.0 * sigma).ceil() as i32 + 2;
        let weight = |z: i32| (-0.5 * (f64::from(z) / sigma).powi(2)).exp();
        let sum: f64 = (-reach..=reach).map(weight).sum();
        (0..=reach).map(|z| weight(z) / sum).collect()
    }

    /// P(|a N + b M| > length), N and M of the same σ, by summing exact probabilities.
    fn missed(sigma: f64, (a, b): (f64, f64), length: f64) -> f64 {
        let of = probabilities(sigma);
        let all = |x: f64| -> Vec<(f64, f64)> {
            let positive = of.iter().enumerate().map(|(z, p)| (x * z as f64, *p));
            positive.clone().chain(positive.skip(1).map(|(y, p)| (-y, p))).collect()
        };
        let second = if b == 0.0 { vec![(0.0, 1.0)] } else { all(b) };
        let of_first =
            |(x, p): (f64, f64)| p * second.iter().filter(|(y, _)| (x + y).abs() > length).map(|(_, q)| q).sum::<f64>();
        all(a).into_iter().map(of_first).sum()
    }

    fn standard_error(sigma: f64) -> f64 {
        RationalDeviation::rounded_up(sigma).unwrap().variance().sqrt()
    }

    fn grid() -> impl Iterator<Item = f64> {
        let fine = (20..=300).map(|k| f64::from(k) / 100.0);
        fine.chain([3.3, 4.1, 5.0, 6.7, 8.0, 10.0, 17.3, 30.0, 100.0, 301.5])
    }

    /// One noisy integer, by its exact probabilities: what is claimed for one query and for several holds at every σ.
    #[test]
    fn intervals_hold_for_one_noisy_integer_of_any_size() {
        for sigma in grid() {
            for queries in [1.0, 2.0, 20.0, 1e6] {
                let reach = Reach::of(queries, sigma, 1);
                assert!(missed(sigma, (1.0, 0.0), reach.single * sigma) <= MISSED, "{sigma}");
                let share = missed(sigma, (1.0, 0.0), reach.simultaneous * sigma);
                assert!(share <= MISSED / queries, "{sigma} {queries}: {share}");
            }
        }
    }

    /// Sums of two with other coefficients, whose values no longer lie on a grid.
    #[test]
    fn intervals_hold_for_sums_of_noisy_integers() {
        for sigma in grid().filter(|sigma| *sigma < 20.0).step_by(7) {
            for (a, b) in [(1.0, 1.0), (1.0, -2.0), (1.0, 0.05), (0.7, 2f64.sqrt())] {
                let proxy = sigma * f64::hypot(a, b);
                let reach = Reach::of(1.0, sigma, 2);
                assert!(missed(sigma, (a, b), reach.single * proxy) <= MISSED, "{sigma} {a} {b}");
                assert!(missed(sigma, (a, b), reach.simultaneous * proxy) <= MISSED, "{sigma} {a} {b}");
            }
        }
    }

    /// What was claimed before is false, by the same sums: 1.96 standard errors, or 1.96 σ, for one query, and the sub-Gaussian length
    /// in standard errors.
    #[test]
    fn multiples_of_the_standard_error_do_not_hold() {
        let normal = upper_point(0.5 * MISSED);
        approx::assert_relative_eq!(normal, 1.959_963_984_540_054, max_relative = 1e-12);
        let one = (1.0, 0.0);
        approx::assert_relative_eq!(missed(0.4, one, normal * standard_error(0.4)), 0.081, epsilon = 0.001);
        assert!(missed(0.4, one, normal * 0.4) > MISSED);
        let worst = grid().map(|sigma| missed(sigma, one, sub_gaussian(MISSED) * standard_error(sigma)));
        assert!(worst.fold(0.0, f64::max) > 0.08);
        // Fine noise makes 1.96 nearly right, and still not a bound.
        assert!(missed(30.0, one, normal * 30.0) > MISSED);
    }

    /// Nothing is given away where noise is fine, nor where there is much of it.
    #[test]
    fn intervals_come_down_to_the_normal_ones() {
        let single = |sigma, integers| Reach::of(1.0, sigma, integers).single;
        assert!(single(0.3, 1) > 2.716 && single(0.3, 1) < 2.717);
        assert!(single(100.0, 2_000_000) < 2.0, "{}", single(100.0, 2_000_000));
        assert!(single(1e4, 2_000_000) < 1.9605 && single(1e4, 1) > 1.9599);
        for pair in [1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e6].windows(2) {
            assert!(single(pair[0], 100) >= single(pair[1], 100));
            assert!(single(pair[0], 100) <= single(pair[0], 1000));
        }
    }
}
