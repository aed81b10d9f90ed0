//! Starts of the search for a measure, besides the uniform measure.

use ndarray::{Array1, Array2};

use super::classes::Classes;
use crate::error::Result;
use crate::planner::{Hdmm, HdmmForm, Planner, SubspaceStrategy};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{Optimal, OptimalOptions, StrategyFactor, StrategySelector};
use crate::workload::{Family, Gram, GroupQueries, GroupedWorkload};

/// The minimum weight of a start, as a share of the uniform weight.
pub(super) const MIN_SHARE: f64 = 1e-2;

/// The maximum number of attributes for the start from HDMM's Kronecker strategy.
const MAX_ATTRIBUTES: usize = 10;

/// The additional relative weight of both ends for attributes with joint queries.
const END_WEIGHT: f64 = 3.0;

/// Returns the logarithms of one measure per class.
///
/// It is the measure `ν = X⁻¹1/(1ᵀX⁻¹1)` of the optimal strategy X for the class's families. For
/// joint queries it has more weight on both ends, because there the uniform measure can be
/// stationary without being optimal.
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
            let family_gram = family.gram(&[n])?;
            gram.scaled_add(1.0 / family_gram.diag().sum(), &family_gram);
        }
        let best = Optimal::new(options)?.select(&Gram::dense(&[n], gram)?)?;
        let measure = measure_of_strategy(best.strategy.factors()[0].covariance()?.as_ref());
        out.push(measure.iter().map(|w| w.max(MIN_SHARE / n as f64).ln()).collect());
    }
    Ok(out)
}

/// Returns the measure of HDMM's single Kronecker strategy.
///
/// `None` for joint queries or many attributes.
pub(super) fn of_kronecker_strategy(
    workload: &GroupedWorkload,
    cost: PrivacyCost,
) -> Option<ReferenceMeasure> {
    if workload.schema().attributes().len() > MAX_ATTRIBUTES {
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

/// Returns the families of product groups on a class's attributes.
fn families_of(workload: &GroupedWorkload, classes: &Classes, class: usize) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for group in workload.groups() {
        if let GroupQueries::Product(asked) = group.queries() {
            for (position, family) in group.attributes().positions().zip(asked) {
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
    (0..n)
        .map(|c| (1.0 + END_WEIGHT * ((c as f64 - middle) / middle.max(0.5)).powi(4)).ln())
        .collect()
}

/// Returns the measure `ν = X⁻¹1 / (1ᵀX⁻¹1)` of a strategy on one attribute.
///
/// For this measure the strategy splits into its total and its residual. Weights may be negative.
fn measure_of_strategy(covariance: &Array2<f64>) -> Array1<f64> {
    let sums = covariance.sum_axis(ndarray::Axis(1));
    let total = sums.sum();
    sums / total
}
