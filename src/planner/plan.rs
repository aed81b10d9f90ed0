//! Plans: measurements, their privacy costs, and the resulting variances.

use std::sync::Arc;

use super::objective_value;
use super::subspace::SubspaceStrategy;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::{ReferenceMeasure, centre_for, contracted};
use crate::schema::Schema;
use crate::strategy::{Objective, Proof, Status};
use crate::workload::{QueryCount, QueryGroup};

/// The relative tolerance when the recomputed privacy cost is compared with the budget.
const ROUNDING: f64 = 1e-9;

/// A measurement `B x_A + N(0, Σ)` of the marginal on A, with `BᵀΣ⁻¹B = privacy_cost · V`.
#[derive(Debug, Clone)]
pub struct PlannedMeasurement {
    /// A.
    pub attributes: AttributeSet,
    /// V, whose largest diagonal entry is at most 1.
    pub strategy: Arc<SubspaceStrategy>,
    /// The measurement's share of the privacy cost.
    pub privacy_cost: PrivacyCost,
}

/// How queries are answered from the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconstruction {
    /// A query is the sum of its subqueries.
    ///
    /// Each is answered from the measurement of its residual subspace.
    ResidualSubspaces,
    /// A query is answered from the measurement of its attribute set.
    SameMarginal,
    /// All queries are answered from one measurement of the full domain.
    FullDomain,
}

/// The error of one group of queries under a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupError {
    /// The attributes.
    pub attributes: AttributeSet,
    /// The family.
    pub family: &'static str,
    /// The number of queries.
    pub queries: QueryCount,
    /// The group's weight in the objective.
    pub weight: f64,
    /// The sum of the queries' variances.
    ///
    /// Each is multiplied by the query's weight, if queries have weights; the group's weight is not
    /// included.
    pub variance: f64,
}

impl GroupError {
    /// Returns the error of a group, given the sum of its queries' variances.
    pub fn of(group: &QueryGroup, variance: f64) -> Self {
        GroupError {
            attributes: group.attributes(),
            family: group.family(),
            queries: group.count(),
            weight: group.weight(),
            variance,
        }
    }

    /// Returns the group's weight times the mean square error of its queries.
    pub fn weighted_mean_square(&self) -> f64 {
        self.weight * self.variance / self.queries.as_f64()
    }

    /// Returns the root mean square error of the group's queries.
    pub fn rmse(&self) -> f64 {
        (self.variance / self.queries.as_f64()).sqrt()
    }
}

/// How the optimiser found the reference measure of a plan.
///
/// The plan's errors and certificate are exact for its measure, whatever the status.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasureSearch {
    /// The status of the optimiser for the start that led to the measure.
    pub status: Status,
    /// The start that led to the measure.
    pub start: MeasureStart,
    /// Evaluations of the total error and its gradient, over all starts.
    pub evaluations: usize,
    /// The number of classes of attributes that share a measure.
    pub classes: usize,
    /// The total variance for the uniform measure, as QuerySmasher has it.
    pub uniform_variance: f64,
}

/// The starting point of the search for a reference measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureStart {
    /// The uniform measure.
    Uniform,
    /// The measures of the one-attribute optima.
    ///
    /// For attributes with joint queries, more weight on both ends.
    Peaked,
    /// The measures of HDMM's single Kronecker strategy.
    Kronecker,
    /// No start: the search found nothing better than the uniform measure.
    None,
}

/// The proof of one problem of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct SubspaceProof {
    /// The attributes of the problem.
    pub attributes: AttributeSet,
    /// The weights on the cells of these attributes.
    pub proof: Proof,
}

/// Measurements, and the exact errors of the answers from them.
///
/// A plan does not depend on data.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) planner: String,
    pub(super) schema: Schema,
    pub(super) privacy_cost: PrivacyCost,
    pub(super) measurements: Vec<PlannedMeasurement>,
    pub(super) reconstruction: Reconstruction,
    pub(super) measure: ReferenceMeasure,
    pub(super) search: Option<MeasureSearch>,
    pub(super) groups: Vec<GroupError>,
    pub(super) lower_bound: Option<f64>,
    pub(super) objective: Objective,
    /// A lower bound on the value of the objective at unit privacy cost, if it is not the mean.
    pub(super) objective_bound: Option<f64>,
    pub(super) proofs: Vec<SubspaceProof>,
    pub(super) solves: usize,
    pub(super) iterations: usize,
}

