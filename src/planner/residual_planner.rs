//! ResidualPlanner: the residual basis of every subspace, in closed form.

use std::sync::Arc;

use super::Planner;
use super::objective_planner::{OPTIONS, ObjectivePlanner};
use super::plan::Plan;
use super::solver::{Bases, BasisSolver, ResidualBasis};
use crate::call::Call;
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// ResidualPlanner: measures the residual basis of every subspace.
///
/// The measurement is `(⊗ Sub_i) x_A` with noise of covariance `⊗ Sub_i Sub_iᵀ`, so
/// `V_A = ⊗ (I − J/n_i)/(1 − 1/n_i)`.
///
/// Optimal for marginals, with `L_A = Σ_{S ⊇ A} w_S Π_{i∉A} 1/n_i · Π_{i∈A} (n_i − 1)²/n_i`. For
/// other workloads the measurements are the same, and the division of the privacy cost is optimal
/// for the workload.
///
/// *Cost*: O(2^|S|) time per query group and O(n²) per attribute size. *Reference*: Xiao et al., An
/// optimal and scalable matrix mechanism for noisy marginals (2023); S3, Sec. 5.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResidualPlanner;

/// Returns the solver with residual bases.
fn solver() -> BasisSolver {
    BasisSolver { bases: Bases::uniform(ResidualBasis) }
}

impl Planner for ResidualPlanner {
    fn name(&self) -> &str {
        "residual-planner"
    }

    fn summary(&self) -> &str {
        "residual bases in closed form, optimal for marginals"
    }

    fn options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        ObjectivePlanner::configured(self, Arc::new(solver()), call)
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        Plan::by_residual_subspaces(self.name(), workload, privacy_cost, &solver())
    }
}
