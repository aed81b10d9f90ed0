//! Plans: what to measure, at which privacy cost, and the variances that follow.

use std::sync::Arc;

use super::subspace::SubspaceStrategy;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::{ReferenceMeasure, centre_for, contracted};
use crate::schema::Schema;
use crate::strategy::Status;
use crate::workload::{QueryCount, QueryGroup};

/// Rounding allowed when the privacy cost of what is measured is compared with what may be spent.
const ROUNDING: f64 = 1e-9;

/// One measurement: `B x_A + N(0, Σ)` of the marginal on A with `BᵀΣ⁻¹B = privacy_cost · V`.
#[derive(Debug, Clone)]
pub struct PlannedMeasurement {
    /// A.
    pub attributes: AttributeSet,
    /// V, with a largest diagonal entry of at most 1.
    pub strategy: Arc<SubspaceStrategy>,
    /// The share of the privacy cost.
    pub privacy_cost: PrivacyCost,
}

/// How answers come from the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconstruction {
    /// A query is the sum of its subqueries, each answered from the measurement of its residual
    /// subspace.
    ResidualSubspaces,
    /// A query is answered from the measurement of its own attribute set.
    OwnMarginal,
    /// One measurement of the full domain answers everything.
    FullDomain,
}

/// The error that a plan gives one group of queries.
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
    /// The sum of the queries' variances (each times its own weight where queries have weights),
    /// without the group's weight.
    pub variance: f64,
}

impl GroupError {
    /// The error of a group whose queries have variances of this sum.
    pub fn of(group: &QueryGroup, variance: f64) -> Self {
        GroupError {
            attributes: group.attributes(),
            family: group.family(),
            queries: group.count(),
            weight: group.weight(),
            variance,
        }
    }

    /// The root mean square error of the group's queries.
    pub fn rmse(&self) -> f64 {
        (self.variance / self.queries.as_f64()).sqrt()
    }
}

/// How an optimiser found the reference measure of a plan. Whatever the status, the plan's errors
/// and certificate are those of the measure that it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasureSearch {
    /// How the optimiser ended, from the start that led to the measure.
    pub status: Status,
    /// The start that led to the measure.
    pub start: MeasureStart,
    /// Evaluations of the total error and its gradient, from all starts.
    pub evaluations: usize,
    /// Different measures: attributes that play the same role share theirs.
    pub classes: usize,
    /// The total variance of the uniform measure, which is QuerySmasher's.
    pub uniform_variance: f64,
}

/// Where the search for a reference measure started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureStart {
    /// The uniform measure.
    Uniform,
    /// The measures of the one-attribute optima, or more weight on the ends where queries are
    /// joint.
    Peaked,
    /// The measures of HDMM's single Kronecker strategy.
    Kronecker,
    /// The search found nothing better than the uniform measure itself.
    None,
}

/// A plan: measurements and the exact errors of what is answered from them. Made without looking at
/// any data.
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
    pub(super) solves: usize,
    pub(super) iterations: usize,
}

impl Plan {
    /// The planner's name.
    pub fn planner(&self) -> &str {
        &self.planner
    }

    /// The schema that was planned for.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The privacy cost that was to be spent.
    pub fn privacy_cost(&self) -> PrivacyCost {
        self.privacy_cost
    }

    /// The measurements.
    pub fn measurements(&self) -> &[PlannedMeasurement] {
        &self.measurements
    }

    /// How answers come from the measurements.
    pub fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    /// The reference measure of the residual subspaces that are measured; uniform for all planners
    /// but [`Anova`](super::Anova).
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// How the measure was searched for, if it was.
    pub fn measure_search(&self) -> Option<&MeasureSearch> {
        self.search.as_ref()
    }

    /// The errors of the groups, in the order of the workload.
    pub fn groups(&self) -> &[GroupError] {
        &self.groups
    }

    /// Strategy problems that were solved: equal ones count once.
    pub fn solves(&self) -> usize {
        self.solves
    }

    /// Eigendecompositions that the solves used.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The number of queries.
    pub fn queries(&self) -> QueryCount {
        self.groups.iter().map(|g| g.queries).fold(QueryCount::exact(0), QueryCount::plus)
    }

