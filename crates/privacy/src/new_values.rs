//! Values that are not public, shown if their noisy count is large enough.
//!
//! The values of a column are counted, a value with count c gets the noisy count s·c + Z with
//! discrete Gaussian noise Z, and values with a noisy count of at least T are shown. A person with K
//! records has at most K values that nobody else has. With probability at least 1 − δ′ none of
//! these is shown, and then the output is that of noisy counts of the other values, which are
//! known: ρ-zCDP.
//!
//! ```text
//! δ′ ≤ max(K P(s + Z ≥ T), P(sK + Z ≥ T)),      P(Z ≥ t) ≤ P(N(0, σ²) ≥ t − 1)
//! ```
//!
//! *Proof.* The values have counts c_1, …, c_m ≥ 1 with sum at most K. By the union bound δ′ ≤
//! Σ f(c_i), where f(c) is the tail of N(0, σ²) at T − 1 − sc, which bounds that of Z (Canonne,
//! Kamath & Steinke 2020, Prop. 25). For T − 1 ≥ sK the density increases towards smaller tails, so
//! f is convex and increasing on \[0, K\]. A convex sum is largest at an end: for m values at
//! (m − 1) f(1) + f(K − m + 1), and this is convex in m. ∎
//!
//! Such an answer is δ′-approximate ρ-zCDP. Both terms add up, also for adaptively chosen answers,
//! and together with the conversion of ρ to (ε, δ) the answers are (ε, δ + Σ δ′)-differentially
//! private (Bun & Steinke 2016, Sec. 8). This holds for [`fine_noise`](super::fine_noise) too: given
//! that no new value is shown, only noisy counts of known values are. (Both conditions are made to
//! have the probability 1 − δ′ by an independent event. With P and Q the outputs under them, P(A) ≤
//! (1 − δ′)(e^ε Q(A) + δ) + δ′.)

use super::error::PrivacyError;
use super::normal_tail::{ln_density, mills_ratio};
use super::rational_deviation::RationalDeviation;

/// An upper bound on the rounding error of a logarithm of a probability.
const MARGIN: f64 = 1e-10;

/// Noisy counts of values that are not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewValues {
    /// s: what one record adds to a count.
    pub scale: i128,
    /// σ of the noise.
    pub deviation: RationalDeviation,
    /// K: the maximum records of a person.
    pub rows: u32,
}

impl NewValues {
    /// Returns the logarithm of an upper bound on δ′ for a threshold.
    pub fn ln_probability_rounded_up(&self, threshold: i128) -> f64 {
        let sigma = self.deviation.to_f64();
        let ln_tail = |count: i128| {
            let distance = threshold.saturating_sub(1).saturating_sub(self.scale * count);
            let x = distance as f64 / sigma;
            // The bound holds from the mode on.
            if x < 0.0 { f64::INFINITY } else { ln_density(x) + mills_ratio(x).ln() + MARGIN }
        };
        let rows = i128::from(self.rows);
        ln_tail(rows).max((rows as f64).ln() + ln_tail(1)).min(0.0)
    }

    /// Returns the smallest threshold for a δ′.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless 0 < δ′ < 1/2; [`PrivacyError::NoSolution`] if the
    /// threshold would be beyond 120 bits.
    pub fn threshold(&self, delta: f64) -> Result<i128, PrivacyError> {
        let ln_target = super::parameters::budget_delta(delta)?.ln();
        let is_enough = |threshold| self.ln_probability_rounded_up(threshold) <= ln_target;
        let no_solution = || PrivacyError::NoSolution {
            quantity: "threshold of new values",
            given: format!("delta' = {delta:e}, a deviation of {}", self.deviation),
            remedy: "use a delta' below 0.5 and a larger rho",
        };
        if delta >= 0.5 {
            return Err(no_solution());
        }
        let (mut low, mut high) = (0, self.scale.max(1));
        while !is_enough(high) {
            low = high;
            high = high.checked_mul(2).filter(|high| *high < 1 << 120).ok_or_else(no_solution)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_enough(middle) { high = middle } else { low = middle }
        }
        Ok(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums of exact probabilities over all partitions of at most K records, for noise that
    /// is coarse enough to be summed.
    #[test]
    fn no_partition_exceeds_the_bound() {
        fn partitions(left: i128, largest: i128) -> Vec<Vec<i128>> {
            let mut all = vec![Vec::new()];
            for first in 1..=largest.min(left) {
                all.extend(partitions(left - first, first).into_iter().map(|mut rest| {
                    rest.push(first);
                    rest
                }));
            }
            all
        }
        for (scale, sigma, rows) in [(1, 4, 1), (2, 9, 3), (1, 30, 6), (7, 40, 5)] {
            let deviation = RationalDeviation::new(sigma, 1).unwrap();
            let values = NewValues { scale, deviation, rows };
            let weight = |z: i128| (-0.5 * (z as f64 / sigma as f64).powi(2)).exp();
            let all: f64 = (-2000..=2000).map(weight).sum();
            let shown = |at_least: i128| (at_least..=2000).map(weight).sum::<f64>() / all;
            for delta in [0.05, 1e-4, 1e-9] {
                let threshold = values.threshold(delta).unwrap();
                let largest = partitions(rows.into(), rows.into())
                    .iter()
                    .map(|counts| {
                        let none = |count: &i128| 1.0 - shown(threshold - scale * count);
                        1.0 - counts.iter().map(none).product::<f64>()
                    })
                    .fold(0.0, f64::max);
                assert!(largest <= delta, "{scale} {sigma} {rows} {delta}: {largest}");
                // Two steps lower would be too low: the bound is close.
                let one = shown(threshold - 2 - scale * i128::from(rows));
                let each = f64::from(rows) * shown(threshold - 2 - scale);
                assert!(one.max(each) > delta, "{scale} {sigma} {rows} {delta}");
            }
        }
    }

    #[test]
    fn thresholds_grow_with_rows_and_certainty() {
        let deviation = RationalDeviation::new(1 << 20, 1).unwrap();
        let of = |rows, delta| NewValues { scale: 1 << 16, deviation, rows }.threshold(delta);
        assert!(of(1, 1e-9).unwrap() > of(1, 1e-6).unwrap());
        assert!(of(5, 1e-9).unwrap() > of(1, 1e-9).unwrap());
        // 6 standard deviations and one record.
        let six = of(1, 9.865_876_450_376_98e-10).unwrap();
        assert!((six - (6 << 20) - (1 << 16)).abs() < 50, "{six}");
        for bad in [0.0, 0.5, 1.0, f64::NAN] {
            assert!(of(1, bad).is_err());
        }
        assert!(of(1, 1e-300).is_ok());
    }
}
