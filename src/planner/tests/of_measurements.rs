//! Plans of given measurements.

use super::*;
use crate::residual::ReferenceMeasure;

fn of(
    workload: &GroupedWorkload,
    measurements: Vec<PlannedMeasurement>,
    reconstruction: Reconstruction,
) -> Result<Plan> {
    let measure = ReferenceMeasure::uniform(&workload.schema().sizes());
    Plan::of_measurements("given", workload, measurements, reconstruction, &measure)
}

/// The measurements of plans over residual subspaces, of separate marginals and of the full domain
/// have the errors of the plans.
#[test]
fn measurements_of_plans_have_the_errors_of_the_plans() {
    let workload = small_workload();
    let mut checked = 0;
    for planner in planners() {
        // Planners of products refuse the joint queries of this workload.
        let Ok(plan) = planner.plan(&workload, cost(2.0)) else { continue };
        let measure = plan.measure().clone();
        let (measurements, reconstruction) = (plan.measurements().to_vec(), plan.reconstruction());
        let given =
            Plan::of_measurements("given", &workload, measurements, reconstruction, &measure)
                .unwrap();
        assert_relative_eq!(given.recomputed_privacy_cost(), 2.0, max_relative = 1e-9);
        for (found, expected) in given.groups().iter().zip(plan.groups()) {
            assert_relative_eq!(found.variance, expected.variance, max_relative = 1e-8);
        }
        assert_eq!((given.planner(), given.lower_bound_rmse()), ("given", None));
        checked += 1;
    }
    assert!(checked >= 6, "{checked}");
}

#[test]
fn wrong_measurements_are_refused() {
    let workload = small_workload();
    let plan = ResidualPlanner.plan(&workload, cost(1.0)).unwrap();
    let all = plan.measurements().to_vec();
    let residual = Reconstruction::ResidualSubspaces;
    let refused = |measurements: Vec<PlannedMeasurement>, reconstruction, part: &str| {
        let error = of(&workload, measurements, reconstruction).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    };
    assert!(of(&workload, all.clone(), residual).is_ok());
    refused([&all[..], &all[..1]].concat(), residual, "the set twice");
    refused(all[..all.len() - 1].to_vec(), residual, "no measurement of residual subspace");
    refused(all.clone(), Reconstruction::FullDomain, "one measurement on all attributes");
    let mut other_attributes = all.clone();
    let index = all.iter().position(|m| m.attributes == set(&[0])).unwrap();
    other_attributes[index].attributes = set(&[1]);
    refused(other_attributes, residual, "over their cells");
    let size = workload.schema().sizes()[0];
    let factor = |matrix| crate::strategy::StrategyFactor::from_queries(&[size], matrix).unwrap();
    let replaced = |matrix: Array2<f64>| {
        let mut measurements = all.clone();
        let strategy = SubspaceStrategy::Kronecker(vec![factor(matrix)]);
        measurements[index].strategy = Arc::new(strategy);
        measurements
    };
    // The identity does not annihilate the uniform measure.
    refused(replaced(Array2::eye(size)), residual, "one that does not");
    // A strategy of sensitivity above 1 costs more than its share.
    let centring = Array2::<f64>::eye(size) - 1.0 / size as f64;
    refused(replaced(centring * 3.0), residual, "privacy cost");
}
