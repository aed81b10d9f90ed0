//! The Gaussian mechanism under (ε, δ)-differential privacy: classical and analytic calibration.
//!
//! **Classical** (S1, Prop. 2.2; S2, Prop. 2): adding N(0, σ²) with σ = Δ·√(2 ln(2/δ))/ε to queries
//! of L2 sensitivity Δ is (ε, δ)-DP. In units of the squared sensitivity the variance is P(ε, δ) =
//! 2 ln(2/δ)/ε², the factor that multiplies every error formula of S1 and S2.
//!
//! The theorem is proved for ε <= 1 only. The exact curve of [`gaussian_dp`] gives the actual δ. At
//! ε <= 1 the classical noise is larger than necessary (ε = 1, δ = 10⁻⁵: it provides δ =
//! 2.4·10⁻⁸). It provides its δ up to ε = 7.9 for δ = 10⁻², 9.4 for δ = 10⁻⁵ and 10.5 for δ = 10⁻⁹.
//! Above that it promises more privacy than it provides, without bound, because σ must not fall
//! faster than 1/√(2ε) and 1/ε does. [`classical_delivered_delta`] computes the δ provided for any
//! (ε, δ), and [`PrivacyBudget`](super::PrivacyBudget) refuses a classical budget whose noise does
//! not provide its δ.
//!
//! **Analytic** (Balle & Wang 2018, Algorithm 1): the smallest σ that satisfies the exact curve δ =
//! Φ(Δ/(2σ) − εσ/Δ) − e^ε Φ(−Δ/(2σ) − εσ/Δ); valid for every ε > 0.
//!
//! σ has the unit of the query answers (records); P and ε are dimensionless. Every function is
//! O(1).

use super::error::PrivacyError;
use super::gaussian_dp;
use super::parameters::{budget_delta, budget_epsilon, noise_scale, sensitivity};

/// Returns P(ε, δ) = 2 ln(2/δ)/ε², the classical noise variance per unit of squared L2 sensitivity.
///
/// The formula of S1, Prop. 2.4 and S2, Prop. 4, for any ε; the module documentation says for which
/// ε it is a guarantee.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless ε > 0 is finite and 0 < δ < 1.
pub fn classical_variance_factor(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
    Ok(2.0 * ln_two_over(delta) / (epsilon * epsilon))
}

/// Returns σ = Δ·√(2 ln(2/δ))/ε, the classical noise standard deviation for L2 sensitivity Δ.
///
/// S1, Prop. 2.2.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless Δ > 0 and ε > 0 are finite and 0 < δ < 1.
pub fn classical_sigma(l2_sensitivity: f64, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let l2_sensitivity = sensitivity(l2_sensitivity)?;
    let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
    Ok(l2_sensitivity * (2.0 * ln_two_over(delta)).sqrt() / epsilon)
}

/// Returns the δ that the classical calibration for (ε, δ) provides at ε.
///
/// If it exceeds the promised δ, the classical formula must not be used.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless ε > 0 is finite and 0 < δ < 1.
pub fn classical_delivered_delta(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let mu = classical_sigma(1.0, epsilon, delta)?.recip();
    gaussian_dp::delta(mu, epsilon)
}

/// Returns the exact δ(σ, ε) of N(0, σ²) noise on a query of L2 sensitivity Δ.
///
/// Balle & Wang 2018, Theorem 8.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless Δ > 0, σ > 0 and ε >= 0, all finite.
pub fn analytic_delta(l2_sensitivity: f64, sigma: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    gaussian_dp::delta(gaussian_dp::mu_of_gaussian(l2_sensitivity, sigma)?, epsilon)
}

/// Returns the smallest σ whose noise on a query of L2 sensitivity Δ is (ε, δ)-DP, rounded up.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless Δ > 0 and ε > 0 are finite and 0 < δ < 1;
/// [`PrivacyError::NoSolution`] if σ would exceed the range of `f64`.
pub fn analytic_sigma_rounded_up(
    l2_sensitivity: f64,
    epsilon: f64,
    delta: f64,
) -> Result<f64, PrivacyError> {
    let l2_sensitivity = sensitivity(l2_sensitivity)?;
    let mu = gaussian_dp::mu_of_approximate_rounded_down(epsilon, delta)?;
    let ln_target = delta.ln();
    let mut sigma = l2_sensitivity / mu;
    // The division may have rounded σ down by half a unit in the last place: increase σ until it is
    // feasible.
    let mut step = f64::EPSILON;
    while sigma.is_finite() && gaussian_dp::ln_curve(l2_sensitivity / sigma, epsilon) > ln_target {
        sigma *= 1.0 + step;
        step *= 2.0;
    }
    noise_scale(sigma).map_err(|_| PrivacyError::NoSolution {
        quantity: "noise standard deviation",
        given: format!(
            "sensitivity = {l2_sensitivity:e}, epsilon = {epsilon:e}, delta = {delta:e}"
        ),
        remedy: "rescale the queries to a sensitivity near 1",
    })
}

