//! What the measurement of a residual costs, and what its noise does to a marginal (S4, Sec. 4.3).

use crate::domain::AxisSet;

/// p_τ = Π_{i∈τ} (n_i − 1)/n_i: measuring the residual τ with noise of variance σ² costs ρ =
/// p_τ/(2σ²) (S4, Prop. 4.3).
pub fn privacy_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    tau.of_items(sizes).iter().map(|&n| (n as f64 - 1.0) / n as f64).product()
}

/// v_τ = p_τ · Π_{j∈γ∖τ} n_j⁻²: noise of variance σ² on the residual τ adds v_τ σ² to the variance
/// of every cell of the marginal on γ (S4, Prop. 4.4 and eq. 6).
pub fn variance_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    privacy_coefficient(sizes, tau) / smeared_cells(sizes, tau).powi(2)
}

/// n_{γ∖τ}: the number of cells of the marginal over which one cell of the residual is spread.
pub(crate) fn smeared_cells(sizes: &[usize], tau: AxisSet) -> f64 {
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
    fn coefficients_by_hand() {
        let (sizes, first) = ([2, 5], AxisSet::from_number(0b01));
        assert_eq!(privacy_coefficient(&sizes, first), 0.5);
        assert_eq!(variance_coefficient(&sizes, first), 0.5 / 25.0);
        assert_eq!(
            (privacy_coefficient(&sizes, AxisSet::EMPTY), smeared_cells(&sizes, AxisSet::EMPTY)),
            (1.0, 10.0)
        );
        assert_eq!(privacy_coefficient(&[1, 5], first), 0.0);
    }

    /// Every marginal is the sum of its residuals: with equal noise on its cells, Σ_τ v_τ σ_τ² with
    /// σ_τ² = n_{γ∖τ} is 1.
    #[test]
    fn the_parts_of_isotropic_noise_add_up() {
        let sizes = [3, 4, 2];
        let sum: f64 = AxisSet::subsets(3)
            .map(|tau| variance_coefficient(&sizes, tau) * smeared_cells(&sizes, tau))
            .sum();
        assert!((sum - 1.0).abs() < 1e-15, "{sum}");
    }
}
