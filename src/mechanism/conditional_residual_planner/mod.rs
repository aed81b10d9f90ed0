//! Conditional ResidualPlanner: the optimal division of a budget over a marginal's residuals.
//!
//! The division is optimal for the residuals' current precisions and is computed exactly by
//! water-filling (S4, Sec. 4.3 and App. D).

use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::privacy::Rho;
use crate::residual::{cells_summed_out, privacy_coefficient, variance_coefficient};

/// Minimum share of the round's budget for a measurement (η of S4, App. D.2).
pub const MIN_SHARE: f64 = 1e-3;

/// Maximum number of attributes of a marginal: 2^20 residuals.
const MAX_ATTRIBUTES: usize = 20;

/// The noise variances of the residuals τ ⊆ γ of one marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The variances σ_τ², in the order of [`AxisSet::subsets`]; ∞ if not measured.
    pub variances: Vec<f64>,
    /// The variance of a cell of the estimated marginal after the round, Σ_τ v_τ / (λ_τ + σ_τ⁻²).
    ///
    /// Infinite if a residual has no measurement.
    pub objective: f64,
    /// A lower bound on the objective of every division of the same budget.
    ///
    /// It is the value of the Lagrangian dual.
    pub lower_bound: f64,
}

impl Allocation {
    /// Returns the measured residuals and their variances, ∅ first.
    pub fn measured(&self) -> impl Iterator<Item = (AxisSet, f64)> + '_ {
        let numbered = self.variances.iter().copied().enumerate();
        numbered
            .filter(|(_, variance)| variance.is_finite())
            .map(|(k, variance)| (AxisSet::from_number(k), variance))
    }

    /// Returns the relative gap objective / lower bound − 1.
    pub fn gap(&self) -> f64 {
        self.objective / self.lower_bound - 1.0
    }

    /// Returns the zCDP parameter Σ p_τ/(2σ_τ²), for a marginal of these sizes (S4, Prop. 4.3).
    pub fn rho(&self, sizes: &[usize]) -> f64 {
        self.measured()
            .map(|(tau, variance)| privacy_coefficient(sizes, tau) / (2.0 * variance))
            .sum()
    }
}

/// Divides the budget ρ of a round over the residuals of a marginal.
///
/// Minimises Σ_τ v_τ/(σ_τ⁻² + λ_τ) over σ_τ⁻² ≥ 0 with Σ_τ p_τ/(2σ_τ²) = ρ. The marginal has
/// attributes of the given sizes, and its residuals have precisions λ_τ (0 if not measured yet).
///
/// With x_τ = 1/(2ρσ_τ²) and a_τ = λ_τ/(2ρ) the optimality conditions are v_τ/(x_τ + a_τ)² = p_τ/L²
/// where x_τ > 0. Since √(v_τ/p_τ) = 1/n_{γ∖τ}, this is water-filling,
///
/// ```text
/// x_τ = max(0, L/n_{γ∖τ} − a_τ),      Σ_τ p_τ x_τ = 1,
/// ```
///
/// and the level is L = (1 + Σ p_τ a_τ)/Σ p_τ/n_{γ∖τ} over the k residuals with the smallest b_τ =
/// a_τ n_{γ∖τ}, where b_k ≤ L ≤ b_{k+1}.
///
/// A residual that was measured before is not measured again if its share p_τ x_τ is below
/// [`MIN_SHARE`]; the problem is then solved again for the others. This only raises the level,
/// so their shares stay above the threshold and one more solve is enough. If all shares are that
/// small (ten or more attributes), the largest are kept. A residual without an estimate is always
/// measured, since otherwise no cell would have a finite variance. Attributes of one value have no
/// residual (p_τ = 0).
///
/// *Certificate*: for every multiplier μ the dual value Σ_τ min_{x ≥ 0} (v_τ/(x + a_τ) + μ p_τ x) −
/// μ is a lower bound. [`Allocation::lower_bound`] uses μ = 1/L² of the first solve, so
/// [`Allocation::gap`] is rounding plus the cost of the omitted residuals.
///
/// *Cost*: O(2^k k) for k attributes. *Reference*: S4, App. D.2, which uses a conic solver.
///
/// # Errors
/// A number of precisions other than 2^k, a precision that is negative or not finite, a size of 0,
/// or more than 20 attributes.
pub fn allocate(sizes: &[usize], precisions: &[f64], rho: Rho) -> Result<Allocation> {
    check(sizes, precisions)?;
    let cost = rho.privacy_cost().get();
    let residuals: Vec<ResidualShare> = precisions
        .iter()
        .zip(AxisSet::subsets(sizes.len()))
        .map(|(&precision, tau)| ResidualShare {
            tau,
            price: privacy_coefficient(sizes, tau),
            known: precision / cost,
            smeared: cells_summed_out(sizes, tau),
        })
        .filter(|r| r.price > 0.0)
        .collect();
    let level = water_level(residuals.iter());
    let lower_bound = dual(&residuals, level) / cost;
    let largest = residuals.iter().map(|r| r.share(level)).fold(0.0, f64::max);
    let threshold = MIN_SHARE.min(largest);
    let kept: Vec<&ResidualShare> =
        residuals.iter().filter(|r| r.known == 0.0 || r.share(level) >= threshold).collect();
    let level = water_level(kept.iter().copied());
    let mut variances = vec![f64::INFINITY; precisions.len()];
    for residual in kept {
        variances[residual.tau.number()] = (cost * residual.added(level)).recip();
    }
    let objective = cell_variance_after(sizes, precisions, &variances);
    Ok(Allocation { variances, objective, lower_bound })
}

