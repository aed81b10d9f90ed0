//! Planners over the residual subspaces of the uniform measure, for a given objective.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Planner;
use super::plan::{GroupError, Plan};
use super::solver::SubspaceSolver;
use crate::call::Call;
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::strategy::Objective;
use crate::workload::GroupedWorkload;

/// The option of planners for the objective.
pub(super) const OPTIONS: &[&str] = &["objective"];

/// A planner over residual subspaces with an objective other than the total error.
///
/// It has the measurements and the name of another planner, and divides the privacy cost for the
/// objective. See [`Plan::for_objective`].
#[derive(Debug, Clone)]
pub struct ObjectivePlanner {
    name: String,
    summary: String,
    solver: Arc<dyn SubspaceSolver>,
    objective: Objective,
}

impl ObjectivePlanner {
    /// Creates a planner with the name of another one, its solver, and an objective.
    pub fn new(
        planner: &dyn Planner,
        solver: Arc<dyn SubspaceSolver>,
        objective: Objective,
    ) -> Self {
        let (name, summary) = (planner.name().to_owned(), planner.summary().to_owned());
        ObjectivePlanner { name, summary, solver, objective }
    }

    /// Creates a planner with the objective of a call.
    pub(super) fn configured(
        planner: &dyn Planner,
        solver: Arc<dyn SubspaceSolver>,
        call: &Call<'_>,
    ) -> Result<Box<dyn Planner>> {
        Ok(Box::new(Self::new(planner, solver, objective_of(call)?)))
    }
}

/// The value of an objective other than the mean, in reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveSummary {
    /// The objective, e.g. `max`.
    pub objective: String,
    /// The value of the objective for the plan.
    pub objective_value: f64,
    /// The largest weighted mean square error of a group.
    pub largest_group_error: f64,
    /// A certified lower bound of the value over all plans of the class; absent if unknown.
    pub lower_bound: Option<f64>,
    /// value/bound − 1.
    pub gap: Option<f64>,
}

impl ObjectiveSummary {
    /// Returns the summary of a plan; `None` if its objective is the mean.
    pub fn of(plan: &Plan) -> Option<Self> {
        let (objective, value) = (plan.objective(), plan.objective_value());
        let bound = plan.objective_lower_bound();
        (objective != Objective::Mean).then(|| ObjectiveSummary {
            objective: objective.to_string(),
            objective_value: value,
            largest_group_error: plan
                .groups()
                .iter()
                .map(GroupError::weighted_mean_square)
                .fold(0.0, f64::max),
            // Rounding may put a bound that meets the value slightly above it.
            lower_bound: bound.map(|bound| bound.min(value)),
            gap: bound.map(|bound| (value / bound - 1.0).max(0.0)),
        })
    }

    /// Returns the summary in words.
    pub fn in_words(&self) -> String {
        let ObjectiveSummary { objective, objective_value, largest_group_error, .. } = self;
        let bound = match (self.lower_bound, self.gap) {
            (Some(bound), Some(gap)) => format!("; lower bound {bound:.6}, gap {gap:.2e}"),
            _ => String::new(),
        };
        let value = match objective.as_str() {
            "max" => String::new(),
            name => format!(", {name} {objective_value:.6}"),
        };
        format!(
            "largest weighted mean square error of a group {largest_group_error:.6}{value}{bound}"
        )
    }
}

/// Returns the objective of a call; the mean if it has none.
pub(super) fn objective_of(call: &Call<'_>) -> Result<Objective> {
    call.written("objective").map_or(Ok(Objective::Mean), str::parse)
}

impl Planner for ObjectivePlanner {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        Self::configured(self, self.solver.clone(), call)
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let measure = ReferenceMeasure::uniform(&workload.schema().sizes());
        let (name, solver) = (self.name(), self.solver.as_ref());
        Plan::for_objective(name, workload, privacy_cost, &measure, solver, self.objective)
    }
}
