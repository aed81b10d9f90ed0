//! Plans from given measurements: their checks and their errors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};

use super::decomposition::{Decomposition, KernelId};
use super::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use super::subspace::SubspaceStrategy;
use crate::domain::{AttributeSet, coordinates};
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::{Measure, ReferenceMeasure, centre_for};
use crate::strategy::{Objective, Strategy, StrategyFactor};
use crate::workload::{Family, Gram, GramFactor, GroupQueries, GroupedWorkload, QueryGroup};
use matmech_linalg::{self as linalg, Quotient};

/// The relative tolerance of the check that a strategy annihilates the reference measure.
const ROUNDING: f64 = 1e-9;

impl Plan {
    /// Creates a plan from given measurements, for planners outside this crate.
    ///
    /// Its privacy cost is the sum of the shares. The errors of all groups are computed from the
    /// matrices.
    ///
    /// The plan has no lower bound. *Cost*: for residual subspaces a decomposition, and a trace per
    /// distinct strategy and kernel; otherwise a trace per group and a matrix product per query.
    ///
    /// # Errors
    /// A measure on another schema, measurements of attributes or cells that are not in the schema,
    /// a repeated attribute set, strategies of residual subspaces that do not annihilate the
    /// measure or do not determine the whole subspace, a strategy of the full domain without one
    /// factor per attribute, strategies that cost more than their shares, or queries that the
    /// measurements do not determine.
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
            objective: Objective::Mean,
            objective_bound: None,
            proofs: Vec::new(),
            solves: 0,
            iterations: 0,
        };
        plan.groups = match reconstruction {
            Reconstruction::ResidualSubspaces => {
                residual_errors(workload, measure, &plan.measurements, &HashSet::new())?
            }
            Reconstruction::SameMarginal | Reconstruction::FullDomain => {
                let group = |group: &QueryGroup| {
                    plan.check_determines(group)?;
                    Ok(GroupError::of(group, plan.variance_of(group)?))
                };
                workload.groups().iter().map(group).collect::<Result<_>>()?
            }
        };
        plan.checked()
    }

    /// Refuses queries of a group that the measurement which answers them does not determine.
    ///
    /// It is the measurement of the group's attributes, or of the full domain.
    fn check_determines(&self, group: &QueryGroup) -> Result<()> {
        let check = |factors: Vec<StrategyFactor>, gram: &Gram| {
            Strategy::kronecker(&self.planner, factors)?.error(gram).map(drop)
        };
        for measurement in &self.measurements {
            let strategy = measurement.strategy.as_ref();
            if measurement.attributes == group.attributes() {
                let factors = match strategy {
                    SubspaceStrategy::Kronecker(factors) => factors.clone(),
                    SubspaceStrategy::Fourier { shape, .. } => {
                        vec![StrategyFactor::from_gram(shape, Arc::new(strategy.gram()?))]
                    }
                };
                check(factors, &gram_of(group)?)?;
            } else if let (Reconstruction::FullDomain, SubspaceStrategy::Kronecker(factors)) =
                (self.reconstruction, strategy)
            {
                // There is one factor per attribute. The other attributes are summed over.
                let positions = group.attributes().positions();
                check(positions.map(|p| factors[p].clone()).collect(), &gram_of(group)?)?;
                let others =
                    (0..factors.len()).filter(|&position| !group.attributes().contains(position));
                for factor in others.map(|position| &factors[position]) {
                    let total = Array2::ones((factor.cells(), factor.cells()));
                    check(vec![factor.clone()], &Gram::dense(factor.shape(), total)?)?;
                }
            }
        }
        Ok(())
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
        // The bound is for plans that measure the same subspaces of the same measure with noise.
        let is_same_class = known.is_empty() && *measure == self.measure;
        let objective_bound = self.objective_bound.filter(|_| is_same_class);
        let measure = measure.clone();
        let privacy_cost =
            PrivacyCost::new(measurements.iter().map(|m| m.privacy_cost.get()).sum())?;
        Plan {
            privacy_cost,
            measurements,
            measure,
            groups,
            lower_bound: None,
            objective_bound,
            ..self.clone()
        }
        .checked()
    }
}

