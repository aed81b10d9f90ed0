//! A planner that measures every cell of the domain.

use std::sync::Arc;

use matmech::domain::AttributeSet;
use matmech::planner::{Plan, PlannedMeasurement, Planner, Reconstruction, SubspaceStrategy};
use matmech::residual::ReferenceMeasure;
use matmech::strategy::StrategyFactor;
use matmech::{GroupedWorkload, PrivacyCost, Result};
use ndarray::Array2;

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
