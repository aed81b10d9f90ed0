//! Gaussian differential privacy: the exact privacy curve of Gaussian noise.
//!
//! A mechanism is μ-GDP if distinguishing two neighbouring data sets by its output is no easier
//! than distinguishing N(0, 1) from N(μ, 1) (Dong, Roth & Su 2022). Gaussian noise of standard
//! deviation σ on a query of L2 sensitivity Δ is exactly μ-GDP with μ = Δ/σ. Measurements compose
//! by μ² = Σ μᵢ², also adaptively. So the privacy cost of this crate, β = Σ Δᵢ²/σᵢ², is μ².
//!
//! Its (ε, δ) curve (Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13) is
//!
//! ```text
//! δ(μ, ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
//! ```
//!
//! With a = ε/μ − μ/2 and b = a + μ, e^ε φ(b) = φ(a), so δ = φ(a)·(m(a) − m(b)) for the Mills ratio
//! m = (1 − Φ)/φ. This form does not overflow (ε = 10⁴), and its logarithm does not underflow (δ =
//! 10⁻³⁰⁰ and far below).
//!
//! All quantities are dimensionless. Every function is O(1); conversions by bisection take about
//! 100 evaluations (some tens of microseconds).

use super::bisection::{largest_feasible, smallest_feasible};
use super::error::PrivacyError;
use super::normal_tail::{ln_density, mills_ratio, mills_ratio_drop};
use super::parameters::{
    budget_delta, budget_epsilon, curve_epsilon, noise_scale, positive, sensitivity,
};

fn valid_mu(mu: f64) -> Result<f64, PrivacyError> {
    positive("Gaussian-DP parameter mu", mu, "mu is sensitivity / sigma of the noise, e.g. 0.5")
}

/// Returns μ = Δ/σ of Gaussian noise of standard deviation `sigma` on a query of L2 sensitivity
/// `l2_sensitivity`.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless both are finite and positive.
pub fn mu_of_gaussian(l2_sensitivity: f64, sigma: f64) -> Result<f64, PrivacyError> {
    Ok(sensitivity(l2_sensitivity)? / noise_scale(sigma)?)
}

/// Returns μ = √(Σ μᵢ²) of several, possibly adaptive Gaussian-DP mechanisms on the same data.
///
/// Dong, Roth & Su 2022, Corollary 3.3. An empty composition gives 0: nothing was released.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] if some μᵢ is not finite and positive.
pub fn compose(mus: &[f64]) -> Result<f64, PrivacyError> {
    mus.iter().try_fold(0.0_f64, |total, &mu| Ok(total.hypot(valid_mu(mu)?)))
}

/// Returns ln δ(μ, ε), finite also where δ itself underflows.
///
/// The relative error of δ is some 1e-15 times (1 + a²), a = ε/μ − μ/2; the factor is the condition
/// number of the problem.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless μ > 0 and ε >= 0, both finite.
pub fn ln_delta(mu: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    Ok(ln_curve(valid_mu(mu)?, curve_epsilon(epsilon)?))
}

/// Returns δ(μ, ε), the smallest δ for which every μ-GDP mechanism is (ε, δ)-DP; 0 if it
/// underflows.
///
/// # Errors
/// As [`ln_delta`].
pub fn delta(mu: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    Ok(ln_delta(mu, epsilon)?.exp())
}

/// Returns an upper bound on δ(μ, ε) that is larger by its rounding error only.
///
/// The bound has the error of [`ln_delta`] with a factor of 8, and is never 0.
///
/// # Errors
/// As [`ln_delta`].
pub fn delta_rounded_up(mu: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    let ln_delta = ln_delta(mu, epsilon)?;
    let a = epsilon / mu - 0.5 * mu;
    let error = 8e-15 * (1.0 + a * a);
    Ok((ln_delta + error).exp().next_up().min(1.0))
}

/// Returns the largest μ whose Gaussian mechanisms are (ε, δ)-DP, rounded down.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless ε > 0 is finite and 0 < δ < 1;
/// [`PrivacyError::NoSolution`] if μ would exceed the range of `f64`.
pub fn mu_of_approximate_rounded_down(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
    let ln_target = delta.ln();
    largest_feasible(|mu| ln_curve(mu, epsilon) <= ln_target).ok_or_else(|| {
        PrivacyError::NoSolution {
            quantity: "Gaussian-DP parameter mu",
            given: format!("epsilon = {epsilon:e}, delta = {delta:e}"),
            remedy: "use less extreme values of epsilon and delta",
        }
    })
}