/// Returns the Gram of a group's queries over the cells of its marginal.
fn gram_of(group: &QueryGroup) -> Result<Gram> {
    match group.queries() {
        GroupQueries::Joint(joint) => Gram::dense(group.sizes(), joint.gram()?),
        GroupQueries::Product(families) => {
            let factor = |(family, &n): (&Family, &usize)| {
                Ok(GramFactor { shape: vec![n], matrix: Arc::new(family.gram(&[n])?) })
            };
            let factors = families.iter().zip(group.sizes()).map(factor);
            Gram::from_factors(factors.collect::<Result<_>>()?)
        }
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
    measure.check_sizes(&sizes)?;
    let all = AttributeSet::first(sizes.len());
    if reconstruction == Reconstruction::FullDomain
        && !matches!(measurements, [m] if m.attributes == all && has_factor_per_attribute(m))
    {
        return Err(Error::bad_input(
            "measurements of a plan",
            "one measurement on all attributes, by a Kronecker product of one factor per attribute",
            format!("{} measurements, or another strategy", measurements.len()),
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
        if reconstruction == Reconstruction::ResidualSubspaces
            && let Some(found) = defect(planned, measure)?
        {
            let expected = "a strategy of the residual subspace, which annihilates the reference \
                            measure and determines every residual query";
            return refuse(expected.into(), found.into());
        }
    }
    Ok(())
}

fn has_factor_per_attribute(planned: &PlannedMeasurement) -> bool {
    matches!(planned.strategy.as_ref(), SubspaceStrategy::Kronecker(factors)
        if factors.iter().all(|factor| factor.shape().len() == 1))
}

/// The defect of a strategy that answers more than residual queries.
const NOT_RESIDUAL: &str = "one that does not annihilate the measure";

/// The defect of a strategy that answers too few residual queries.
const TOO_SMALL: &str = "one that does not determine all residual queries";

/// Returns why a strategy is not one of its residual subspace, if so.
///
/// Its factors must annihilate the measure along every axis, and have the residual queries in their
/// row space.
fn defect(
    planned: &PlannedMeasurement,
    measure: &ReferenceMeasure,
) -> Result<Option<&'static str>> {
    let factors = match planned.strategy.as_ref() {
        SubspaceStrategy::Kronecker(factors) => factors,
        SubspaceStrategy::Fourier { shape, spectrum } => {
            return Ok(defect_of_spectrum(shape, spectrum, measure));
        }
    };
    let mut measures = measure.of(planned.attributes).into_iter();
    for factor in factors {
        let measures: Vec<Measure> = measures.by_ref().take(factor.shape().len()).collect();
        let defect = defect_of_factor(factor, &measures)?;
        if defect.is_some() {
            return Ok(defect);
        }
    }
    Ok(None)
}

/// Returns the defect of a strategy of weighted frequencies.
///
/// The residual frequencies have no zero coordinate. For the uniform measure, exactly those have
/// positive weights.
fn defect_of_spectrum(
    shape: &[usize],
    spectrum: &[f64],
    measure: &ReferenceMeasure,
) -> Option<&'static str> {
    let (others, residual): (Vec<_>, Vec<_>) = (spectrum.iter().enumerate())
        .partition(|(frequency, _)| coordinates(shape, *frequency).contains(&0));
    if !measure.is_uniform() || others.iter().any(|(_, x)| **x != 0.0) {
        return Some(NOT_RESIDUAL);
    }
    let measured = residual.iter().filter(|(_, x)| **x > 0.0).count();
    let rank: usize = shape.iter().map(|n| n - 1).product();
    let cells: usize = shape.iter().product();
    (spectrum.len() != cells || measured != rank).then_some(TOO_SMALL)
}

/// Returns the defect of a Kronecker factor with Gram matrix V.
///
/// With P the projection that the measures define, V is residual if `V P = V`, and whole if the row
/// space of P is in that of V.
fn defect_of_factor(factor: &StrategyFactor, measures: &[Measure]) -> Result<Option<&'static str>> {
    let gram = factor.gram()?;
    let top = gram.diag().iter().copied().fold(0.0, f64::max);
    let moved = centred(&gram, factor.shape(), measures) - gram.as_ref();
    if moved.iter().any(|x| x.abs() > ROUNDING * top) {
        return Ok(Some(NOT_RESIDUAL));
    }
    let residual_queries = centred(&Array2::eye(factor.cells()), factor.shape(), measures);
    let residual_gram = linalg::gram_of(residual_queries.view());
    let quotient = linalg::trace_of_quotient(residual_gram.view(), gram.view())?;
    Ok(matches!(quotient, Quotient::Outside { .. }).then_some(TOO_SMALL))
}

/// Returns rows over a box, centred along every axis by its measure.
fn centred(rows: &Array2<f64>, shape: &[usize], measures: &[Measure]) -> Array2<f64> {
    let mut centred = rows.as_standard_layout().into_owned();
    for mut row in centred.rows_mut() {
        let mut values = row.to_vec();
        centre_for(shape, &mut values, measures);
        row.assign(&ArrayView1::from(&values));
    }
    centred
}
