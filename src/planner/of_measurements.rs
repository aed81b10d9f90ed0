//! Plans from given measurements: their checks and their errors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::decomposition::{Decomposition, KernelId};
use super::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use super::subspace::SubspaceStrategy;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::{ReferenceMeasure, centre_for};
use crate::workload::{GroupQueries, GroupedWorkload, QueryGroup};

/// The relative tolerance of the check that a strategy annihilates the reference measure.
const ROUNDING: f64 = 1e-9;

impl Plan {
    /// Creates a plan from given measurements, for planners outside this crate.
    ///
    /// Its privacy cost is the sum of the shares. The errors of all groups are computed from the
    /// matrices.
    ///
    /// The plan has no lower bound. *Cost*: for residual subspaces a decomposition, and a trace per
    /// distinct strategy and kernel; otherwise a matrix product per query.
    ///
    /// # Errors
    /// Measurements of attributes or cells that are not in the schema, a repeated attribute set,
    /// strategies of residual subspaces that do not annihilate the measure, strategies that cost
    /// more than their shares, or queries that the measurements do not determine.
    pub fn of_measurements(
        planner: &str,
        workload: &GroupedWorkload,
        measurements: Vec<PlannedMeasurement>,
        reconstruction: Reconstruction,
        measure: &ReferenceMeasure,
    ) -> Result<Plan> {
        check(workload, &measurements, reconstruction, measure)?;
        let privacy_cost =
            PrivacyCost::new(measurements.iter().map(|m| m.privacy_cost.get()).sum())?;
        let mut plan = Plan {
            planner: planner.to_owned(),
            schema: workload.schema().clone(),
            privacy_cost,
            measurements,
            reconstruction,
            measure: measure.clone(),
            search: None,
            groups: Vec::new(),
            lower_bound: None,
            solves: 0,
            iterations: 0,
        };
        plan.groups = match reconstruction {
            Reconstruction::ResidualSubspaces => {
                residual_errors(workload, measure, &plan.measurements, &HashSet::new())?
            }
            Reconstruction::SameMarginal | Reconstruction::FullDomain => {
                let group =
                    |group: &QueryGroup| Ok(GroupError::of(group, plan.variance_of(group)?));
                workload.groups().iter().map(group).collect::<Result<_>>()?
            }
        };
        plan.checked()
    }

    /// Returns the sum of the variances of a group's queries, computed query by query.
    fn variance_of(&self, group: &QueryGroup) -> Result<f64> {
        let weight = |query: usize| match group.queries() {
            GroupQueries::Joint(joint) => joint.weight(query),
            GroupQueries::Product(_) => 1.0,
        };
        let rows = group.rows()?.enumerate();
        rows.map(|(query, row)| Ok(weight(query) * self.query_variance(group.attributes(), &row)?))
            .sum()
    }

    /// Returns the plan with other strategies V_A, privacy costs c_A and measure.
    ///
    /// There is one strategy and c_A per measurement, in their order. The plan's privacy cost is
    /// Σ_A c_A, and the errors are exact: `Σ_A tr(G_A V_A⁺)/c_A`. A subspace without a privacy cost
    /// is known without noise: it contributes no error and is not measured.
    ///
    /// # Errors
    /// The workload is not the plan's, the plan does not measure residual subspaces, the number of
    /// strategies is wrong, or a strategy costs more than its share.
    pub fn with_strategies(
        &self,
        workload: &GroupedWorkload,
        measure: &ReferenceMeasure,
        strategies: &[(Arc<SubspaceStrategy>, Option<PrivacyCost>)],
    ) -> Result<Plan> {
        let is_same =
            self.schema == *workload.schema() && self.groups.len() == workload.groups().len();
        if !is_same
            || self.reconstruction != Reconstruction::ResidualSubspaces
            || strategies.len() != self.measurements.len()
        {
            return Err(Error::bad_input(
                "plan with other strategies",
                "a plan of residual subspaces, its workload, and a strategy per measurement",
                format!(
                    "{} strategies for {} measurements",
                    strategies.len(),
                    self.measurements.len()
                ),
                "make a plan of this workload first",
            ));
        }
        let measurements: Vec<PlannedMeasurement> = (self.measurements.iter().zip(strategies))
            .filter_map(|(planned, (strategy, privacy_cost))| {
                let (strategy, privacy_cost) = (strategy.clone(), (*privacy_cost)?);
                Some(PlannedMeasurement { attributes: planned.attributes, strategy, privacy_cost })
            })
            .collect();
        let without_noise =
            self.measurements.iter().zip(strategies).filter(|(_, (_, cost))| cost.is_none());
        let known = without_noise.map(|(planned, _)| planned.attributes).collect();
        let groups = residual_errors(workload, measure, &measurements, &known)?;
        let measure = measure.clone();
        let privacy_cost =
            PrivacyCost::new(measurements.iter().map(|m| m.privacy_cost.get()).sum())?;
        Plan { privacy_cost, measurements, measure, groups, lower_bound: None, ..self.clone() }
            .checked()
    }
}

