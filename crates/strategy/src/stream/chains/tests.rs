//! Tests against dense algebra and known excesses.

use super::*;
use crate::workload::Workload;
use crate::{OptimalOptions, tridiagonal};
use approx::assert_relative_eq;
use matmech_linalg as linalg;

fn fitted(workload: &Workload, objective: Objective, count: usize) -> (Chains, f64) {
    let problem = Problem { objective, ..Problem::new(workload) };
    let options = OptimalOptions { tolerance: 1e-8, ..OptimalOptions::default() };
    let optimum = tridiagonal::solve(&problem, &options).unwrap().unwrap();
    let recurrence = workload.recurrence().unwrap();
    let chains = fit(&problem, &recurrence, &optimum, count).unwrap();
    (chains, optimum.certificate.lower_bound)
}

/// Oracle: the inverse of the dense covariance.
#[test]
fn costs_covariances_and_variances_match_dense_algebra() {
    let decaying = "decay(rate=0.9):40";
    for (text, count) in [("prefix:1", 2), ("prefix:2", 3), (decaying, 4), ("prefix:512", 6)] {
        let workload = Workload::parse(text).unwrap();
        let (chains, _) = fitted(&workload, Objective::Max, count);
        let covariance = chains.covariance();
        let noise = chains.noise_matrix();
        let squares = linalg::matmul(noise.view(), noise.t());
        assert_relative_eq!(covariance, squares, max_relative = 1e-9, epsilon = 1e-12);
        let x = linalg::spd_inverse(covariance.view()).unwrap();
        let costs = chains.privacy_costs();
        for (cost, expected) in costs.iter().zip(x.diag()) {
            assert_relative_eq!(cost, expected, max_relative = 1e-9);
        }
        let rows: Vec<f64> = workload.rows().unwrap().flatten().collect();
        let rows = Array2::from_shape_vec((costs.len(), costs.len()), rows).unwrap();
        let images = linalg::matmul(rows.view(), covariance.view());
        for (q, variance) in chains.answer_variances().iter().enumerate() {
            assert_relative_eq!(images.row(q).dot(&rows.row(q)), variance, max_relative = 1e-9);
        }
    }
}

/// Upper limits of the excess over the certified optimum.
#[test]
fn a_few_chains_are_near_the_optimum() {
    let workload = Workload::parse("prefix:1024").unwrap();
    for (objective, count, percent) in [
        (Objective::Mean, 6, 0.17),
        (Objective::Max, 6, 0.26),
        (Objective::Max, 8, 0.03),
        (Objective::Balanced(0.9), 6, 0.26),
    ] {
        let (chains, lower_bound) = fitted(&workload, objective, count);
        let largest = chains.privacy_costs().into_iter().fold(0.0, f64::max);
        let error = objective_of(&chains.answer_variances(), objective);
        let excess = 100.0 * (largest * error / lower_bound - 1.0);
        assert!(excess > 0.0 && excess < percent, "{objective} {count}: {excess}");
        assert_relative_eq!(largest, 1.0, max_relative = 1e-12);
    }
}

/// Streams of ranges have the Gram matrix of a recurrence.
#[test]
fn chains_for_ranges_are_near_the_optimum() {
    let workload = Workload::parse("range:200").unwrap();
    let (chains, lower_bound) = fitted(&workload, Objective::Mean, 6);
    let gram = workload.gram().unwrap().to_dense().unwrap();
    let total = (&gram * &chains.covariance()).sum();
    assert_relative_eq!(total, chains.answer_variances().iter().sum::<f64>(), max_relative = 1e-9);
    assert!(total / lower_bound - 1.0 < 2e-3, "{}", total / lower_bound);
}