impl Plan {
    /// Returns the planner's name.
    pub fn planner(&self) -> &str {
        &self.planner
    }

    /// Returns the schema of the workload.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the privacy cost that the plan may spend.
    pub fn privacy_cost(&self) -> PrivacyCost {
        self.privacy_cost
    }

    /// Returns the measurements.
    pub fn measurements(&self) -> &[PlannedMeasurement] {
        &self.measurements
    }

    /// Returns how queries are answered from the measurements.
    pub fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    /// Returns the reference measure of the residual subspaces.
    ///
    /// Uniform for all planners except [`Anova`](super::Anova).
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// Returns how the measure was found, if it was optimised.
    pub fn measure_search(&self) -> Option<&MeasureSearch> {
        self.search.as_ref()
    }

    /// Returns the errors of the groups, in the order of the workload.
    pub fn groups(&self) -> &[GroupError] {
        &self.groups
    }

    /// Returns the number of distinct strategy problems that were solved.
    pub fn solves(&self) -> usize {
        self.solves
    }

    /// Returns the number of eigendecompositions of the solves.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Returns the number of queries.
    pub fn queries(&self) -> QueryCount {
        self.groups.iter().map(|g| g.queries).fold(QueryCount::exact(0), QueryCount::plus)
    }

    /// Returns the weighted sum of all variances, which planners minimise by default.
    pub fn total_variance(&self) -> f64 {
        self.groups.iter().map(|g| g.weight * g.variance).sum()
    }

    /// Returns the root mean square error `√(Σ_q w_q Var(q) / #queries)`.
    ///
    /// S3, Sec. 8; with weights S3, App. E.
    pub fn rmse(&self) -> f64 {
        (self.total_variance() / self.queries().as_f64()).sqrt()
    }

