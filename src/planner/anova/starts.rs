//! Where the search for a measure starts besides the uniform one.

use ndarray::Array2;

use super::classes::Classes;
use super::measure_of_strategy;
use crate::error::Result;
use crate::planner::{Hdmm, HdmmForm, Planner, SubspaceStrategy};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{Optimal, OptimalOptions, StrategyFactor, StrategySelector};
use crate::workload::{Family, Gram, GroupQueries, GroupedWorkload};

/// Weights are at least this share of the uniform ones.
const LEAST: f64 = 1e-2;

/// HDMM's strategy is found attribute by attribute: schemas of more do without.
const MOST_ATTRIBUTES: usize = 10;

/// How much more weight the ends get where queries are joint.
const ENDS: f64 = 3.0;

/// The logarithms of one measure per class: that of the optimal strategy for the class's own
/// families, `ν = X⁻¹1/(1ᵀX⁻¹1)`. Where queries are joint the uniform measure can be stationary
/// without being optimal; there, more weight on both ends.
///
/// # Errors
/// A solve fails.
pub(super) fn peaked(workload: &GroupedWorkload, classes: &Classes) -> Result<Vec<Vec<f64>>> {
    let options = OptimalOptions { tolerance: 1e-4, ..OptimalOptions::default() };
    let mut out = Vec::with_capacity(classes.sizes.len());
    for (class, &n) in classes.sizes.iter().enumerate() {
        let families = families_of(workload, classes, class);
        if n < 2 || classes.joint[class] || families.is_empty() {
            out.push(ends(n));
            continue;
        }
        let mut gram = Array2::zeros((n, n));
        for family in families {
            let own = family.gram(&[n])?;
            gram.scaled_add(1.0 / own.diag().sum(), &own);
        }
        let best = Optimal::new(options)?.select(&Gram::dense(&[n], gram)?)?;
        let measure = measure_of_strategy(best.strategy.factors()[0].covariance()?.as_ref());
        out.push(measure.iter().map(|w| w.max(LEAST / n as f64).ln()).collect());
    }
    Ok(out)
}

/// The measure of HDMM's single Kronecker strategy, where attributes are few and it can be had.
pub(super) fn of_kronecker_strategy(
    workload: &GroupedWorkload,
    cost: PrivacyCost,
) -> Option<ReferenceMeasure> {
    if workload.schema().attributes().len() > MOST_ATTRIBUTES {
        return None;
    }
    let single = Hdmm { form: HdmmForm::SingleKronecker }.plan(workload, cost).ok()?;
    let SubspaceStrategy::Kronecker(factors) = single.measurements().first()?.strategy.as_ref()
    else {
        return None;
    };
    let measure = |factor: &StrategyFactor| {
        Measure::signed(measure_of_strategy(factor.covariance().ok()?.as_ref()).as_slice()?)
    };
    factors.iter().map(measure).collect::<Option<Vec<_>>>().map(ReferenceMeasure::new)
}

/// The logarithms of a measure's weights, one stretch per class; those that are small or negative
/// are raised.
pub(super) fn logarithms(measure: &ReferenceMeasure, classes: &Classes) -> Vec<Vec<f64>> {
    let first = |class: usize| classes.of.iter().position(|&c| c == class).unwrap_or(0);
    let one = |class: usize| {
        let weights = measure.of_attribute(first(class)).to_vec();
        let least = LEAST / weights.len() as f64;
        weights.iter().map(|w| w.max(least).ln()).collect()
    };
    (0..classes.sizes.len()).map(one).collect()
}

/// The families that product groups ask of a class's attributes.
fn families_of(workload: &GroupedWorkload, classes: &Classes, class: usize) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for group in workload.groups() {
        if let GroupQueries::Product(own) = group.queries() {
            for (position, family) in group.attributes().positions().zip(own) {
                if classes.of[position] == class && !families.contains(family) {
                    families.push(*family);
                }
            }
        }
    }
    families
}

fn ends(n: usize) -> Vec<f64> {
    let middle = n.saturating_sub(1) as f64 / 2.0;
    (0..n).map(|c| (1.0 + ENDS * ((c as f64 - middle) / middle.max(0.5)).powi(4)).ln()).collect()
}