/// Returns the smallest ε for which μ-GDP implies (ε, δ)-DP, rounded up; 0 if δ(μ, 0) <= δ.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless μ > 0 is finite and 0 < δ < 1;
/// [`PrivacyError::NoSolution`] if ε would exceed the range of `f64`.
pub fn epsilon_rounded_up(mu: f64, delta: f64) -> Result<f64, PrivacyError> {
    let (mu, delta) = (valid_mu(mu)?, budget_delta(delta)?);
    let ln_target = delta.ln();
    if ln_curve(mu, 0.0) <= ln_target {
        return Ok(0.0);
    }
    smallest_feasible(|epsilon| ln_curve(mu, epsilon) <= ln_target).ok_or_else(|| {
        PrivacyError::NoSolution {
            quantity: "epsilon",
            given: format!("mu = {mu:e}, delta = {delta:e}"),
            remedy: "use less extreme values of mu and delta",
        }
    })
}

/// Returns ln δ(μ, ε) for validated arguments.
pub(super) fn ln_curve(mu: f64, epsilon: f64) -> f64 {
    let a = epsilon / mu - 0.5 * mu;
    if a <= -1.0 {
        // δ is close to 1, so 1 − δ = φ(a)·(m(−a) + m(b)) is computed to full relative precision.
        let complement = ln_density(a).exp() * (mills_ratio(-a) + mills_ratio(a + mu));
        (-complement).ln_1p()
    } else {
        ln_density(a) + mills_ratio_drop(a, mu).ln()
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;

    /// Returns δ as the expected excess of the privacy loss over ε, by Simpson's rule.
    ///
    /// The loss of N(μ, 1) against N(0, 1) is N(μ²/2, μ²), so δ = ∫ over z > a of (1 − e^(−μ(z−a)))
    /// φ(z) dz with a = (ε − μ²/2)/μ. Independent of the Mills-ratio formula.
    fn delta_by_integration(mu: f64, epsilon: f64) -> f64 {
        let a = (epsilon - 0.5 * mu * mu) / mu;
        let (start, panels) = (a.max(-12.0), 200_000_u32);
        let width = 24.0 / f64::from(panels);
        let integrand = |z: f64| {
            -(-mu * (z - a)).exp_m1() * (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
        };
        let sum: f64 = (0..=panels)
            .map(|i| {
                let weight = match i {
                    0 => 1.0,
                    i if i == panels => 1.0,
                    i if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * integrand(start + f64::from(i) * width)
            })
            .sum();
        sum * width / 3.0
    }

    #[test]
    fn curve_matches_integration_of_the_privacy_loss_density() {
        for mu in [1e-3, 0.05, 0.268_051_123_211_294_2, 0.5, 1.0, 2.3, 6.0] {
            for epsilon in [0.0, 1e-3, 0.1, 1.0, 3.0, 10.0] {
                let integrated = delta_by_integration(mu, epsilon);
                if integrated > 1e-290 {
                    assert_relative_eq!(
                        delta(mu, epsilon).unwrap(),
                        integrated,
                        max_relative = 1e-9
                    );
                }
            }
        }
        // The published calibration: sigma = 3.730631634816464 at epsilon = 1, delta = 1e-5.
        assert_relative_eq!(
            delta_by_integration(1.0 / 3.730_631_634_816_464, 1.0),
            1e-5,
            max_relative = 1e-9
        );
    }

    #[test]
    fn curve_matches_multiprecision_values() {
        // ln δ(μ, ε), computed with 3000-digit arithmetic.
        let expected = [
            (1.0, 100.0, -4_960.254_553_817_421),
            (1e-3, 1e-6, -7.827_946_953_470_733),
            (0.3, 0.01, -2.163_906_005_397_169),
            (0.49, 3.0, -22.600_675_925_606_27),
            (0.51, 3.0, -21.047_427_132_737_31),
            (2.0, 0.1, -0.405_505_835_644_250_25),
            (4.0, 0.5, -0.059_839_014_006_293_93),
            (20.0, 30.0, -1.652_808_921_264_718e-17),
            (0.01, 1.0, -5_014.234_761_483_74),
            (1.0, 1e4, -49_995_019.464_619_33),
            (0.5, 0.0, -1.622_459_064_037_205),
        ];
        for (mu, epsilon, ln_value) in expected {
            assert_relative_eq!(ln_delta(mu, epsilon).unwrap(), ln_value, max_relative = 1e-14);
        }
        assert_eq!(delta(1.0, 100.0).unwrap(), 0.0);
        assert_eq!(delta(50.0, 1.0).unwrap(), 1.0);
    }

    /// Oracle: ln δ with 3000-digit arithmetic, as in the test above.
    #[test]
    fn rounded_up_delta_is_above_and_near() {
        let multiprecision = [
            (1e-3, 1e-6, -7.827_946_953_470_733_f64),
            (0.3, 0.01, -2.163_906_005_397_169),
            (0.49, 3.0, -22.600_675_925_606_27),
            (2.0, 0.1, -0.405_505_835_644_250_25),
            (0.5, 0.0, -1.622_459_064_037_205),
        ];
        for (mu, epsilon, ln_value) in multiprecision {
            let upper = delta_rounded_up(mu, epsilon).unwrap();
            assert!(upper >= ln_value.exp() && upper <= ln_value.exp() * (1.0 + 1e-12), "{upper}");
        }
        assert!(delta_rounded_up(0.01, 1.0).unwrap() > 0.0, "δ = e⁻⁵⁰¹⁴ underflows");
        assert_eq!(delta_rounded_up(50.0, 1.0).unwrap(), 1.0);
        assert!(delta_rounded_up(f64::NAN, 1.0).is_err());
    }

    #[test]
    fn composition_conversions_and_invalid_parameters() {
        assert_relative_eq!(compose(&[3.0, 4.0]).unwrap(), 5.0);
        assert_eq!(compose(&[]).unwrap(), 0.0);
        assert_relative_eq!(mu_of_gaussian(2.0, 4.0).unwrap(), 0.5);
        assert_eq!(epsilon_rounded_up(1e-3, 0.1).unwrap(), 0.0);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(compose(&[1.0, bad]).unwrap_err().to_string().contains("mu"));
            assert!(delta(bad, 1.0).is_err());
            assert!(epsilon_rounded_up(bad, 0.1).is_err());
            assert!(
                mu_of_gaussian(1.0, bad).unwrap_err().to_string().contains("standard deviation")
            );
            assert!(mu_of_approximate_rounded_down(bad, 0.1).is_err());
        }
        assert!(delta(1.0, -1e-9).unwrap_err().to_string().contains("at least 0"));
        assert!(mu_of_approximate_rounded_down(1.0, 1.0).is_err());
        assert!(epsilon_rounded_up(1.0, 0.0).is_err());
    }

    proptest! {
        #[test]
        fn curve_is_monotone(
            ln_mu in -6.0..4.0_f64,
            ln_epsilon in -8.0..7.0_f64,
            factor in 1.001..10.0_f64,
        ) {
            let (mu, epsilon) = (ln_mu.exp(), ln_epsilon.exp());
            let here = ln_delta(mu, epsilon).unwrap();
            prop_assert!(here <= 0.0);
            prop_assert!(ln_delta(mu * factor, epsilon).unwrap() >= here);
            prop_assert!(ln_delta(mu, epsilon * factor).unwrap() <= here);
        }

        #[test]
        fn round_trip_keeps_the_feasible_side(
            ln_epsilon in -6.0..7.0_f64,
            log10_delta in -300.0..-0.1_f64,
        ) {
            let (target, delta) = (ln_epsilon.exp(), 10_f64.powf(log10_delta));
            let mu = mu_of_approximate_rounded_down(target, delta).unwrap();
            let back = epsilon_rounded_up(mu, delta).unwrap();
            prop_assert!(ln_delta(mu, back).unwrap() <= delta.ln());
            // The condition number of ε is the inverse slope of δ, hence the absolute term where δ
            // hardly depends on ε.
            prop_assert!((back - target).abs() <= target * 1e-9 + 1e-12, "{back} for {target}");
        }
    }
}
