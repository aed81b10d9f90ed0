//! Zero-concentrated differential privacy.
//!
//! A mechanism is ρ-zCDP if its Rényi divergence of every order α > 1 between neighbouring data
//! sets is at most αρ (Bun & Steinke 2016). Gaussian noise of standard deviation σ on a query of L2
//! sensitivity Δ is Δ²/(2σ²)-zCDP. ρ adds up under composition, also adaptive. The privacy cost is
//! β = Σ Δᵢ²/σᵢ² = 2ρ.
//!
//! ρ is converted to (ε, δ) by the tightest conversion known for a Rényi guarantee (Canonne, Kamath
//! & Steinke 2020; S4, Prop. B.2):
//!
//! ```text
//! δ(ρ, ε) = min over α > 1 of exp((α − 1)(αρ − ε) + α ln(1 − 1/α)) / (α − 1)
//! ```
//!
//! The logarithm is convex in α. Its derivative (2α − 1)ρ − ε + ln(1 − 1/α) is increasing, and its
//! zero is found by bisection. Every α gives a valid δ, so inexact minimisation errs on the safe
//! side. With t = α − 1 and u = ln t nothing overflows or cancels: ln δ = t((1 + t)ρ − ε − ln(1 +
//! 1/t)) − ln(1 + t).
//!
//! ρ, β, ε and δ are dimensionless. δ costs about 100 evaluations, its inverses about 60 times as
//! much (under a millisecond).

use std::fmt;

use super::bisection::{bisected, largest_feasible, smallest_feasible};
use super::error::PrivacyError;
use super::parameters::{budget_delta, budget_epsilon, curve_epsilon, ordinary};
use super::privacy_cost::PrivacyCost;
use crate::decimal::Decimal;

/// ρ of ρ-zero-concentrated differential privacy: a budget, or the cost of an access.
///
/// A number from 1e-300 to 1e300. It stands for its shortest decimal, as it is typed and printed:
/// three releases of 0.1 cost 0.3. A budget may be rounded down and an amount spent rounded up; the
/// name of every conversion says which.
///
/// ```
/// use matmech_privacy::Rho;
/// let rho = Rho::of_approximate_rounded_down(1.0, 1e-9)?;
/// assert!((rho.delta(1.0)? / 1e-9 - 1.0).abs() < 1e-9);
/// assert!((rho.epsilon_rounded_up(1e-9)? - 1.0).abs() < 1e-9);
/// assert_eq!(rho.privacy_cost().get(), 2.0 * rho.get());
/// # Ok::<(), matmech_privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, serde::Serialize)]
#[serde(transparent)]
pub struct Rho(f64);

impl Rho {
    /// Returns a ρ.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless it is a number from 1e-300 to 1e300.
    pub fn new(rho: f64) -> Result<Self, PrivacyError> {
        let remedy = "give rho as a positive number, e.g. 0.5, or derive it from epsilon and delta";
        ordinary("zCDP parameter rho", rho, remedy).map(Rho)
    }

    /// Returns the largest ρ for which every ρ-zCDP mechanism is (ε, δ)-DP, rounded down.
    ///
    /// By bisection that keeps the feasible side of the curve as [`Rho::ln_delta`] computes it, to
    /// its accuracy.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless ε > 0 is finite and 0 < δ < 1;
    /// [`PrivacyError::NoSolution`] if ρ is out of range.
    pub fn of_approximate_rounded_down(epsilon: f64, delta: f64) -> Result<Self, PrivacyError> {
        let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
        let ln_target = delta.ln();
        let largest = largest_feasible(|rho| ln_curve(rho, epsilon) <= ln_target);
        largest.and_then(|rho| Self::new(rho).ok()).ok_or_else(|| PrivacyError::NoSolution {
            quantity: "zCDP parameter rho",
            given: format!("epsilon = {epsilon:e}, delta = {delta:e}"),
            remedy: "use less extreme values of epsilon and delta",
        })
    }

    /// Returns ρ = Δ²/(2σ²) of N(0, σ²) noise on a query of L2 sensitivity Δ, rounded up.
    ///
    /// Bun & Steinke 2016, Prop. 1.6.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless Δ and σ are finite and positive and ρ is in range.
    pub fn of_gaussian_rounded_up(l2_sensitivity: f64, sigma: f64) -> Result<Self, PrivacyError> {
        Ok(PrivacyCost::of_gaussian_rounded_up(l2_sensitivity, sigma)?.rho())
    }

    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the decimal number for which it stands: 0.1 is one tenth.
    pub fn decimal(self) -> Decimal {
        // A `Rho` is finite.
        Decimal::shortest(self.0).unwrap_or_else(|| 0i64.into())
    }

    /// Returns β = 2ρ, exactly.
    pub fn privacy_cost(self) -> PrivacyCost {
        PrivacyCost::of_ordinary(2.0 * self.0)
    }

    /// Returns ln δ(ρ, ε), finite also where δ itself underflows, and at most 0 (no guarantee).
    ///
    /// The relative error is about 1e-13, in either direction.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless ε >= 0 is finite.
    pub fn ln_delta(self, epsilon: f64) -> Result<f64, PrivacyError> {
        Ok(ln_curve(self.0, curve_epsilon(epsilon)?))
    }