    /// Returns a certified lower bound on [`Plan::total_variance`], if the planner proves one.
    ///
    /// It holds for all strategies for the same residual subspaces (or marginals without inference
    /// across them) and for all divisions of the privacy cost. `None` for other objectives than the
    /// mean.
    pub fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
    }

    /// Returns [`Plan::lower_bound`] as a root mean square error.
    pub fn lower_bound_rmse(&self) -> Option<f64> {
        self.lower_bound.map(|bound| (bound / self.queries().as_f64()).sqrt())
    }

    /// Returns the proofs of the solved problems, in their order.
    ///
    /// Only planners with a lower bound have them.
    pub fn proofs(&self) -> &[SubspaceProof] {
        &self.proofs
    }

    /// Returns the objective that the planner minimised.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Returns the value of the objective.
    ///
    /// The mean is Σ weight·variance / #queries. The maximum is over the groups, of
    /// [`GroupError::weighted_mean_square`].
    pub fn objective_value(&self) -> f64 {
        let errors: Vec<f64> = self.groups.iter().map(GroupError::weighted_mean_square).collect();
        let counts: Vec<f64> = self.groups.iter().map(|g| g.queries.as_f64()).collect();
        objective_value::value(self.objective, &errors, &counts)
    }

    /// Returns a certified lower bound on [`Plan::objective_value`], if the planner proves one.
    ///
    /// It holds for all strategies for the same residual subspaces and for all divisions of the
    /// privacy cost.
    pub fn objective_lower_bound(&self) -> Option<f64> {
        match self.objective {
            Objective::Mean => self.lower_bound.map(|bound| bound / self.queries().as_f64()),
            _ => self.objective_bound.map(|bound| bound / self.privacy_cost.get()),
        }
    }

    /// Returns the privacy cost, recomputed from the matrices of the strategies.
    ///
    /// It is the sum over the measurements of the largest diagonal entry of V times the share.
    pub fn recomputed_privacy_cost(&self) -> f64 {
        self.measurements.iter().map(|m| m.privacy_cost.get() * m.strategy.max_diagonal()).sum()
    }

    /// Returns the plan for another privacy cost.
    ///
    /// Every measurement keeps its share, and all variances and their bounds are inversely
    /// proportional to the cost.
    ///
    /// # Errors
    /// The cost of a measurement is outside the range of [`PrivacyCost`].
    pub fn at_privacy_cost(mut self, privacy_cost: PrivacyCost) -> Result<Self> {
        let factor = privacy_cost.get() / self.privacy_cost.get();
        for measurement in &mut self.measurements {
            measurement.privacy_cost = PrivacyCost::new(measurement.privacy_cost.get() * factor)?;
        }
        for group in &mut self.groups {
            group.variance /= factor;
        }
        self.lower_bound = self.lower_bound.map(|bound| bound / factor);
        if let Some(search) = &mut self.search {
            search.uniform_variance /= factor;
        }
        self.privacy_cost = privacy_cost;
        Ok(self)
    }

    /// Returns the plan if its recomputed privacy cost is within the budget.
    ///
    /// # Errors
    /// The recomputed privacy cost exceeds the plan's.
    pub(super) fn checked(self) -> Result<Self> {
        let spent = self.recomputed_privacy_cost();
        if spent <= self.privacy_cost.get() * (1.0 + ROUNDING) {
            return Ok(self);
        }
        Err(Error::bug(
            "plan",
            format!(
                "measurements of privacy cost at most {} from `{}`",
                self.privacy_cost, self.planner
            ),
            format!("{spent}, recomputed from the strategies; nothing was measured"),
        ))
    }

    /// Returns the exact variance of a query on some attributes.
    ///
    /// The query is over the row-major cells of their marginal. O(2^k · cells · Σ sizes) time for k
    /// attributes.
    ///
    /// # Errors
    /// The query has the wrong length, or the plan's measurements do not determine it.
    pub fn query_variance(&self, attributes: AttributeSet, query: &[f64]) -> Result<f64> {
        let sizes = self.schema.shape_of(attributes)?;
        let refuse = |expected: String, found: String, remedy: &str| {
            Error::bad_input(format!("query on attributes {attributes:?}"), expected, found, remedy)
        };
        if sizes.iter().product::<usize>() != query.len() {
            return Err(refuse(
                "one number per cell of their marginal".into(),
                format!("{} numbers for sizes {sizes:?}", query.len()),
                "give the query over the row-major cells, the last attribute varying fastest",
            ));
        }
        let unanswered = |what: String| {
            let remedy = "add a group on these attributes to the workload and plan again";
            refuse("a query that the plan's measurements determine".into(), what, remedy)
        };
        match self.reconstruction {
            Reconstruction::SameMarginal => {
                let found = self.measurements.iter().find(|m| m.attributes == attributes);
                let measurement =
                    found.ok_or_else(|| unanswered("no measurement of this marginal".into()))?;
                Ok(measurement.strategy.variance(query)? / measurement.privacy_cost.get())
            }
            Reconstruction::FullDomain => self.full_domain_variance(attributes, query),
            Reconstruction::ResidualSubspaces => {
                let norm: f64 = query.iter().map(|x| x * x).sum();
                let measures = self.measure.of(attributes);
                let mut variance = 0.0;
                for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
                    let mut part = contracted(&sizes, kept, query.to_vec(), &measures);
                    centre_for(&kept.select(&sizes), &mut part, &self.measure.of(set));
                    let spread = query.len() as f64 / part.len() as f64;
                    if part.iter().map(|x| x * x).sum::<f64>() * spread <= 1e-20 * norm {
                        continue;
                    }
                    let found = self.measurements.iter().find(|m| m.attributes == set);
                    let measurement = found.ok_or_else(|| {
                        unanswered(format!("no measurement of residual subspace {set:?}"))
                    })?;
                    variance +=
                        measurement.strategy.variance(&part)? / measurement.privacy_cost.get();
                }
                Ok(variance)
            }
        }
    }

    /// Returns the variance of a query from one measurement of the full domain.
    ///
    /// Factor by factor: attributes outside the query are summed over.
    fn full_domain_variance(&self, attributes: AttributeSet, query: &[f64]) -> Result<f64> {
        let mut variance = 1.0;
        let mut query_factors = Vec::new();
        for measurement in &self.measurements {
            variance /= measurement.privacy_cost.get();
            let SubspaceStrategy::Kronecker(factors) = measurement.strategy.as_ref() else {
                continue;
            };
            for (position, factor) in factors.iter().enumerate() {
                if attributes.contains(position) {
                    query_factors.push(factor.clone());
                } else {
                    variance *= factor.covariance()?.sum();
                }
            }
        }
        Ok(variance * SubspaceStrategy::Kronecker(query_factors).variance(query)?)
    }
}
