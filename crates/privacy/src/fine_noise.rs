//! The privacy of answers with fine discrete Gaussian noise: almost that of Gaussian noise.
//!
//! Integer answers with independent discrete Gaussian noise are ρ-zCDP with ρ = Σ v_t²/(2σ_t²), v_t
//! the change of answer t between two neighbours, exactly as with Gaussian noise. The conversion of
//! ρ to (ε, δ) for arbitrary ρ-zCDP mechanisms needs 8 to 11 % more variance than the exact curve
//! of Gaussian noise. Discrete noise of deviations σ_t ≥ σ₀ has nearly that curve, also for
//! adaptively chosen queries:
//!
//! ```text
//! δ(ε) ≤ (F/Φ(u)) · δ_G(μ √(1 + κ²), ε − κμu + κ²μ²/2),        μ² = 2ρ,
//! F = (1 + 2 Σ_j exp(−2π²j²h²))^M,    h² = σ₀²κ²/(1 + κ²)
//! ```
//!
//! for every κ > 0 and u, where M is the number of answers and δ_G the curve of [`gaussian_dp`].
//! Here σ₀ = 2¹⁶, κ = 2⁻¹⁵, u = 8 and M ≤ 2⁶⁰, so F/Φ(u) < 1 + 10⁻¹³ and ε shifts by 2.5·10⁻⁴ μ.
//!
//! *Proof.* Under one of the two tables the privacy loss is L = Σ v_t²/(2σ_t²) + Σ a_t N_t/σ_t with
//! a_t = v_t/σ_t, because the v_t are integers, and δ(ε) = ∫₀^∞ e^{−s} P(L > ε + s) ds. If Σ a_t² <
//! μ² on some path, append a Gaussian answer for the difference, which can only raise δ; so let Σ
//! a_t² = μ². Let M_t = N_t/σ_t + κG_t with independent standard normal G_t. By Poisson's summation
//! formula the density of M_t, given all earlier outputs, is at most (1 + 2 Σ_j exp(−2π²j²h²))
//! times that of N(0, 1 + κ²). By backward induction over the answers, with the tail of the
//! remaining Gaussian sum as the value, P(Σ a_t M_t ≥ r) ≤ F Q(r/(μ√(1 + κ²))). And Σ a_t N_t/σ_t ≥
//! t implies Σ a_t M_t ≥ t − κμu with probability at least Φ(u), since the G_t are independent of
//! all outputs. So P(L > z) is at most F/Φ(u) times the tail of N(μ²/2 + κμu, μ²(1 + κ²)) at z, and
//! the integral over s is δ_G at the shifted arguments. ∎
//!
//! The same argument bounds the tails of the error Σ a_t N_t of one query's answer: see
//! `release::reach`.

use super::bisection::{largest_feasible, smallest_feasible};
use super::error::PrivacyError;
use super::gaussian_dp;
use super::parameters::{budget_delta, budget_epsilon};
use super::zcdp::{self, Rho};

/// κ: the standard deviation of the smoothing noise in units of σ.
pub const SMOOTHING: f64 = 1.0 / 32768.0;

/// u: the bound on the smoothing noise in standard deviations; Φ(u) = 1 − 6·10⁻¹⁶.
pub const REACH: f64 = 8.0;

/// An upper bound on ln(F/Φ(u)) plus the relative rounding error of the curves.
const MARGIN: f64 = 1e-11;

/// Returns ln δ(ρ, ε), rounded up: the smaller of the curves for fine noise and for every ρ-zCDP
/// mechanism.
fn ln_curve(rho: f64, epsilon: f64) -> f64 {
    let generic = zcdp::ln_curve(rho, epsilon);
    let mu = (2.0 * rho).sqrt();
    let shifted = epsilon - SMOOTHING * mu * REACH;
    if shifted < 0.0 {
        return generic;
    }
    let wider = mu * (1.0 + SMOOTHING * SMOOTHING).sqrt();
    generic.min(gaussian_dp::ln_curve(wider, shifted) + MARGIN)
}

/// Returns the largest ρ for which ρ-zCDP answers with fine noise are (ε, δ)-DP, rounded down.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless ε > 0 is finite and 0 < δ < 1;
/// [`PrivacyError::NoSolution`] if ρ is outside the range of [`Rho`].
pub fn rho_of_approximate_rounded_down(epsilon: f64, delta: f64) -> Result<Rho, PrivacyError> {
    let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
    let ln_target = delta.ln();
    let largest = largest_feasible(|rho| ln_curve(rho, epsilon) <= ln_target);
    largest.and_then(|rho| Rho::new(rho).ok()).ok_or_else(|| PrivacyError::NoSolution {
        quantity: "zCDP parameter rho",
        given: format!("epsilon = {epsilon:e}, delta = {delta:e}"),
        remedy: "use less extreme values of epsilon and delta",
    })
}