    /// Returns δ(ρ, ε), for which every ρ-zCDP mechanism is (ε, δ)-DP, to the accuracy of
    /// [`Rho::ln_delta`].
    ///
    /// An upper bound on the δ of a Gaussian mechanism of this ρ, which is
    /// [`gaussian_dp::delta`](super::gaussian_dp::delta) at μ = √(2ρ).
    ///
    /// # Errors
    /// As [`Rho::ln_delta`].
    pub fn delta(self, epsilon: f64) -> Result<f64, PrivacyError> {
        Ok(self.ln_delta(epsilon)?.exp())
    }

    /// Returns the smallest ε for which ρ-zCDP implies (ε, δ)-DP, rounded up; 0 if δ(ρ, 0) <= δ.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless 0 < δ < 1; [`PrivacyError::NoSolution`] if ε would
    /// exceed the range of `f64`.
    pub fn epsilon_rounded_up(self, delta: f64) -> Result<f64, PrivacyError> {
        let ln_target = budget_delta(delta)?.ln();
        if ln_curve(self.0, 0.0) <= ln_target {
            return Ok(0.0);
        }
        let smallest = smallest_feasible(|epsilon| ln_curve(self.0, epsilon) <= ln_target);
        smallest.ok_or_else(|| PrivacyError::NoSolution {
            quantity: "epsilon",
            given: format!("rho = {self:e}, delta = {delta:e}"),
            remedy: "use less extreme values of rho and delta",
        })
    }

    /// Returns ε = ρ + 2√(ρ ln(1/δ)), an upper bound on [`Rho::epsilon_rounded_up`].
    ///
    /// The simple conversion (Bun & Steinke 2016, Prop. 1.3), not rounded: it exceeds the tight one
    /// by far more than its rounding error.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless 0 < δ < 1.
    pub fn epsilon_upper_bound(self, delta: f64) -> Result<f64, PrivacyError> {
        Ok(self.0 + 2.0 * (self.0 * -budget_delta(delta)?.ln()).sqrt())
    }
}

impl PrivacyCost {
    /// Returns ρ = β/2, exactly, since β is never subnormal.
    pub fn rho(self) -> Rho {
        Rho(0.5 * self.get())
    }
}