/// Returns the errors of all groups from measurements of residual subspaces.
///
/// The subspaces in `known` have no noise.
fn residual_errors(
    workload: &GroupedWorkload,
    measure: &ReferenceMeasure,
    measurements: &[PlannedMeasurement],
    known: &HashSet<AttributeSet>,
) -> Result<Vec<GroupError>> {
    let decomposition = Decomposition::for_measure(workload, measure)?;
    let measured: HashMap<_, _> = measurements.iter().map(|m| (m.attributes, m)).collect();
    let mut traces: HashMap<(usize, Vec<KernelId>), f64> = HashMap::new();
    let mut groups = Vec::with_capacity(workload.groups().len());
    for group in workload.groups() {
        let mut variance = 0.0;
        for (attributes, term) in decomposition.terms_of(group)? {
            if known.contains(&attributes) {
                continue;
            }
            let Some(measurement) = measured.get(&attributes) else {
                return Err(Error::bad_input(
                    "measurements of a plan",
                    "a measurement of every residual subspace of its workload",
                    format!("no measurement of residual subspace {attributes:?}"),
                    "measure every subset of every group's attributes that a query depends on",
                ));
            };
            // The strategies live as long as the measurements, so their addresses identify them.
            let key = (Arc::as_ptr(&measurement.strategy) as usize, term.kernels);
            let trace = match traces.get(&key) {
                Some(&trace) => trace,
                None => {
                    let trace = measurement.strategy.trace(&decomposition.kernels(&key.1))?;
                    *traces.entry(key).or_insert(trace)
                }
            };
            variance += term.coefficient * trace / measurement.privacy_cost.get();
        }
        groups.push(GroupError::of(group, variance));
    }
    Ok(groups)
}

fn check(
    workload: &GroupedWorkload,
    measurements: &[PlannedMeasurement],
    reconstruction: Reconstruction,
    measure: &ReferenceMeasure,
) -> Result<()> {
    let sizes = workload.schema().sizes();
    let all = AttributeSet::first(sizes.len());
    let is_full = matches!(measurements, [measurement] if measurement.attributes == all);
    if reconstruction == Reconstruction::FullDomain && !is_full {
        return Err(Error::bad_input(
            "measurements of a plan",
            "one measurement on all attributes",
            format!("{} measurements", measurements.len()),
            "measure the full domain, or choose another reconstruction",
        ));
    }
    let mut seen = HashSet::new();
    for planned in measurements {
        let attributes = planned.attributes;
        let refuse = |expected: String, found: String| {
            let remedy = "measure every set of attributes once, by a strategy over its cells";
            Err(Error::bad_input(
                format!("measurement on attributes {attributes:?}"),
                expected,
                found,
                remedy,
            ))
        };
        if attributes.end() > sizes.len() || planned.strategy.shape() != attributes.select(&sizes) {
            let expected = "attributes of the schema, and a strategy over their cells".to_owned();
            return refuse(expected, format!("a strategy over {:?}", planned.strategy.shape()));
        }
        if !seen.insert(attributes) {
            return refuse("every set of attributes once".into(), "the set twice".into());
        }
        if reconstruction == Reconstruction::ResidualSubspaces && !annihilates(planned, measure)? {
            let expected =
                "a strategy of the residual subspace, which annihilates the reference measure"
                    .to_owned();
            return refuse(expected, "one that does not".into());
        }
    }
    Ok(())
}

/// Returns whether every factor of a strategy annihilates the measure along every axis.
fn annihilates(planned: &PlannedMeasurement, measure: &ReferenceMeasure) -> Result<bool> {
    let SubspaceStrategy::Kronecker(factors) = planned.strategy.as_ref() else {
        return Ok(measure.is_uniform());
    };
    let measures = measure.of(planned.attributes);
    let mut start = 0;
    for factor in factors {
        let factor_measures = &measures[start..start + factor.shape().len()];
        start += factor.shape().len();
        let gram = factor.gram()?;
        let top = gram.diag().iter().copied().fold(0.0, f64::max);
        for row in gram.rows() {
            let mut centred = row.to_vec();
            centre_for(factor.shape(), &mut centred, factor_measures);
            if row.iter().zip(&centred).any(|(x, y)| (x - y).abs() > ROUNDING * top) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
