//! Plans of given measurements.

use super::*;
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::StrategyFactor;

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
    let replaced = |matrix: Array2<f64>| {
        let mut measurements = all.clone();
        let strategy = SubspaceStrategy::Kronecker(vec![factor(&[size], matrix)]);
        measurements[index].strategy = Arc::new(strategy);
        measurements
    };
    // The identity does not annihilate the uniform measure.
    refused(replaced(Array2::eye(size)), residual, "does not annihilate the measure");
    // A strategy of sensitivity above 1 costs more than its share.
    let centring = Array2::<f64>::eye(size) - 1.0 / size as f64;
    refused(replaced(centring * 3.0), residual, "privacy cost");
}

#[test]
fn measures_of_other_schemas_are_refused() {
    let workload = small_workload();
    let plan = ResidualPlanner.plan(&workload, cost(1.0)).unwrap();
    for sizes in [&SIZES[..2], &[2, 2, 2], &[]] {
        let measures = sizes.iter().map(|&n| Measure::of(vec![1.0 / n as f64; n]).unwrap());
        let measure = ReferenceMeasure::new(measures.collect());
        let (measurements, reconstruction) = (plan.measurements().to_vec(), plan.reconstruction());
        let refused =
            Plan::of_measurements("given", &workload, measurements, reconstruction, &measure);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("one measure per attribute, over [3, 2, 4] values"), "{error}");
    }
}

/// A strategy for n = 4 and a workload of all its cells: a measurement on the attribute and, for
/// residual subspaces, one of the total.
fn on_one_attribute(strategy: SubspaceStrategy, reconstruction: Reconstruction) -> Result<Plan> {
    let workload = all_ways(4, 1, GroupFamily::Product(Family::IDENTITY), &[1]);
    let total = SubspaceStrategy::Kronecker(Vec::new());
    let of_set = |attributes, strategy| PlannedMeasurement {
        attributes,
        strategy: Arc::new(strategy),
        privacy_cost: cost(0.5),
    };
    let mut measurements = vec![of_set(set(&[0]), strategy)];
    if reconstruction == Reconstruction::ResidualSubspaces {
        measurements.push(of_set(set(&[]), total));
    }
    of(&workload, measurements, reconstruction)
}

fn factor(shape: &[usize], queries: Array2<f64>) -> StrategyFactor {
    StrategyFactor::from_queries(shape, queries).unwrap()
}

/// Strategies that do not determine all queries have no variance: V⁺ would give one that is too
/// small.
#[test]
fn strategies_that_do_not_determine_the_queries_are_refused() {
    let difference = ndarray::array![[1.0, -1.0, 0.0, 0.0]] / 2f64.sqrt();
    let centring = (Array2::<f64>::eye(4) - 0.25) / 0.75f64.sqrt();
    let kronecker =
        |queries: &Array2<f64>| SubspaceStrategy::Kronecker(vec![factor(&[4], queries.clone())]);
    let fourier = |spectrum: [f64; 4]| SubspaceStrategy::Fourier {
        shape: vec![4],
        spectrum: spectrum.to_vec(),
    };
    use Reconstruction::{FullDomain, ResidualSubspaces, SameMarginal};
    assert!(on_one_attribute(kronecker(&centring), ResidualSubspaces).is_ok());
    assert!(on_one_attribute(fourier([0.0, 1.0, 1.0, 1.0]), ResidualSubspaces).is_ok());
    for reconstruction in [SameMarginal, FullDomain] {
        assert!(on_one_attribute(kronecker(&Array2::eye(4)), reconstruction).is_ok());
    }
    assert!(on_one_attribute(fourier([1.0; 4]), SameMarginal).is_ok());
    let (rank, outside) = ("does not determine all residual queries", "outside its row space");
    for (strategy, reconstruction, part) in [
        (kronecker(&difference), ResidualSubspaces, rank),
        (fourier([0.0, 1.0, 0.0, 1.0]), ResidualSubspaces, rank),
        (fourier([0.5, 1.0, 1.0, 1.0]), ResidualSubspaces, "does not annihilate the measure"),
        (kronecker(&difference), SameMarginal, outside),
        (kronecker(&centring), SameMarginal, outside),
        (fourier([0.0, 1.0, 1.0, 1.0]), SameMarginal, outside),
        (kronecker(&difference), FullDomain, outside),
        (fourier([1.0; 4]), FullDomain, "one factor per attribute"),
    ] {
        let error = on_one_attribute(strategy, reconstruction).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Full domain: the totals of attributes that a query does not use, and factors over several
/// attributes.
#[test]
fn measurements_of_the_full_domain_determine_all_attributes() {
    let workload = all_ways(3, 2, GroupFamily::Product(Family::IDENTITY), &[1]);
    let of_factors = |factors: Vec<StrategyFactor>| {
        let strategy = Arc::new(SubspaceStrategy::Kronecker(factors));
        let measurement =
            PlannedMeasurement { attributes: set(&[0, 1]), strategy, privacy_cost: cost(1.0) };
        of(&workload, vec![measurement], Reconstruction::FullDomain)
    };
    let cells = factor(&[3], Array2::eye(3));
    assert!(of_factors(vec![cells.clone(); 2]).is_ok());
    let joint = factor(&[3, 3], Array2::eye(9));
    let error = of_factors(vec![joint]).unwrap_err().to_string();
    assert!(error.contains("one factor per attribute"), "{error}");
    let differences = ndarray::array![[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]] / 2f64.sqrt();
    let error = of_factors(vec![cells, factor(&[3], differences)]).unwrap_err().to_string();
    assert!(error.contains("outside its row space"), "{error}");
}
