//! QuerySmasher: an optimal strategy for every residual subspace of a workload (S3, Alg. 1).

use std::sync::Arc;

use super::Planner;
use super::objective_planner::{OPTIONS, ObjectivePlanner};
use super::plan::Plan;
use super::solver::{CertifiedSolver, SubspaceSolver};
use crate::call::Call;
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// QuerySmasher with a solver for the residual subspaces.
///
/// With the [`CertifiedSolver`] (the default) the plan has total variance `(Σ_A √L_A)²/β` and the
/// lower bound `(Σ_A √LB_A)²/β`, which holds for all strategies for the residual subspaces. With
/// other solvers it is one of the methods that it dominates: Weighted Fourier Factorization with
/// [`FourierSolver`](super::FourierSolver), ResidualPlanner and ResidualPlanner+ with
/// [`BasisSolver`](super::BasisSolver) (S3, Sec. 7).
///
/// *Requirements*: residual problems that are not Kronecker products must fit in memory: as rows if
/// joint queries are few compared with the cells, otherwise as dense matrices. Larger problems are
/// refused with their size. *Cost*: one solve per distinct residual problem, independent of the
/// number of attributes, and O(2^|S|) per query group. *Reference*: S3, Sec. 6.
#[derive(Debug)]
pub struct QuerySmasher {
    solver: Arc<dyn SubspaceSolver>,
}

impl Default for QuerySmasher {
    /// Uses [`CertifiedSolver::default`].
    fn default() -> Self {
        Self::with_solver(Box::new(CertifiedSolver::default()))
    }
}

impl QuerySmasher {
    /// Creates the planner with the given solver.
    pub fn with_solver(solver: Box<dyn SubspaceSolver>) -> Self {
        QuerySmasher { solver: solver.into() }
    }
}

impl Planner for QuerySmasher {
    fn name(&self) -> &str {
        "query-smasher"
    }

    fn summary(&self) -> &str {
        "certified optimal strategy for every residual subspace, with a lower bound"
    }

    fn options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        ObjectivePlanner::configured(self, self.solver.clone(), call)
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        Plan::by_residual_subspaces(self.name(), workload, privacy_cost, self.solver.as_ref())
    }
}
