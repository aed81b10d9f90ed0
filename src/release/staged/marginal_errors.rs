//! Bounds of the errors of weighted sums over a marginal, from two certified numbers.
//!
//! The cells of a published marginal have the errors e_c = x̂_c − x_c. Let
//!
//! ```text
//! L ≥ Σ_c |e_c|,        L₀ ≥ |Σ_c e_c|,        L₀ ≤ L
//! ```
//!
//! where Σ e_c is the error of the marginal's total, as the records of a marginal add up to the
//! number of records. A sum with weights from a to b, with m = (a + b)/2 and h = (b − a)/2, has
//! weights w_c = m + h s_c with |s_c| ≤ 1, so
//!
//! ```text
//! |Σ w_c e_c| = |m Σ e_c + h Σ s_c e_c| ≤ |m| L₀ + h L
//! ```
//!
//! - A count over some cells has weights 0 and 1: (L + L₀)/2. All cells together have L₀.
//! - The bound is at most max|w_c| · L, because max|w_c| = |m| + h and L₀ ≤ L.
//! - No smaller bound follows from L and L₀: for m ≥ 0 the errors (L + L₀)/2 in a cell of weight b and
//!   −(L − L₀)/2 in one of weight a attain it.
//!
//! L and L₀ hold together with a probability of at least 95 %. For m = 0, L₀ has no effect, and the
//! smaller L that holds alone with 95 % is used, as m depends on the query only. Bounds of several
//! sums that must hold together use one L ([`MarginalErrors::together`]).

use crate::workload::WeightRange;

/// Certified bounds of the errors of one published marginal, in records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginalErrors {
    /// The bound of the sum of all absolute errors.
    pub sum_alone: f64,
    /// L: the bound of the same sum that holds together with that of the total.
    pub sum: f64,
    /// L₀: the bound of the absolute error of the total.
    pub total: f64,
}

impl MarginalErrors {
    /// Returns the bound of the absolute error of a sum with these weights, in the unit of the
    /// answer. Its rounding errors are covered.
    pub fn of_weights(&self, weights: WeightRange) -> f64 {
        let (middle, half) = (weights.middle(), weights.half());
        if middle == 0.0 {
            return half * self.sum_alone;
        }
        let bound = middle.abs() * self.total + half * self.sum;
        // Halves are exact, and L covers the rounding error of one sum: counts keep their digits.
        let is_exact = |x: f64| [0.0, 0.5, 1.0].contains(&x);
        match is_exact(middle.abs()) && is_exact(half) {
            true => bound,
            false => bound * (1.0 + 8.0 * f64::EPSILON),
        }
    }

    /// Returns the bounds for several sums at once, or for several marginals whose L hold together.
    #[must_use]
    pub fn together(&self) -> Self {
        MarginalErrors { sum_alone: self.sum, ..*self }
    }

