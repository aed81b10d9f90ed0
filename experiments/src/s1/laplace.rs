//! The error of the ε-matrix mechanism compared with the (ε, δ)-matrix mechanism (S1, App. B).
//!
//! Under pure ε-differential privacy the strategy A is measured with Laplace noise of scale b =
//! ‖A‖₁/ε, where ‖A‖₁ is the largest L1 norm of a column. The error is (2/ε²)·‖A‖₁²·tr(G (AᵀA)⁻¹)
//! (Prop. B.4), compared with P(ε, δ)·‖A‖₂²·tr(G (AᵀA)⁻¹) for Gaussian noise. The trace is the
//! same, so
//!
//! ```text
//! error ratio, Laplace over Gaussian = (2/ε²) ‖A‖₁² / (P(ε, δ) ‖A‖₂²) = ‖A‖₁² / (ln(2/δ) ‖A‖₂²).
//! ```
//!
//! App. B.3 sets δ = 2/n² for n cells: ln(2/δ) = 2 ln n for every ε. A strategy of predicate (0/1)
//! queries has ‖A‖₂² = ‖A‖₁, so Gaussian noise has the lower error if ‖A‖₁ > **2 ln n**. The paper
//! prints the threshold √(log n): its error formula has (log^¼ n)² = √(log n) where P(ε, 2/n²)·ε²/2
//! = 2 ln n is correct.

/// Returns the error ratio ‖A‖₁²/(ln(2/δ)·‖A‖₂²) of the ε- and the (ε, δ)-matrix mechanism.
///
/// Both have the same ε and strategy. Above 1, Gaussian noise with the classical calibration is
/// more accurate. The ratio is independent of ε.
pub(super) fn error_ratio_to_gaussian(l1_sensitivity: f64, l2_sensitivity: f64, delta: f64) -> f64 {
    let norms = l1_sensitivity / l2_sensitivity;
    norms * norms / (std::f64::consts::LN_2 - delta.ln())
}

/// Returns δ = 2/n² for a domain of n ≥ 2 cells (S1, App. B.3).
pub(super) fn delta_of_cells(cells: usize) -> f64 {
    let n = cells as f64;
    2.0 / (n * n)
}

/// Returns the error ratio ‖A‖₁/(2 ln n) of a strategy of predicate queries, for δ = 2/n².
pub(super) fn predicate_error_ratio(l1_sensitivity: f64, cells: usize) -> f64 {
    l1_sensitivity / predicate_threshold(cells)
}

/// Returns 2 ln n, the ‖A‖₁ above which Gaussian noise has the lower error for a predicate
/// strategy, for δ = 2/n².
pub(super) fn predicate_threshold(cells: usize) -> f64 {
    2.0 * (cells as f64).ln()
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use matmech::privacy::gaussian::classical_variance_factor;

    use super::*;

    #[test]
    fn ratio_is_the_quotient_of_the_two_error_formulas() {
        for epsilon in [0.1, 0.5, 1.0] {
            for (l1, l2, delta) in [(11.0, 11.0_f64.sqrt(), 1e-5), (3.0, 1.2, 0.01)] {
                let laplace = 2.0 * (l1 / epsilon) * (l1 / epsilon);
                let gaussian = classical_variance_factor(epsilon, delta).unwrap() * l2 * l2;
                assert_relative_eq!(
                    error_ratio_to_gaussian(l1, l2, delta),
                    laplace / gaussian,
                    max_relative = 1e-13
                );
            }
        }
    }

    #[test]
    fn error_ratio_of_predicate_strategies_is_one_at_the_threshold() {
        for cells in [2_usize, 16, 256, 1024, 1 << 20] {
            let ratio = |l1: f64| error_ratio_to_gaussian(l1, l1.sqrt(), delta_of_cells(cells));
            assert_relative_eq!(ratio(predicate_threshold(cells)), 1.0, max_relative = 1e-13);
            assert_relative_eq!(
                ratio(7.0),
                predicate_error_ratio(7.0, cells),
                max_relative = 1e-13
            );
        }
        // Binary hierarchy over 1024 cells: 11 levels, below the threshold 13.86, so Laplace noise
        // is better, although 11 exceeds the printed threshold sqrt(log 1024) = 2.63.
        assert_relative_eq!(
            predicate_threshold(1024),
            13.862_943_611_198_906,
            max_relative = 1e-14
        );
        assert_relative_eq!(
            predicate_error_ratio(11.0, 1024),
            0.793_482_272_488_929_9,
            max_relative = 1e-13
        );
    }
}
