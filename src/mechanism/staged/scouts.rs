//! The first measurements of staged measurement, planned without data.

use std::collections::BTreeSet;

use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::privacy_coefficient;
use crate::schema::LevelSchema;

/// Shares of ρ of the first measurements, by number of attributes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shares {
    /// The total.
    pub(super) total: f64,
    /// Single attributes.
    pub(super) singles: f64,
    /// Pairs.
    pub(super) pairs: f64,
    /// Sets of three and more attributes, together.
    pub(super) larger: f64,
}

/// A residual of the closure of the workload.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosureResidual {
    pub(super) set: AttributeSet,
    /// p_τ.
    pub(super) price: f64,
    /// n_τ.
    pub(super) cells: f64,
}

/// Returns the residuals of the closure of some marginals, smaller sets first, ∅ included: of all
/// sets that they determine, with coarser levels in place of attributes.
///
/// Residuals of attributes of one value are omitted: they are 0.
///
/// # Errors
/// Attributes that the schema lacks.
pub(super) fn closure(
    domain: &LevelSchema,
    workload: &[AttributeSet],
) -> Result<Vec<ClosureResidual>> {
    let schema = domain.schema();
    let determined = workload.iter().flat_map(|gamma| domain.determined_by(*gamma));
    let sets: BTreeSet<(usize, AttributeSet)> = determined.map(|tau| (tau.len(), tau)).collect();
    let mut residuals = Vec::with_capacity(sets.len());
    for (_, set) in sets {
        let shape = schema.shape_of(set)?;
        let price = privacy_coefficient(&shape, AxisSet::all(shape.len()));
        let cells = shape.iter().map(|&n| n as f64).product();
        if price > 0.0 {
            residuals.push(ClosureResidual { set, price, cells });
        }
    }
    Ok(residuals)
}

/// Returns the first measurements: residuals with precisions λ, at a cost of Σ p_τ λ_τ/2.
///
/// Within the residuals of one number of attributes, λ ∝ √n_τ. Sets of three and more attributes
/// are measured smallest first while their cells together are at most `max_cells`; their share is
/// divided equally among the numbers of attributes. Shares of kinds without residuals are unspent.
///
/// # Errors
/// More than `max_cells` cells of sets of at most two attributes, which are kept in memory.
pub(super) fn scouts(
    residuals: &[ClosureResidual],
    shares: &Shares,
    rho: f64,
    max_cells: f64,
) -> Result<Vec<(AttributeSet, f64)>> {
    let small: f64 = residuals.iter().filter(|r| r.set.len() <= 2).map(|r| r.cells).sum();
    if small > max_cells {
        return Err(Error::too_large(
            "pairs of attributes of the workload, which the mechanism `staged` keeps in memory",
            "cells",
            max_cells,
            small,
            "ask for fewer marginals, or use the mechanism aim-hybrid",
        ));
    }
    let mut measured: Vec<&ClosureResidual> =
        residuals.iter().filter(|residual| residual.set.len() <= 2).collect();
    let mut larger: Vec<&ClosureResidual> =
        residuals.iter().filter(|residual| residual.set.len() > 2).collect();
    larger.sort_by(|a, b| a.cells.total_cmp(&b.cells).then(a.set.cmp(&b.set)));
    let mut cells = 0.0;
    measured.extend(larger.into_iter().take_while(|residual| {
        cells += residual.cells;
        cells <= max_cells
    }));
    measured.sort_by_key(|residual| (residual.set.len(), residual.set));
    let orders = measured.last().map_or(0, |residual| residual.set.len());
    let present =
        (3..=orders).filter(|&n| measured.iter().any(|residual| residual.set.len() == n)).count();
    let share = |order: usize| match order {
        0 => shares.total,
        1 => shares.singles,
        2 => shares.pairs,
        _ => shares.larger / present as f64,
    };
    let mut costs = vec![0.0; orders + 1];
    for residual in &measured {
        costs[residual.set.len()] += residual.price * residual.cells.sqrt() / 2.0;
    }
    let precision = |residual: &&ClosureResidual| {
        let order = residual.set.len();
        (residual.set, share(order) * rho / costs[order] * residual.cells.sqrt())
    };
    Ok(measured.iter().map(precision).collect())
}
