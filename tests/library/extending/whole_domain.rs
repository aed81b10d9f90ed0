//! A planner that measures every cell of the domain.

use std::sync::Arc;

use approx::assert_relative_eq;
use matmech::domain::AttributeSet;
use matmech::planner::{Plan, PlannedMeasurement, Planner, Reconstruction, SubspaceStrategy};
use matmech::residual::ReferenceMeasure;
use matmech::strategy::StrategyFactor;
use matmech::workload::Family;
use matmech::{GroupedWorkload, PrivacyCost, Result};
use ndarray::Array2;

use super::equal_marginals::one_and_two_way;

/// Measures every cell of the domain with the same noise.
#[derive(Debug)]
pub struct WholeDomain;

impl Planner for WholeDomain {
    fn name(&self) -> &str {
        "whole-domain"
    }

    fn summary(&self) -> &str {
        "every cell of the domain with the same noise"
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let sizes = workload.schema().sizes();
        let identity = |&size: &usize| StrategyFactor::from_queries(&[size], Array2::eye(size));
        let factors = sizes.iter().map(identity).collect::<Result<Vec<_>>>()?;
        let measurement = PlannedMeasurement {
            attributes: AttributeSet::first(sizes.len()),
            strategy: Arc::new(SubspaceStrategy::Kronecker(factors)),
            privacy_cost,
        };
        Plan::of_measurements(
            self.name(),
            workload,
            vec![measurement],
            Reconstruction::FullDomain,
            &ReferenceMeasure::uniform(&sizes),
        )
    }
}

/// The closed form of 1- and 2-way marginals of 3 attributes of 5 values: a cell of a k-way
/// marginal is a sum of 5^(3−k) cells, and there are 5^k of them.
#[test]
fn an_external_planner_of_any_measurements_has_the_errors_of_its_closed_form() {
    let workload = one_and_two_way(Family::IDENTITY);
    let plan = WholeDomain.plan(&workload, PrivacyCost::new(0.5).unwrap()).unwrap();
    assert_eq!((plan.planner(), plan.measurements().len()), ("whole-domain", 1));
    assert_relative_eq!(plan.recomputed_privacy_cost(), 0.5, max_relative = 1e-12);
    for group in plan.groups() {
        assert_relative_eq!(group.variance, 250.0, max_relative = 1e-12);
    }
    assert_relative_eq!(plan.total_variance(), 6.0 * 250.0, max_relative = 1e-12);
}
