//! The planners of S3's tables: those of the library and those that only the tables need.
//!
//! The latter are ResidualPlanner+ with the bases that its authors use for marginals, and its
//! published form.

use matmech::planner::{
    self, Bases, NoiseDivision, Plan, Planner, ResidualBasis, ResidualPlannerPlus,
};
use matmech::privacy::PrivacyCost;
use matmech::workload::GroupedWorkload;

use super::published::PublishedResidualPlannerPlus;
use crate::error::{Error, Result};

/// Returns all planners, in the order of messages.
pub(super) fn planners() -> Vec<Box<dyn Planner>> {
    let mut all = planner::planners();
    all.push(Box::new(ResidualBasesEverywhere));
    for division in [NoiseDivision::Workload, NoiseDivision::Prefix] {
        all.push(Box::new(PublishedResidualPlannerPlus::dividing(division)));
    }
    all
}

/// Returns the planner with a name.
///
/// # Errors
/// Returns an error under the config key `key` if no planner has that name.
pub(super) fn named(key: &str, name: &str) -> Result<Box<dyn Planner>> {
    let mut all = planners();
    match all.iter().position(|planner| planner.name() == name) {
        Some(index) => Ok(all.swap_remove(index)),
        None => {
            let known: Vec<&str> = all.iter().map(|planner| planner.name()).collect();
            Err(Error::unknown_name(key, "planner", name, &known))
        }
    }
}

/// ResidualPlanner+ with the basis of ResidualPlanner on every attribute.
///
/// This is the basis for identity queries; the plan is optimal for marginals.
///
/// *Reference*: S3, Sec. 8.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResidualBasesEverywhere;

impl Planner for ResidualBasesEverywhere {
    fn name(&self) -> &'static str {
        "residual-planner-plus-residual"
    }

    fn summary(&self) -> &'static str {
        "ResidualPlanner's basis on every attribute, noise divided by the workload's coefficients"
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> matmech::Result<Plan> {
        let planner = ResidualPlannerPlus {
            bases: Bases::uniform(ResidualBasis),
            division: NoiseDivision::Workload,
        };
        planner.plan_as(self.name(), workload, privacy_cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s3::workloads::uniform;

    /// On marginals the error is that of ResidualPlanner, whose plan is a closed form. On prefix
    /// sums the prefix bases are better.
    #[test]
    fn plans_are_optimal_on_marginals_and_not_on_prefix_sums() {
        let rmse = |planner: &dyn Planner, name: &str| {
            planner.plan(&uniform(10, 40, name, None).unwrap(), PrivacyCost::UNIT).unwrap().rmse()
        };
        let closed_form = rmse(&matmech::planner::ResidualPlanner, "marginal");
        approx::assert_relative_eq!(
            rmse(&ResidualBasesEverywhere, "marginal"),
            closed_form,
            max_relative = 1e-12
        );
        let prefix_bases = ResidualPlannerPlus::dividing(NoiseDivision::Workload);
        assert!(rmse(&prefix_bases, "marginal") > 1.4 * closed_form);
        assert!(rmse(&ResidualBasesEverywhere, "prefix") > 1.1 * rmse(&prefix_bases, "prefix"));
    }
}
