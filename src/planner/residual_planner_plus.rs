//! ResidualPlanner+: fixed bases per attribute, with noise scaled per residual subspace.

use std::sync::Arc;

use super::Planner;
use super::objective_planner::{OPTIONS, ObjectivePlanner};
use super::plan::Plan;
use super::residual_plan;
use super::solver::{Bases, BasisSolver};
use crate::call::Call;
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::workload::{Family, GroupedWorkload};

/// The coefficients by which the noise is divided among the residual subspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NoiseDivision {
    /// The coefficients of the workload.
    #[default]
    Workload,
    /// The coefficients of the workload with prefix sums in place of every ordered family.
    ///
    /// The published code does this for product workloads.
    Prefix,
}

/// ResidualPlanner+: measures every residual subspace in a fixed product basis.
///
/// By default the prefix basis on numeric attributes and the residual basis on categorical ones.
///
/// A subspace costs `p_A = Π pc_i`, and its subqueries have total variance `v_A`. With the optimal
/// division of the noise the total is `(Σ_A √(p_A v_A))²/β`. With [`NoiseDivision::Prefix`] the
/// noise is optimal for other coefficients, and the total is `Σ_A p_A v_A/s_A` with
/// `s_A ∝ √(p_A v'_A)`.
///
/// *Cost*: one 1-D optimum per attribute size; O(2^|S|) time per query group; O(queries · cells · Σ
/// sizes) for joint queries. *Reference*: Xiao et al., ResidualPlanner+ (2025); S3, Sec. 5 and 8.
#[derive(Debug, Clone, Default)]
pub struct ResidualPlannerPlus {
    /// The bases of the attributes.
    ///
    /// Default [`Bases::default`].
    pub bases: Bases,
    /// How the noise is divided.
    ///
    /// Default [`NoiseDivision::Workload`].
    pub division: NoiseDivision,
}

impl ResidualPlannerPlus {
    /// Creates the planner with the default bases and a division of the noise.
    pub fn dividing(division: NoiseDivision) -> Self {
        ResidualPlannerPlus { bases: Bases::default(), division }
    }

    /// Returns the plan under the given planner name.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn plan_as(
        &self,
        name: &str,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
    ) -> Result<Plan> {
        let solver = BasisSolver { bases: self.bases.clone() };
        let prefix = match self.division {
            NoiseDivision::Workload => None,
            NoiseDivision::Prefix => {
                let groups =
                    workload.groups().iter().map(|g| g.with_ordered_as(Family::PREFIX)).collect();
                Some(GroupedWorkload::new(workload.schema().clone(), groups)?)
            }
        };
        let measure = ReferenceMeasure::uniform(&workload.schema().sizes());
        residual_plan::plan(name, workload, privacy_cost, &measure, &solver, prefix.as_ref())
    }
}

impl Planner for ResidualPlannerPlus {
    fn name(&self) -> &str {
        match self.division {
            NoiseDivision::Workload => "residual-planner-plus",
            NoiseDivision::Prefix => "residual-planner-plus-prefix",
        }
    }

    fn summary(&self) -> &str {
        match self.division {
            NoiseDivision::Workload => {
                "prefix bases on numeric attributes, noise divided by the workload's coefficients"
            }
            NoiseDivision::Prefix => "the same bases, noise divided as for prefix sums",
        }
    }

    fn options(&self) -> &'static [&'static str] {
        match self.division {
            NoiseDivision::Workload => OPTIONS,
            NoiseDivision::Prefix => &[],
        }
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        let solver = BasisSolver { bases: self.bases.clone() };
        ObjectivePlanner::configured(self, Arc::new(solver), call)
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        self.plan_as(self.name(), workload, privacy_cost)
    }
}