    /// The weighted sum of all variances: what planners minimise.
    pub fn total_variance(&self) -> f64 {
        self.groups.iter().map(|g| g.weight * g.variance).sum()
    }

    /// `√(Σ_q w_q Var(q) / #queries)` (S3, Sec. 8; with weights its App. E).
    pub fn rmse(&self) -> f64 {
        (self.total_variance() / self.queries().as_f64()).sqrt()
    }

    /// Certified: no choice of strategies for what the plan measures (residual subspaces, or
    /// marginals without inference across them) and of their privacy costs has a smaller
    /// [`Plan::total_variance`]. Only of planners that prove it.
    pub fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
    }

    /// [`Plan::lower_bound`] as root mean square error.
    pub fn lower_bound_rmse(&self) -> Option<f64> {
        self.lower_bound.map(|bound| (bound / self.queries().as_f64()).sqrt())
    }

    /// The total privacy cost of the measurements, recomputed from the matrices of their
    /// strategies: the largest diagonal entry of every V, times its share.
    pub fn recomputed_privacy_cost(&self) -> f64 {
        self.measurements.iter().map(|m| m.privacy_cost.get() * m.strategy.max_diagonal()).sum()
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

    /// The exact variance of any query over the row-major cells of the marginal on some attributes.
    /// O(2^k · cells · Σ sizes) for k attributes.
    ///
    /// # Errors
    /// A query of another length, or one that the plan's measurements cannot answer.
    pub fn query_variance(&self, attributes: AttributeSet, query: &[f64]) -> Result<f64> {
        let sizes = self.schema.shape_of(attributes)?;
        let refuse = |expected: String, found: String, remedy: &str| {
            Error::bad_input(format!("query on attributes {attributes:?}"), expected, found, remedy)
        };
        if sizes.iter().product::<usize>() != query.len() {
            return Err(refuse(
                "one number per cell of their box".into(),
                format!("{} numbers for sizes {sizes:?}", query.len()),
                "give the query over the row-major cells, the last attribute varying fastest",
            ));
        }
        let unanswered = |what: String| {
            let remedy = "add a group on these attributes to the workload and plan again";
            refuse("a query that the plan's measurements determine".into(), what, remedy)
        };
        match self.reconstruction {
            Reconstruction::OwnMarginal => {
                let own = self.measurements.iter().find(|m| m.attributes == attributes);
                let own =
                    own.ok_or_else(|| unanswered("no measurement of this marginal".into()))?;
                Ok(own.strategy.variance(query)? / own.privacy_cost.get())
            }
            Reconstruction::FullDomain => self.full_domain_variance(attributes, query),
            Reconstruction::ResidualSubspaces => {
                let norm: f64 = query.iter().map(|x| x * x).sum();
                let measures = self.measure.of(attributes);
                let mut variance = 0.0;
                for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
                    let mut part = contracted(&sizes, kept, query.to_vec(), &measures);
                    centre_for(&kept.of_items(&sizes), &mut part, &self.measure.of(set));
                    let spread = query.len() as f64 / part.len() as f64;
                    if part.iter().map(|x| x * x).sum::<f64>() * spread <= 1e-20 * norm {
                        continue;
                    }
                    let own = self.measurements.iter().find(|m| m.attributes == set);
                    let own = own.ok_or_else(|| {
                        unanswered(format!("no measurement of residual subspace {set:?}"))
                    })?;
                    variance += own.strategy.variance(&part)? / own.privacy_cost.get();
                }
                Ok(variance)
            }
        }
    }

    /// The query summed over the attributes it does not mention, factor by factor.
    fn full_domain_variance(&self, attributes: AttributeSet, query: &[f64]) -> Result<f64> {
        let mut variance = 1.0;
        let mut own = Vec::new();
        for measurement in &self.measurements {
            variance /= measurement.privacy_cost.get();
            let SubspaceStrategy::Kronecker(factors) = measurement.strategy.as_ref() else {
                continue;
            };
            for (position, factor) in factors.iter().enumerate() {
                if attributes.contains(position) {
                    own.push(factor.clone());
                } else {
                    variance *= factor.covariance()?.sum();
                }
            }
        }
        Ok(variance * SubspaceStrategy::Kronecker(own).variance(query)?)
    }
}
