//! Plans by residual subspaces: every distinct residual problem is solved once.

use std::collections::HashMap;

use super::decomposition::{Decomposition, KernelId, ResidualProblem};
use super::group_weights::GroupWeights;
use super::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use super::residual_solutions::Solutions;
use super::solver::{SubspaceProblem, SubspaceSolver};
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::strategy::Objective;
use crate::workload::{GroupQueries, GroupedWorkload, QueryGroup};

/// Decomposes a workload, if every residual problem fits in the solver's memory.
///
/// Checks the sizes before it enumerates queries.
pub(super) fn decompose_if_it_fits(
    workload: &GroupedWorkload,
    measure: &ReferenceMeasure,
    solver: &dyn SubspaceSolver,
) -> Result<Decomposition> {
    for group in workload.groups() {
        if let GroupQueries::Joint(queries) = group.queries() {
            solver.check_fits(group.sizes(), Some(queries.count()))?;
        }
    }
    let decomposition = Decomposition::for_measure(workload, measure)?;
    for residual in decomposition.residuals().iter().filter(|residual| !residual.is_product()) {
        let ResidualProblem { sizes, terms, .. } = residual;
        let terms: Vec<_> =
            terms.iter().map(|t| (t.coefficient, decomposition.kernels(&t.kernels))).collect();
        let problem = SubspaceProblem { sizes, classes: &[], terms };
        solver.check_fits(sizes, problem.joint_rows())?;
    }
    Ok(decomposition)
}

impl Plan {
    /// Plans a workload by residual subspaces, under a planner's name.
    ///
    /// Every distinct problem is solved once. The privacy cost is divided in the ratio
    /// `p_A ∝ √L_A`, which minimises the weighted sum of all variances: it is `(Σ √L_A)²/β`.
    ///
    /// # Errors
    /// A solve fails or is refused, or the strategies exceed the privacy cost.
    pub fn by_residual_subspaces(
        planner: &str,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
        solver: &dyn SubspaceSolver,
    ) -> Result<Self> {
        let measure = ReferenceMeasure::uniform(&workload.schema().sizes());
        Self::by_reference_measure(planner, workload, privacy_cost, &measure, solver)
    }

    /// Plans a workload by the residual subspaces of a reference measure.
    ///
    /// # Errors
    /// As [`Plan::by_residual_subspaces`], or the measure does not match the schema.
    pub fn by_reference_measure(
        planner: &str,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
        measure: &ReferenceMeasure,
        solver: &dyn SubspaceSolver,
    ) -> Result<Self> {
        plan(planner, workload, privacy_cost, measure, solver, None)
    }

    /// Plans a workload by the residual subspaces of a reference measure for an objective.
    ///
    /// With [`Objective::Max`] the plan minimises the largest [`GroupError::weighted_mean_square`].
    /// [`Plan::objective_lower_bound`] is a bound if the solver proves one.
    ///
    /// *Cost*: of [`Plan::by_reference_measure`], and of its solves again for every evaluation of
    /// the search for group weights if residual problems are not single products and the solver's
    /// strategies are not fixed.
    ///
    /// # Errors
    /// As [`Plan::by_reference_measure`].
    pub fn for_objective(
        planner: &str,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
        measure: &ReferenceMeasure,
        solver: &dyn SubspaceSolver,
        objective: Objective,
    ) -> Result<Self> {
        match objective {
            Objective::Mean => {
                Self::by_reference_measure(planner, workload, privacy_cost, measure, solver)
            }
            _ => Ok(plan_for(planner, workload, privacy_cost, measure, solver, objective)?.0),
        }
    }
}

/// Plans for an objective that is not the mean.
///
/// Also returns the workload with the weights for which the smallest weighted sum of all variances
/// is the smallest value of the objective.
///
/// # Errors
/// As [`plan`].
pub(super) fn plan_for(
    name: &str,
    workload: &GroupedWorkload,
    privacy_cost: PrivacyCost,
    measure: &ReferenceMeasure,
    solver: &dyn SubspaceSolver,
    objective: Objective,
) -> Result<(Plan, GroupedWorkload)> {
    let decomposition = decompose_if_it_fits(workload, measure, solver)?;
    let found = GroupWeights::of(workload, &decomposition, solver, objective)?;
    let reweighted = |(group, weight): (&QueryGroup, &f64)| {
        group.with_weight(weight * group.weight() / group.count().as_f64())
    };
    let groups = workload.groups().iter().zip(&found.weights).map(reweighted).collect();
    let reweighted = GroupedWorkload::new(workload.schema().clone(), groups)?;
    let mut plan = plan(name, &reweighted, privacy_cost, measure, solver, None)?;
    for (error, group) in plan.groups.iter_mut().zip(workload.groups()) {
        error.weight = group.weight();
    }
    plan.objective = objective;
    plan.objective_bound = plan.lower_bound.take().map(|bound| bound * privacy_cost.get());
    plan.solves += found.solves;
    plan.iterations += found.iterations;
    Ok((plan, reweighted))
}

