//! A planner: the best of three planners with closed-form bases.

use approx::assert_relative_eq;
use matmech::planner::{
    Bases, BasisSolver, FourierSolver, Plan, Planner, PrefixBasis, ResidualBasis, SubspaceSolver,
    planners,
};
use matmech::workload::Family;
use matmech::{Error, GroupedWorkload, PrivacyCost, Result};

use super::equal_marginals::one_and_two_way;

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

#[test]
fn an_external_planner_has_the_error_of_its_best_basis() {
    for family in [Family::IDENTITY, Family::PREFIX, Family::CIRCULAR] {
        let workload = one_and_two_way(family);
        let plan_by = |name: &str| {
            let planner = planners().into_iter().find(|planner| planner.name() == name).unwrap();
            planner.plan(&workload, PrivacyCost::UNIT).unwrap()
        };
        let plan = Cheapest.plan(&workload, PrivacyCost::UNIT).unwrap();
        assert_eq!(plan.planner(), "cheapest");
        assert_relative_eq!(plan.recomputed_privacy_cost(), 1.0, max_relative = 1e-9);
        let best = plan_by("residual-planner").rmse().min(plan_by("weighted-fourier").rmse());
        assert!(plan.rmse() <= best * (1.0 + 1e-12));
        let bound = plan_by("query-smasher").lower_bound_rmse().unwrap();
        assert!(plan.rmse() >= bound * (1.0 - 1e-9));
    }
}