    /// Returns the bounds of computed sums, whose rounding errors are at most `rounding` times the
    /// largest absolute weight.
    #[must_use]
    pub fn with_rounding(&self, rounding: f64) -> Self {
        let more = |bound: f64| match rounding == 0.0 {
            true => bound,
            // |m| + h is the largest absolute weight.
            false => (bound + rounding) * (1.0 + 4.0 * f64::EPSILON),
        };
        MarginalErrors {
            sum_alone: more(self.sum_alone),
            sum: more(self.sum),
            total: more(self.total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic stream of numbers from −1 to 1.
    struct Stream(u64);

    impl Stream {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// Returns max Σ w_c e_c over all e with Σ|e_c| ≤ L and |Σ e_c| ≤ D.
    ///
    /// The maximum of a linear function is at a vertex of the polytope, and has the multipliers
    /// λ ≥ 0 of L and μ of the total with |w_c − μ| ≤ λ: by duality it is the minimum over μ of
    /// L·max|w_c − μ| + D·|μ|, a convex function that is linear between 0, the middles of pairs of
    /// weights, and the weights themselves.
    fn largest_by_duality(weights: &[f64], sum: f64, total: f64) -> f64 {
        let pairs = weights.iter().flat_map(|a| weights.iter().map(move |b| 0.5 * (a + b)));
        let at = |mu: f64| {
            let farthest = weights.iter().fold(0.0f64, |far, w| far.max((w - mu).abs()));
            sum * farthest + total * mu.abs()
        };
        pairs.chain([0.0]).map(at).fold(f64::INFINITY, f64::min)
    }

    /// Returns the same by enumeration of the vertices: errors in at most two cells.
    fn largest_by_enumeration(weights: &[f64], sum: f64, total: f64) -> f64 {
        let mut largest = 0.0f64;
        for a in weights {
            largest = largest.max(total * a.abs());
            for b in weights {
                for d in [total, -total] {
                    // e = p in one cell and −n in another, p + n = L and p − n = d.
                    let (p, n) = (0.5 * (sum + d), 0.5 * (sum - d));
                    largest = largest.max(p * a - n * b).max(n * b - p * a);
                }
            }
        }
        largest
    }

    /// For 3,000 random weights and bounds: random errors never exceed the bound, and the largest
    /// error, computed in two other ways, is the bound.
    #[test]
    fn bounds_are_the_largest_errors() {
        let mut stream = Stream(7);
        for case in 0..3_000 {
            let cells = 2 + case % 6;
            let mut weight = || match case % 4 {
                0 => f64::from(u8::from(stream.next() > 0.0)),
                1 => (3.0 * stream.next()).round(),
                2 => 1e4 + 1e3 * stream.next(),
                _ => stream.next(),
            };
            let weights: Vec<f64> = (0..cells).map(|_| weight()).collect();
            let sum = 10.0 * stream.next().abs();
            let total = sum * stream.next().abs().powi(2);
            let errors = MarginalErrors { sum_alone: sum, sum, total };
            let bound = errors.of_weights(WeightRange::of(weights.iter().copied()));
            let largest = largest_by_duality(&weights, sum, total);
            let slack = 1e-12 * (1.0 + bound);
            assert!((bound - largest).abs() <= slack, "{weights:?}: {bound} {largest}");
            let largest = largest_by_enumeration(&weights, sum, total);
            assert!((bound - largest).abs() <= slack, "{weights:?}: {bound} {largest}");
            let unsigned = weights.iter().fold(0.0f64, |far, w| far.max(w.abs()));
            assert!(bound <= unsigned * sum + slack, "{weights:?}: {bound}");
            for _ in 0..20 {
                let e: Vec<f64> = (0..cells).map(|_| stream.next()).collect();
                let scale = f64::min(
                    sum / e.iter().map(|x| x.abs()).sum::<f64>(),
                    total / e.iter().sum::<f64>().abs(),
                );
                let error: f64 = e.iter().zip(&weights).map(|(e, w)| scale * e * w).sum();
                assert!(error.abs() <= bound + slack, "{weights:?} {e:?}: {error} {bound}");
            }
        }
    }

    #[test]
    fn counts_have_half_of_both_bounds() {
        let errors = MarginalErrors { sum_alone: 9.0, sum: 10.0, total: 2.0 };
        let of = |low: f64, high: f64| errors.of_weights(WeightRange { low, high });
        approx::assert_relative_eq!(of(0.0, 1.0), 6.0, max_relative = 1e-14);
        assert_eq!(of(1.0, 1.0), 2.0);
        // A difference of two counts does not depend on the total.
        assert_eq!(of(-1.0, 1.0), 9.0);
        assert_eq!(of(0.0, 0.0), 0.0);
        let rounded = errors.with_rounding(0.5);
        for (low, high) in [(0.0, 1.0), (1.0, 1.0), (-1.0, 1.0), (-3.0, 2.0), (5.0, 7.0)] {
            let range = WeightRange { low, high };
            let more = rounded.of_weights(range) - errors.of_weights(range);
            let expected = 0.5 * f64::max(low.abs(), high.abs());
            approx::assert_relative_eq!(more, expected, max_relative = 1e-12);
        }
    }
}
