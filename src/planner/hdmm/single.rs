//! One Kronecker strategy over the full domain, by coordinate sweeps over the attributes.

use std::sync::Arc;

use ndarray::Array2;

use super::optimum::{Optimum, family_gram, optimum, trace};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use crate::planner::subspace::SubspaceStrategy;
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::strategy::{Objective, StrategyFactor};
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

/// The maximum number of sweeps over the attributes for the single Kronecker strategy.
const MAX_SWEEPS: usize = 10;

/// The sweeps end when one lowers the loss by at most this share.
const MIN_IMPROVEMENT: f64 = 1e-9;

/// The state of one attribute in the search for the single Kronecker strategy.
struct Axis {
    size: usize,
    /// The families of the workload on this attribute, with Gram and `tr(Γ V⁻¹)/tr(J V⁻¹)`.
    families: Vec<(Family, Array2<f64>, f64)>,
    /// `tr(J V⁻¹)`.
    total: f64,
    strategy: StrategyFactor,
}

impl Axis {
    fn ratio(&self, family: Family) -> f64 {
        self.families.iter().find(|(f, ..)| *f == family).map_or(0.0, |(_, _, ratio)| *ratio)
    }
}

fn families_of(group: &QueryGroup) -> Result<&[Family]> {
    match group.queries() {
        GroupQueries::Product(families) => Ok(families),
        GroupQueries::Joint(_) => Err(Error::bad_input(
            "planner `hdmm-kronecker`",
            "product families on one attribute each, such as identity, prefix or range",
            format!(
                "a group of joint `{}` queries on {} attributes",
                group.family(),
                group.sizes().len()
            ),
            "use hdmm-union or query-smasher",
        )),
    }
}

/// Returns the plan of one Kronecker strategy.
pub(super) fn single(
    name: &str,
    workload: &GroupedWorkload,
    privacy_cost: PrivacyCost,
) -> Result<Plan> {
    let mut axes = Vec::new();
    for (position, attribute) in workload.schema().attributes().iter().enumerate() {
        let mut families: Vec<(Family, Array2<f64>, f64)> = Vec::new();
        for group in workload.groups() {
            let wanted = group
                .attributes()
                .positions()
                .zip(families_of(group)?)
                .find(|(p, _)| *p == position);
            if let Some((_, family)) =
                wanted.filter(|(_, f)| families.iter().all(|(known, ..)| known != *f))
            {
                let gram = family_gram(*family, attribute.size)?;
                let ratio = gram.diag().sum() / attribute.size as f64;
                families.push((*family, gram, ratio));
            }
        }
        let strategy =
            StrategyFactor::from_gram_scaled(&[attribute.size], Array2::eye(attribute.size))?;
        axes.push(Axis { size: attribute.size, families, total: attribute.size as f64, strategy });
    }
    let (mut solves, mut iterations) = (0, 0);
    let mut loss = f64::MAX;
    for _ in 0..MAX_SWEEPS {
        for position in 0..axes.len() {
            let gram = coordinate_gram(workload, &axes, position)?;
            let Optimum { strategy, iterations: used, .. } =
                optimum(&[axes[position].size], gram, None)?;
            (solves, iterations) = (solves + 1, iterations + used);
            let axis = &mut axes[position];
            axis.total = strategy.covariance()?.sum();
            for (_, gram, ratio) in &mut axis.families {
                *ratio = trace(gram, &strategy)? / axis.total;
            }
            axis.strategy = strategy;
        }
        let new_loss: f64 = variances(workload, &axes)?
            .iter()
            .zip(workload.groups())
            .map(|(variance, g)| variance * g.weight())
            .sum();
        let converged = loss - new_loss <= MIN_IMPROVEMENT * loss;
        loss = new_loss;
        if converged {
            break;
        }
    }
    let variances = variances(workload, &axes)?;
    let groups = workload
        .groups()
        .iter()
        .zip(variances)
        .map(|(g, variance)| GroupError::of(g, variance / privacy_cost.get()));
    let groups = groups.collect();
    Ok(Plan {
        planner: name.to_string(),
        schema: workload.schema().clone(),
        privacy_cost,
        measurements: vec![PlannedMeasurement {
            attributes: AttributeSet::first(axes.len()),
            strategy: Arc::new(SubspaceStrategy::Kronecker(
                axes.into_iter().map(|axis| axis.strategy).collect(),
            )),
            privacy_cost,
        }],
        reconstruction: Reconstruction::FullDomain,
        measure: ReferenceMeasure::uniform(&workload.schema().sizes()),
        search: None,
        groups,
        lower_bound: None,
        objective: Objective::Mean,
        objective_bound: None,
        proofs: Vec::new(),
        solves,
        iterations,
    })
}

/// Returns the groups' variances at unit privacy cost.
fn variances(workload: &GroupedWorkload, axes: &[Axis]) -> Result<Vec<f64>> {
    let base: f64 = axes.iter().map(|axis| axis.total).product();
    let variance = |group: &QueryGroup| -> Result<f64> {
        let pairs = group.attributes().positions().zip(families_of(group)?);
        Ok(pairs.map(|(p, family)| axes[p].ratio(*family)).product::<f64>() * base)
    };
    workload.groups().iter().map(variance).collect()
}

/// Returns the Gram of the loss for one attribute, with the others fixed.
///
/// It is `aJ + Σ bΓ`, scaled to a maximum diagonal of 1.
///
/// Ratios to `tr(J V⁻¹)` keep the products over all attributes within the range of f64.
fn coordinate_gram(
    workload: &GroupedWorkload,
    axes: &[Axis],
    position: usize,
) -> Result<Array2<f64>> {
    let axis = &axes[position];
    let mut total_share = 0.0;
    let mut shares = vec![0.0; axis.families.len()];
    for group in workload.groups() {
        let mut product = group.weight();
        let mut family_index = None;
        for (p, family) in group.attributes().positions().zip(families_of(group)?) {
            if p == position {
                family_index = axis.families.iter().position(|(f, ..)| f == family);
            } else {
                product *= axes[p].ratio(*family);
            }
        }
        match family_index {
            Some(k) => shares[k] += product,
            None => total_share += product,
        }
    }
    let mut gram = Array2::from_elem((axis.size, axis.size), total_share);
    for ((_, family_gram, _), share) in axis.families.iter().zip(&shares) {
        gram.scaled_add(*share, family_gram);
    }
    let scale = gram.diag().iter().copied().fold(0.0, f64::max);
    Ok(gram / scale)
}
