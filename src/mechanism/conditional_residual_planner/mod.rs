//! Conditional ResidualPlanner: the best division of one round's budget over the residuals of a
//! marginal, given what is already known about them (S4, Sec. 4.3 and App. D), solved exactly by
//! water-filling.

use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::privacy::Rho;
use crate::residual::{privacy_coefficient, smeared_cells, variance_coefficient};

/// A share of the round's budget below this is not worth a measurement (η of S4, App. D.2).
pub const SMALLEST_SHARE: f64 = 1e-3;

/// Marginals over more attributes are refused: 2^20 residuals.
const MOST_ATTRIBUTES: usize = 20;

/// The noise with which the residuals τ ⊆ γ of one marginal are measured; lists are in the order of
/// [`AxisSet::subsets`].
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// σ_τ²; ∞ for a residual that is not measured.
    pub variances: Vec<f64>,
    /// The variance of a cell of the estimated marginal after the round: Σ_τ v_τ / (λ_τ + σ_τ⁻²).
    /// Infinite if a residual stays without any measurement.
    pub objective: f64,
    /// No division of the same budget gets below this objective: the value of the Lagrangian dual.
    pub lower_bound: f64,
}

impl Allocation {
    /// The measurements: residual and variance, ∅ first.
    pub fn measured(&self) -> impl Iterator<Item = (AxisSet, f64)> + '_ {
        let numbered = self.variances.iter().copied().enumerate();
        numbered
            .filter(|(_, variance)| variance.is_finite())
            .map(|(k, variance)| (AxisSet::from_number(k), variance))
    }

    /// How far the objective is above the lower bound, relative to the lower bound.
    pub fn gap(&self) -> f64 {
        self.objective / self.lower_bound - 1.0
    }

    /// Σ p_τ/(2σ_τ²): the zCDP parameter of the measurements, on a marginal with these sizes (S4,
    /// Prop. 4.3).
    pub fn rho(&self, sizes: &[usize]) -> f64 {
        self.measured()
            .map(|(tau, variance)| privacy_coefficient(sizes, tau) / (2.0 * variance))
            .sum()
    }
}

/// Minimises Σ_τ v_τ/(σ_τ⁻² + λ_τ) over σ_τ⁻² ≥ 0 with Σ_τ p_τ/(2σ_τ²) = ρ, for a marginal on
/// attributes of the given sizes whose residuals are known with precisions λ_τ (0: not measured
/// yet).
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
/// A share p_τ x_τ below [`SMALLEST_SHARE`] of a residual that has been measured before is not
/// spent: the problem is solved again on the others. The level only rises by that, so their shares
/// stay above the threshold and one more solve is enough. A residual without any estimate is
/// measured whatever its share is: without it no cell would have a finite variance. Where all
/// shares are that small (ten attributes and more), the largest stay. Attributes of one value have
/// no residual (p_τ = 0), and nothing is measured for them.
///
/// The certificate: for every multiplier μ the dual value Σ_τ min_{x ≥ 0} (v_τ/(x + a_τ) + μ p_τ x)
/// − μ is a lower bound. [`Allocation::lower_bound`] takes μ = 1/L² of the first solve, so that
/// [`Allocation::gap`] is rounding plus what the residuals left out cost.
///
/// *Cost*: O(2^k k) for k attributes. *Reference*: S4, App. D.2, where a conic solver does it.
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
            smeared: smeared_cells(sizes, tau),
        })
        .filter(|r| r.price > 0.0)
        .collect();
    let level = water_level(residuals.iter());
    let lower_bound = dual(&residuals, level) / cost;
    let largest = residuals.iter().map(|r| r.share(level)).fold(0.0, f64::max);
    let threshold = SMALLEST_SHARE.min(largest);
    let kept: Vec<&ResidualShare> =
        residuals.iter().filter(|r| r.known == 0.0 || r.share(level) >= threshold).collect();
    let level = water_level(kept.iter().copied());
    let mut variances = vec![f64::INFINITY; precisions.len()];
    for residual in kept {
        variances[residual.tau.number()] = (cost * residual.bought(level)).recip();
    }
    let objective = cell_variance_after(sizes, precisions, &variances);
    Ok(Allocation { variances, objective, lower_bound })
}

/// The noise that an isotropic measurement of the whole marginal, y = μ_γ + N(0, σ²I) with σ² =
/// 1/(2ρ), puts on its residuals: σ_τ² = σ² n_{γ∖τ}, independently (S4, Sec. 4.3, "iid"). The lower
/// bound is that of [`allocate`].
///
/// # Errors
/// As [`allocate`].
pub fn isotropic(sizes: &[usize], precisions: &[f64], rho: Rho) -> Result<Allocation> {
    let lower_bound = allocate(sizes, precisions, rho)?.lower_bound;
    let variances: Vec<f64> = AxisSet::subsets(sizes.len())
        .map(|tau| match privacy_coefficient(sizes, tau) > 0.0 {
            true => smeared_cells(sizes, tau) / rho.privacy_cost().get(),
            false => f64::INFINITY,
        })
        .collect();
    let objective = cell_variance_after(sizes, precisions, &variances);
    Ok(Allocation { variances, objective, lower_bound })
}

/// One residual in the units of the round: prices and precisions per unit of 2ρ.
struct ResidualShare {
    /// τ.
    tau: AxisSet,
    /// p_τ.
    price: f64,
    /// a_τ.
    known: f64,
    /// n_{γ∖τ}.
    smeared: f64,
}

impl ResidualShare {
    /// b_τ: the level from which on the residual is measured.
    fn entry(&self) -> f64 {
        self.known * self.smeared
    }

    /// x_τ.
    fn bought(&self, level: Level) -> f64 {
        ((level.rise - (self.entry() - level.base)) / self.smeared).max(0.0)
    }

    /// p_τ x_τ: the share of the round's budget.
    fn share(&self, level: Level) -> f64 {
        self.price * self.bought(level)
    }
}

/// The water level L, as the lowest entry and the rise above it: what a round buys may be tiny
/// beside what is known.
#[derive(Clone, Copy)]
struct Level {
    base: f64,
    rise: f64,
}

/// The level at which the shares sum to 1.
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

/// The Lagrangian dual at the multiplier 1/L²; with v_τ = p_τ/n_{γ∖τ}².
fn dual(residuals: &[ResidualShare], level: Level) -> f64 {
    let level = level.base + level.rise;
    let multiplier = level.powi(-2);
    let inner = |r: &ResidualShare| match r.entry() < level {
        true => r.price * (2.0 / (r.smeared * level) - multiplier * r.known),
        false => r.price / (r.smeared.powi(2) * r.known),
    };
    residuals.iter().map(inner).sum::<f64>() - multiplier
}

/// Σ_τ v_τ/(λ_τ + σ_τ⁻²).
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
    if sizes.len() > MOST_ATTRIBUTES || sizes.contains(&0) {
        let expected = format!("at most {MOST_ATTRIBUTES} sizes of at least 1");
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
            "give 0 for what is not measured",
        );
    }
    if let Some(bad) = precisions.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        let expected = "finite numbers of at least 0".into();
        return refuse("precisions", expected, bad.to_string(), "give 0 for what is not measured");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