/// ln(2/δ), without overflow of 2/δ for the smallest δ.
fn ln_two_over(delta: f64) -> f64 {
    std::f64::consts::LN_2 - delta.ln()
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn classical_formula_matches_the_papers() {
        // S2 uses epsilon = 0.5, delta = 1e-4: P = 2 ln(20000)/0.25.
        assert_relative_eq!(
            classical_variance_factor(0.5, 1e-4).unwrap(),
            79.227_900_420_289_02,
            max_relative = 1e-14
        );
        let sigma = classical_sigma(3.0, 0.5, 1e-4).unwrap();
        assert_relative_eq!(
            sigma * sigma,
            9.0 * classical_variance_factor(0.5, 1e-4).unwrap(),
            max_relative = 1e-14
        );
        assert!(classical_variance_factor(1e-3, 5e-324).unwrap().is_finite());
    }

    #[test]
    fn analytic_sigma_matches_published_and_multiprecision_values() {
        // (epsilon, delta, sigma at unit sensitivity), computed with 60- to 700-digit arithmetic.
        // Other implementations print 3.730631634816464 for the first, by a coarser bisection.
        let expected = [
            (1.0, 1e-5, 3.730_631_634_815_942),
            (0.1, 1e-9, 50.209_818_263_015_33),
            (1.0, 1e-9, 5.495_266_157_238_296),
            (10.0, 1e-9, 0.650_246_918_958_657_4),
            (100.0, 1e-9, 0.106_226_479_775_112_26),
            (1000.0, 1e-9, 0.025_546_327_262_734_134),
            (1e4, 1e-9, 0.007_376_938_417_658_645),
            (0.01, 1e-300, 3_672.720_103_405_568_5),
            (1.0, 1e-300, 36.865_497_894_111_1),
            (100.0, 1e-300, 0.382_798_397_497_762_05),
            (1e-6, 1e-12, 4_122_525.402_756_602),
            (1e-9, 1e-3, 398.941_976_686_967_9),
            (1.0, 0.5, 0.507_065_031_476_331_4),
            (1.0, 0.999, 0.145_936_628_491_724_65),
            (8.0, 1e-6, 0.652_935_384_358_215_9),
        ];
        for (epsilon, delta, sigma) in expected {
            let ours = analytic_sigma_rounded_up(1.0, epsilon, delta).unwrap();
            assert_relative_eq!(ours, sigma, max_relative = 1e-13);
            assert!(analytic_delta(1.0, ours, epsilon).unwrap() <= delta * (1.0 + 1e-13));
        }
        assert_relative_eq!(
            analytic_sigma_rounded_up(1.0, 1.0, 1e-5).unwrap(),
            3.730_631_634_816_464,
            max_relative = 1e-12
        );
    }

    #[test]
    fn classical_calibration_fails_for_large_epsilon() {
        assert_relative_eq!(
            classical_delivered_delta(1.0, 1e-5).unwrap(),
            2.4339e-8,
            max_relative = 1e-4
        );
        // The largest epsilon at which the noise provides delta, from 60-digit arithmetic.
        for (delta, last) in [
            (1e-2, 7.906_490_074),
            (1e-5, 9.391_321_462),
            (1e-9, 10.537_996_6),
            (1e-12, 11.143_709_41),
        ] {
            assert!(classical_delivered_delta(last - 1e-6, delta).unwrap() < delta);
            assert!(classical_delivered_delta(last + 1e-6, delta).unwrap() > delta);
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(classical_sigma(bad, 1.0, 1e-9).is_err());
            assert!(classical_sigma(1.0, bad, 1e-9).is_err());
            assert!(analytic_sigma_rounded_up(bad, 1.0, 1e-9).is_err());
            assert!(analytic_sigma_rounded_up(1.0, bad, 1e-9).is_err());
            assert!(analytic_delta(1.0, bad, 1.0).is_err());
        }
        for bad in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            let message = analytic_sigma_rounded_up(1.0, 1.0, bad).unwrap_err().to_string();
            assert!(
                message.contains("delta") && message.contains("strictly between 0 and 1"),
                "{message}"
            );
            assert!(classical_variance_factor(1.0, bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn calibrated_noise_is_feasible_and_tight(
            ln_sensitivity in -20.0..20.0_f64,
            ln_epsilon in -7.0..7.0_f64,
            log10_delta in -300.0..-0.01_f64,
        ) {
            let (sensitivity, epsilon) = (ln_sensitivity.exp(), ln_epsilon.exp());
            let delta = 10_f64.powf(log10_delta);
            let sigma = analytic_sigma_rounded_up(sensitivity, epsilon, delta).unwrap();
            let ln_delta =
                |sigma: f64| gaussian_dp::ln_delta(sensitivity / sigma, epsilon).unwrap();
            prop_assert!(ln_delta(sigma) <= delta.ln());
            prop_assert!(ln_delta(sigma * (1.0 - 1e-9)) > delta.ln());
        }

        #[test]
        fn analytic_noise_is_below_classical_noise_where_the_theorem_holds(
            epsilon in 1e-6..1.0_f64, log10_delta in -300.0..-0.31_f64,
        ) {
            let delta = 10_f64.powf(log10_delta);
            let analytic = analytic_sigma_rounded_up(1.0, epsilon, delta).unwrap();
            prop_assert!(analytic < classical_sigma(1.0, epsilon, delta).unwrap());
        }

        #[test]
        fn more_privacy_needs_more_noise(
            ln_epsilon in -7.0..7.0_f64, log10_delta in -290.0..-0.1_f64, factor in 1.01..10.0_f64,
        ) {
            let (epsilon, delta) = (ln_epsilon.exp(), 10_f64.powf(log10_delta));
            let sigma = analytic_sigma_rounded_up(1.0, epsilon, delta).unwrap();
            prop_assert!(analytic_sigma_rounded_up(1.0, epsilon / factor, delta).unwrap() > sigma);
            prop_assert!(analytic_sigma_rounded_up(1.0, epsilon, delta / factor).unwrap() > sigma);
        }
    }
}
