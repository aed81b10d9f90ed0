//! A planner: the best of three planners with closed-form bases.

use matmech::planner::{
    Bases, BasisSolver, FourierSolver, Plan, Planner, PrefixBasis, ResidualBasis, SubspaceSolver,
};
use matmech::{Error, GroupedWorkload, PrivacyCost, Result};

/// Plans with residual bases, prefix bases on numeric attributes, and Fourier bases, and returns
/// the plan with the smallest error.
#[derive(Debug)]
pub struct Cheapest;

impl Planner for Cheapest {
    fn name(&self) -> &str {
        "cheapest"
    }

    fn summary(&self) -> &str {
        "the best of residual, prefix and Fourier bases"
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let solvers: [&dyn SubspaceSolver; 3] = [
            &BasisSolver { bases: Bases::uniform(ResidualBasis) },
            &BasisSolver { bases: Bases::numeric(PrefixBasis) },
            &FourierSolver,
        ];
        let plans = solvers
            .map(|solver| Plan::by_residual_subspaces(self.name(), workload, privacy_cost, solver));
        let plans = plans.into_iter().collect::<Result<Vec<Plan>>>()?;
        plans.into_iter().min_by(|a, b| a.rmse().total_cmp(&b.rmse())).ok_or_else(|| {
            Error::bad_input("planner `cheapest`", "at least one solver", "none", "list one")
        })
    }
}