impl fmt::Display for Rho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::LowerExp for Rho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns ln δ(ρ, ε) for validated arguments, by bisection of the derivative in u = ln(α − 1).
pub(super) fn ln_curve(rho: f64, epsilon: f64) -> f64 {
    // ln(1 + 1/t) for t = e^u, also where t underflows.
    let ln_one_plus_inverse =
        |u: f64| if u < 0.0 { u.exp().ln_1p() - u } else { (-u).exp().ln_1p() };
    let derivative = |u: f64| (2.0 * u.exp() + 1.0) * rho - epsilon - ln_one_plus_inverse(u);
    // At the lower end ln(1 + 1/t) > 3ρ >= (2t + 1)ρ. At the upper end t >= 1, so (2t + 1)ρ > ε + 1
    // > ε + ln(1 + 1/t).
    let low = -3.0 * rho - 1.0;
    let high = ((epsilon + 1.0) / (2.0 * rho)).max(1.0).ln();
    let (_, u) = bisected(low, high, |u| derivative(u) < 0.0);
    let t = u.exp();
    let ln_delta = t * ((1.0 + t) * rho - epsilon - ln_one_plus_inverse(u)) - t.ln_1p();
    ln_delta.min(0.0)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::super::gaussian_dp;
    use super::*;

    #[test]
    fn rho_at_delta_1e_9_matches_the_table_to_all_digits() {
        // (epsilon, digits after the leading one, printed value). 60-digit arithmetic gives
        // 1.0907857044 at epsilon = 10, where delta(1.0907858, 10) = 1.0000021e-9 would already
        // overspend.
        let table = [
            (0.1, 6, "1.771384e-4"),
            (0.31, 6, "1.573173e-3"),
            (1.0, 9, "1.497305767e-2"),
            (3.16, 6, "1.329154e-1"),
            (10.0, 7, "1.0907857e0"),
            (31.6, 6, "7.589064e0"),
            (100.0, 6, "4.238021e1"),
            (1000.0, 6, "7.530343e2"),
        ];
        for (epsilon, digits, printed) in table {
            let rho = Rho::of_approximate_rounded_down(epsilon, 1e-9).unwrap();
            assert_eq!(format!("{rho:.digits$e}"), printed, "epsilon = {epsilon}");
            assert!(rho.delta(epsilon).unwrap() <= 1e-9 * (1.0 + 1e-13));
        }
    }

    #[test]
    fn rho_matches_multiprecision_values() {
        let expected = [
            (0.1, 1e-9, 1.771_384_471_850_209e-4),
            (1.0, 1e-9, 0.014_973_057_673_588_53),
            (10.0, 1e-9, 1.090_785_704_397_016),
            (1000.0, 1e-9, 753.034_261_521_948_5),
            (1.0, 1e-300, 3.660_025_514_389_207e-4),
            (100.0, 1e-300, 3.395_645_972_068_166),
            (1e-3, 1e-9, 2.547_197_698_213_542e-8),
            (1.0, 0.5, 1.016_364_342_037_875),
        ];
        for (epsilon, delta, rho) in expected {
            let found = Rho::of_approximate_rounded_down(epsilon, delta).unwrap();
            assert_relative_eq!(found.get(), rho, max_relative = 1e-12);
        }
    }

    #[test]
    fn bisection_finds_the_minimum_over_all_orders() {
        // Oracle: the objective as printed, on a fine grid of α.
        for (rho, epsilon) in [(0.015, 1.0), (0.5, 3.0), (2.0, 1.0), (10.0, 40.0), (1e-3, 0.2)] {
            let grid = (0..400_000)
                .map(|i| 1.0 + (-10.0 + f64::from(i) * 5e-5_f64).exp())
                .map(|a: f64| {
                    ((a - 1.0) * (a * rho - epsilon) + a * (1.0 - 1.0 / a).ln()).exp() / (a - 1.0)
                })
                .fold(f64::INFINITY, f64::min);
            let ours = Rho::new(rho).unwrap().delta(epsilon).unwrap();
            assert_relative_eq!(ours, grid, max_relative = 1e-6);
            assert!(ours <= grid * (1.0 + 1e-12));
        }
    }

    #[test]
    fn gaussian_rho_is_half_the_privacy_cost() {
        assert_relative_eq!(Rho::of_gaussian_rounded_up(3.0, 2.0).unwrap().get(), 1.125);
        assert_relative_eq!(Rho::new(1.125).unwrap().privacy_cost().get(), 2.25);
        assert_relative_eq!(PrivacyCost::new(2.25).unwrap().rho().get(), 1.125);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Rho::new(bad).unwrap_err().to_string().contains("rho"));
            assert!(Rho::of_gaussian_rounded_up(bad, 1.0).is_err());
            assert!(Rho::of_gaussian_rounded_up(1.0, bad).is_err());
            assert!(Rho::of_approximate_rounded_down(bad, 1e-9).is_err());
        }
        let rho = Rho::new(1.0).unwrap();
        assert!(Rho::of_approximate_rounded_down(1.0, 0.0).is_err());
        assert!(rho.epsilon_rounded_up(1.0).is_err() && rho.epsilon_upper_bound(0.0).is_err());
        assert!(rho.delta(-1.0).is_err());
    }

    proptest! {
        #[test]
        fn round_trip_keeps_the_feasible_side(
            ln_epsilon in -6.0..7.0_f64,
            log10_delta in -300.0..-0.1_f64,
        ) {
            let (target, delta) = (ln_epsilon.exp(), 10_f64.powf(log10_delta));
            let rho = Rho::of_approximate_rounded_down(target, delta).unwrap();
            prop_assert!(rho.ln_delta(target).unwrap() <= delta.ln());
            let more = Rho::new(rho.get() * (1.0 + 1e-9)).unwrap();
            prop_assert!(more.ln_delta(target).unwrap() > delta.ln());
            let back = rho.epsilon_rounded_up(delta).unwrap();
            prop_assert!(rho.ln_delta(back).unwrap() <= delta.ln());
            prop_assert!((back - target).abs() <= target * 1e-9, "{back} for {target}");
        }

        #[test]
        fn conversion_never_promises_more_than_gaussian_noise_gives(
            ln_rho in -9.0..7.0_f64,
            ln_epsilon in -6.0..7.0_f64,
        ) {
            let (rho, epsilon) = (ln_rho.exp(), ln_epsilon.exp());
            let exact = gaussian_dp::ln_delta((2.0 * rho).sqrt(), epsilon).unwrap();
            let converted = Rho::new(rho).unwrap().ln_delta(epsilon).unwrap();
            prop_assert!(converted >= exact - 1e-12 * exact.abs(), "{converted} < {exact}");
        }

        #[test]
        fn simple_bound_is_an_upper_bound(
            ln_rho in -9.0..7.0_f64,
            log10_delta in -300.0..-0.1_f64,
        ) {
            let (rho, delta) = (Rho::new(ln_rho.exp()).unwrap(), 10_f64.powf(log10_delta));
            let tight = rho.epsilon_rounded_up(delta).unwrap();
            prop_assert!(tight <= rho.epsilon_upper_bound(delta).unwrap());
        }

        #[test]
        fn delta_decreases_in_epsilon_and_grows_in_rho(
            ln_rho in -9.0..6.0_f64,
            ln_epsilon in -6.0..6.0_f64,
            factor in 1.01..5.0_f64,
        ) {
            let (rho, epsilon) = (Rho::new(ln_rho.exp()).unwrap(), ln_epsilon.exp());
            let here = rho.ln_delta(epsilon).unwrap();
            prop_assert!(rho.ln_delta(epsilon * factor).unwrap() <= here);
            prop_assert!(Rho::new(rho.get() * factor).unwrap().ln_delta(epsilon).unwrap() >= here);
        }
    }
}