/// Plans a workload by the residual subspaces of a measure.
///
/// Solves each, and divides the privacy cost in the ratio `p_A ∝ √L_A`, with L_A from the workload
/// `allocate_by` if given.
///
/// # Errors
/// A solve fails or is refused, or the strategies exceed the privacy cost.
pub(super) fn plan(
    name: &str,
    workload: &GroupedWorkload,
    privacy_cost: PrivacyCost,
    measure: &ReferenceMeasure,
    solver: &dyn SubspaceSolver,
    allocate_by: Option<&GroupedWorkload>,
) -> Result<Plan> {
    let decomposition = decompose_if_it_fits(workload, measure, solver)?;
    let mut solutions = Solutions::new(&decomposition, solver);
    let mut indices = Vec::with_capacity(decomposition.residuals().len());
    let mut roots = Vec::with_capacity(indices.capacity());
    let mut root_bounds: Option<f64> = allocate_by.is_none().then_some(0.0);
    for residual in decomposition.residuals() {
        let (index, scale) = solutions.solve(residual)?;
        let solution = &solutions.list[index];
        roots.push((scale * solution.error).sqrt());
        root_bounds =
            root_bounds.zip(solution.lower_bound).map(|(sum, bound)| sum + (scale * bound).sqrt());
        indices.push(index);
    }
    if let Some(other) = allocate_by {
        roots = roots_for(other, &decomposition, &solutions, &indices)?;
    }
    let total: f64 = roots.iter().sum();
    let shares: Vec<f64> = roots.iter().map(|root| privacy_cost.get() * root / total).collect();
    let measurements: Vec<PlannedMeasurement> = decomposition
        .residuals()
        .iter()
        .zip(indices.iter().zip(&shares))
        .map(|(residual, (&index, &share))| {
            let strategy = solutions.list[index].strategy.clone();
            Ok(PlannedMeasurement {
                attributes: residual.attributes,
                strategy,
                privacy_cost: PrivacyCost::new(share)?,
            })
        })
        .collect::<Result<_>>()?;
    let mut groups = Vec::with_capacity(workload.groups().len());
    for group in workload.groups() {
        let mut variance = 0.0;
        for (attributes, term) in decomposition.terms_of(group)? {
            let Some(k) = decomposition.position(attributes) else { continue };
            variance += term.coefficient * solutions.trace(indices[k], &term.kernels)? / shares[k];
        }
        groups.push(GroupError::of(group, variance));
    }
    let (solves, iterations, proofs) = (solutions.solves, solutions.iterations, solutions.proofs);
    Plan {
        planner: name.to_string(),
        schema: workload.schema().clone(),
        privacy_cost,
        measurements,
        reconstruction: Reconstruction::ResidualSubspaces,
        measure: measure.clone(),
        search: None,
        groups,
        lower_bound: root_bounds.map(|sum| sum * sum / privacy_cost.get()),
        objective: Objective::Mean,
        objective_bound: None,
        proofs,
        solves,
        iterations,
    }
    .checked()
}

/// Returns √L_A of another workload under the strategies for this one.
fn roots_for(
    other: &GroupedWorkload,
    decomposition: &Decomposition,
    solutions: &Solutions<'_>,
    indices: &[usize],
) -> Result<Vec<f64>> {
    let other = Decomposition::for_measure(other, decomposition.measure())?;
    let mut known: HashMap<(usize, Vec<KernelId>), f64> = HashMap::new();
    let mut roots = Vec::with_capacity(indices.len());
    for (residual, &index) in decomposition.residuals().iter().zip(indices) {
        let Some(k) = other.position(residual.attributes) else {
            return Err(Error::bad_input(
                "division of the privacy cost",
                "a workload with the same residual subspaces",
                format!("none for {:?}", residual.attributes),
                "divide by the coefficients of the planned workload",
            ));
        };
        let mut error = 0.0;
        for term in &other.residuals()[k].terms {
            let key = (index, term.kernels.clone());
            let trace = match known.get(&key) {
                Some(&trace) => trace,
                None => {
                    let kernels = other.kernels(&term.kernels);
                    let trace = solutions.list[index].strategy.trace(&kernels)?;
                    known.insert(key, trace);
                    trace
                }
            };
            error += term.coefficient * trace;
        }
        roots.push(error.sqrt());
    }
    Ok(roots)
}