/// Returns the smallest ε for which ρ-zCDP answers with fine noise are (ε, δ)-DP, rounded up to the
/// fewest digits within a share of 10⁻⁹.
///
/// # Errors
/// [`PrivacyError::InvalidParameter`] unless 0 < δ < 1; [`PrivacyError::NoSolution`] if ε would
/// exceed the range of `f64`.
pub fn epsilon_rounded_up(rho: Rho, delta: f64) -> Result<f64, PrivacyError> {
    let ln_target = budget_delta(delta)?.ln();
    if ln_curve(rho.get(), 0.0) <= ln_target {
        return Ok(0.0);
    }
    let smallest = smallest_feasible(|epsilon| ln_curve(rho.get(), epsilon) <= ln_target);
    smallest.map(fewest_digits_up).ok_or_else(|| PrivacyError::NoSolution {
        quantity: "epsilon",
        given: format!("rho = {rho:e}, delta = {delta:e}"),
        remedy: "use less extreme values of rho and delta",
    })
}

/// Returns the number of fewest significant digits that is at least `number` and exceeds it by a
/// share of at most 10⁻⁹.
fn fewest_digits_up(number: f64) -> f64 {
    for digits in 0..16 {
        let nearest = format!("{number:.digits$e}");
        let Ok(nearest) = nearest.parse::<f64>() else { break };
        let unit = 10f64.powi(number.log10().floor() as i32 - digits as i32);
        let above = if nearest >= number { nearest } else { nearest + unit };
        let rounded = format!("{above:.digits$e}").parse().unwrap_or(number);
        if rounded >= number && rounded <= f64::MAX.min(number * (1.0 + 1e-9)) {
            return rounded;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn digits_are_rounded_up() {
        for (number, expected) in [
            (0.999_999_999_999_999_8, 1.0),
            (0.099_999_999_99, 0.1),
            (1.234_567_890_123, 1.234_567_891),
            (1.0, 1.0),
            (0.123, 0.123),
            (9.999_999_999_9e-7, 1e-6),
            (3e5, 3e5),
            (f64::MAX, f64::MAX),
        ] {
            assert_eq!(fewest_digits_up(number), expected);
        }
    }

    /// Returns P(N = z) of the discrete Gaussian.
    fn probability(sigma: f64) -> impl Fn(i64) -> f64 {
        let weight = move |z: i64| (-0.5 * (z as f64 / sigma).powi(2)).exp();
        let reach = (39.0 * sigma) as i64;
        let sum: f64 = (-reach..=reach).map(weight).sum();
        move |z| weight(z) / sum
    }

    /// Returns the bound for any κ and u, with F for M answers.
    fn bound(mu: f64, epsilon: f64, sigma: f64, (kappa, u): (f64, f64), answers: f64) -> f64 {
        let square = (sigma * kappa).powi(2) / (1.0 + kappa * kappa);
        let excess: f64 = (1..5)
            .map(|j| (-2.0 * (std::f64::consts::PI * f64::from(j)).powi(2) * square).exp())
            .sum();
        let factor = (1.0 + 2.0 * excess).powf(answers) / (1.0 - 0.5 * libm::erfc(u / 2f64.sqrt()));
        let shifted = epsilon - kappa * mu * u + 0.5 * (kappa * mu).powi(2);
        factor * gaussian_dp::ln_curve(mu * (1.0 + kappa * kappa).sqrt(), shifted).exp()
    }

    /// Returns δ by its definition, Σ (P − e^ε Q)₊, for one answer that changes by v.
    fn exact_delta(sigma: f64, v: i64, epsilon: f64) -> f64 {
        let reach = (16.0 * sigma) as i64;
        let at = probability(sigma);
        (-reach..=reach).map(|z| (at(z) - epsilon.exp() * at(z + v)).max(0.0)).sum()
    }

    /// Against δ of one answer by its definition, for coarse noise. The bound holds, the curve of
    /// Gaussian noise alone does not, and the bound tends to that curve.
    #[test]
    fn the_bound_holds_for_one_answer() {
        let mut exceeded = 0;
        for (sigma, v) in [(3.0, 2), (5.0, 1), (5.0, 7), (20.0, 5), (60.0, 41)] {
            let mu = v as f64 / sigma;
            for epsilon in [0.0, 0.2, 0.7, 1.5, 3.0] {
                let exact = exact_delta(sigma, v, epsilon);
                for (kappa, u) in [(0.5, 3.0), (0.2, 4.0), (0.05, 6.0), (2.0 / sigma, 8.0)] {
                    if epsilon > kappa * mu * u {
                        assert!(
                            exact <= bound(mu, epsilon, sigma, (kappa, u), 1.0) * (1.0 + 1e-9),
                            "{sigma} {v} {epsilon} {kappa}"
                        );
                    }
                }
                exceeded +=
                    usize::from(exact > gaussian_dp::ln_curve(mu, epsilon).exp() * (1.0 + 1e-6));
            }
        }
        assert!(exceeded > 3, "{exceeded}");
    }

    /// Two answers, the second query chosen by the first answer. Oracle: δ by its definition over
    /// all outputs.
    #[test]
    fn the_bound_holds_for_adaptive_queries() {
        let sigma = 8.0;
        let reach = 110i64;
        let at = probability(sigma);
        // For every first answer the squared changes sum to 25: 3, then 4 or −4.
        let (first, second) = (3i64, |y: i64| if y.rem_euclid(3) == 0 { -4i64 } else { 4 });
        let mu = 5.0 / sigma;
        for epsilon in [0.3, 0.8, 1.6, 2.5] {
            let mut exact = 0.0;
            for y in -reach..=reach {
                let v = second(y);
                for w in -reach..=reach {
                    exact +=
                        (at(y) * at(w) - f64::exp(epsilon) * at(y + first) * at(w + v)).max(0.0);
                }
            }
            for (kappa, u) in [(0.25, 4.0), (0.1, 5.0)] {
                if epsilon > kappa * mu * u {
                    assert!(
                        exact <= bound(mu, epsilon, sigma, (kappa, u), 2.0),
                        "{epsilon}: {exact}"
                    );
                }
            }
        }
    }

    /// With the constants of this module and the smallest deviation: above δ of one answer by its
    /// definition, and within 5 % of it.
    #[test]
    fn the_bound_is_tight_for_fine_noise() {
        let sigma = 65_536.0;
        for v in [11_000i64, 65_536] {
            let rho = 0.5 * (v as f64 / sigma).powi(2);
            for epsilon in [0.5, 1.0, 1.5] {
                let exact = exact_delta(sigma, v, epsilon);
                let found = ln_curve(rho, epsilon).exp();
                assert!(exact <= found && found <= exact * 1.05, "{v} {epsilon}: {exact} {found}");
            }
        }
    }

    /// At δ = 1e-9: ρ is 8 to 11 % larger than by the conversion for every zCDP mechanism, and less
    /// than 0.2 % below that of continuous Gaussian noise.
    #[test]
    fn fine_noise_allows_a_larger_rho_than_generic_zcdp() {
        for (epsilon, gain) in [(0.1, 1.11), (1.0, 1.09), (10.0, 1.08)] {
            let fine = rho_of_approximate_rounded_down(epsilon, 1e-9).unwrap();
            let generic = Rho::of_approximate_rounded_down(epsilon, 1e-9).unwrap();
            assert!(
                fine.get() > (gain - 0.02) * generic.get()
                    && fine.get() < (gain + 0.03) * generic.get(),
                "{epsilon}: {} {}",
                fine.get(),
                generic.get()
            );
            let mu = gaussian_dp::mu_of_approximate_rounded_down(epsilon, 1e-9).unwrap();
            assert!(fine.get() < 0.5 * mu * mu && fine.get() > 0.5 * mu * mu * 0.998, "{epsilon}");
            let back = epsilon_rounded_up(fine, 1e-9).unwrap();
            assert_eq!(back, epsilon, "the typed number is printed");
            assert_relative_eq!(back, epsilon, max_relative = 1e-9);
        }
        // Very small and large budgets stay finite, and are never better than Gaussian noise.
        for (epsilon, delta) in [(1e-6, 1e-9), (1000.0, 1e-9), (1.0, 1e-300), (1.0, 0.5)] {
            let fine = rho_of_approximate_rounded_down(epsilon, delta).unwrap();
            let mu = gaussian_dp::mu_of_approximate_rounded_down(epsilon, delta).unwrap();
            assert!(fine.get() <= 0.5 * mu * mu);
        }
        assert!(
            rho_of_approximate_rounded_down(0.0, 1e-9).is_err()
                && rho_of_approximate_rounded_down(1.0, 0.0).is_err()
        );
    }
}
