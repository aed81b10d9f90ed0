//! Where the search for a measure starts besides the uniform one.

use ndarray::Array2;

use super::classes::Classes;
use super::measure_of_strategy;
use crate::error::Result;
use crate::strategy::{Optimal, OptimalOptions, StrategySelector};
use crate::workload::{Family, Gram, GroupQueries, GroupedWorkload};

/// Weights are at least this share of the uniform ones.
const LEAST: f64 = 1e-2;

/// How much more weight the ends get where queries are joint.
const ENDS: f64 = 3.0;

/// The logarithms of one measure per class: that of the optimal strategy for the class's own families, `ν = X⁻¹1/(1ᵀX⁻¹1)`.
/// Where queries are joint the uniform measure can be stationary without being optimal; there, more weight on both ends.
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
