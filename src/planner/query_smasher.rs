//! QuerySmasher: divide a workload into residual subspaces, conquer each by its own optimal
//! strategy (S3, Alg. 1).

use super::Planner;
use super::plan::Plan;
use super::solver::{CertifiedSolver, SubspaceSolver};
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// QuerySmasher with a solver for the residual subspaces.
///
/// With the [`CertifiedSolver`] (the default) the plan carries a lower bound on what any choice of
/// strategies for the residual subspaces can reach: `LB = (Σ_A √LB_A)²/β`, beside its own
/// `(Σ_A √L_A)²/β`. With approximate solvers it becomes one of the methods that it dominates: with
/// [`FourierSolver`](super::FourierSolver) the Weighted Fourier Factorization, with
/// [`BasisSolver`](super::BasisSolver) ResidualPlanner and ResidualPlanner+ (S3, Sec. 7).
///
/// *Requirements*: residual problems that are no Kronecker products fit memory, as rows where joint
/// queries are few against the cells and as dense matrices otherwise; larger ones are refused with
/// their size. *Cost*: one solve per distinct residual problem, whatever the number of attributes;
/// then O(2^|S|) per query group. *Reference*: S3, Sec. 6.
#[derive(Debug)]
pub struct QuerySmasher {
    solver: Box<dyn SubspaceSolver>,
}

impl Default for QuerySmasher {
    /// With [`CertifiedSolver::default`].
    fn default() -> Self {
        Self::with_solver(Box::new(CertifiedSolver::default()))
    }
}

impl QuerySmasher {
    /// QuerySmasher with another solver.
    pub fn with_solver(solver: Box<dyn SubspaceSolver>) -> Self {
        QuerySmasher { solver }
    }
}

impl Planner for QuerySmasher {
    fn name(&self) -> &str {
        "query-smasher"
    }

    fn summary(&self) -> &str {
        "certified optimal strategy for every residual subspace, with a lower bound"
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        Plan::by_residual_subspaces(self.name(), workload, privacy_cost, self.solver.as_ref())
    }
}
