//! Privacy cost and variance of residual measurements (S4, Sec. 4.3).

use crate::domain::AxisSet;

/// Returns the privacy coefficient `p_τ = Π_{i∈τ} (n_i − 1)/n_i`.
///
/// Measuring the residual on τ with noise of variance σ² costs ρ = p_τ/(2σ²) (S4, Prop. 4.3).
pub fn privacy_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    tau.select(sizes).iter().map(|&n| (n as f64 - 1.0) / n as f64).product()
}

/// Returns the variance coefficient `v_τ = p_τ · Π_{j∈γ∖τ} n_j⁻²`.
///
/// Noise of variance σ² on the residual on τ adds v_τ σ² to the variance of every cell of the
/// marginal on γ (S4, Prop. 4.4 and Eq. 6).
pub fn variance_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    privacy_coefficient(sizes, tau) / cells_summed_out(sizes, tau).powi(2)
}

/// Returns n_{γ∖τ}, the number of marginal cells over which one residual cell is spread.
pub fn cells_summed_out(sizes: &[usize], tau: AxisSet) -> f64 {
    sizes
        .iter()
        .enumerate()
        .filter(|&(axis, _)| !tau.contains(axis))
        .map(|(_, &n)| n as f64)
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_equal_the_closed_forms() {
        let (sizes, first) = ([2, 5], AxisSet::from_number(0b01));
        assert_eq!(privacy_coefficient(&sizes, first), 0.5);
        assert_eq!(variance_coefficient(&sizes, first), 0.5 / 25.0);
        assert_eq!(
            (privacy_coefficient(&sizes, AxisSet::EMPTY), cells_summed_out(&sizes, AxisSet::EMPTY)),
            (1.0, 10.0)
        );
        assert_eq!(privacy_coefficient(&[1, 5], first), 0.0);
    }

    /// For independent noise of variance 1 on the cells, Σ_τ v_τ σ_τ² is 1.
    ///
    /// On the residuals it is noise of variance σ_τ² = n_{γ∖τ}.
    #[test]
    fn variance_coefficients_of_isotropic_noise_sum_to_one() {
        let sizes = [3, 4, 2];
        let sum: f64 = AxisSet::subsets(3)
            .map(|tau| variance_coefficient(&sizes, tau) * cells_summed_out(&sizes, tau))
            .sum();
        assert!((sum - 1.0).abs() < 1e-15, "{sum}");
    }
}