/// One residual, in units of 2ρ.
struct ResidualShare {
    /// The residual τ.
    tau: AxisSet,
    /// The privacy coefficient p_τ.
    price: f64,
    /// The current precision a_τ.
    known: f64,
    /// The number of cells n_{γ∖τ}.
    smeared: f64,
}

impl ResidualShare {
    /// Returns the level b_τ above which the residual is measured.
    fn entry(&self) -> f64 {
        self.known * self.smeared
    }

    /// Returns the added precision x_τ.
    fn added(&self, level: Level) -> f64 {
        ((level.rise - (self.entry() - level.base)) / self.smeared).max(0.0)
    }

    /// Returns the share p_τ x_τ of the round's budget.
    fn share(&self, level: Level) -> f64 {
        self.price * self.added(level)
    }
}

/// The water level L, split into the lowest entry and the rise above it.
///
/// The precision that a round adds may be tiny compared with the current one.
#[derive(Clone, Copy)]
struct Level {
    base: f64,
    rise: f64,
}

/// Returns the level at which the shares sum to 1.
fn water_level<'a>(residuals: impl Iterator<Item = &'a ResidualShare>) -> Level {
    let mut by_entry: Vec<&ResidualShare> = residuals.collect();
    by_entry.sort_by(|a, b| a.entry().total_cmp(&b.entry()));
    let base = by_entry.first().map_or(0.0, |r| r.entry());
    let (mut slope, mut known, mut rise) = (0.0, 0.0, f64::INFINITY);
    for residual in by_entry {
        let above = residual.entry() - base;
        if above >= rise {
            break;
        }
        let weight = residual.price / residual.smeared;
        slope += weight;
        known += weight * above;
        rise = (1.0 + known) / slope;
    }
    Level { base, rise }
}

/// Returns the Lagrangian dual at the multiplier 1/L², with v_τ = p_τ/n_{γ∖τ}².
fn dual(residuals: &[ResidualShare], level: Level) -> f64 {
    let level = level.base + level.rise;
    let multiplier = level.powi(-2);
    let inner = |r: &ResidualShare| match r.entry() < level {
        true => r.price * (2.0 / (r.smeared * level) - multiplier * r.known),
        false => r.price / (r.smeared.powi(2) * r.known),
    };
    residuals.iter().map(inner).sum::<f64>() - multiplier
}

/// Returns the cell variance after the round, Σ_τ v_τ/(λ_τ + σ_τ⁻²).
fn cell_variance_after(sizes: &[usize], precisions: &[f64], variances: &[f64]) -> f64 {
    let term = |(tau, (&precision, &variance)): (AxisSet, (&f64, &f64))| match variance_coefficient(
        sizes, tau,
    ) {
        0.0 => 0.0,
        coefficient => coefficient / (precision + variance.recip()),
    };
    AxisSet::subsets(sizes.len()).zip(precisions.iter().zip(variances)).map(term).sum()
}

fn check(sizes: &[usize], precisions: &[f64]) -> Result<()> {
    let refuse = |what: &str, expected: String, found: String, remedy: &str| {
        Err(Error::bad_input(format!("conditional allocation, {what}"), expected, found, remedy))
    };
    if sizes.len() > MAX_ATTRIBUTES || sizes.contains(&0) {
        let expected = format!("at most {MAX_ATTRIBUTES} sizes of at least 1");
        return refuse(
            "marginal",
            expected,
            format!("{sizes:?}"),
            "use a marginal on fewer attributes",
        );
    }
    if precisions.len() != 1 << sizes.len() {
        let expected = format!("{}, one per subset of the attributes", 1 << sizes.len());
        return refuse(
            "precisions",
            expected,
            precisions.len().to_string(),
            "use 0 for residuals that are not measured",
        );
    }
    if let Some(bad) = precisions.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        let expected = "finite numbers of at least 0".into();
        return refuse(
            "precisions",
            expected,
            bad.to_string(),
            "use 0 for residuals that are not measured",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
