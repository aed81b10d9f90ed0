//! Tests of Program 1 against a fine grid, Clarabel's cones and closed forms.

use approx::assert_relative_eq;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{self, NonnegativeConeT, PowerConeT, SecondOrderConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use ndarray::{Array1, Array2, array};

use super::*;
use crate::certificate::Status;
use crate::eigen_design::EigenQueries;
use crate::test_support::gram;

fn eigen(text: &str, norm: ColumnNorm) -> WeightingProblem {
    let gram = gram(text);
    let eigen = EigenQueries::of(&gram).unwrap();
    WeightingProblem::new(eigen.values, &eigen.rows, norm).unwrap()
}

fn solve(problem: &WeightingProblem) -> Weighting {
    problem.solve(&WeightingOptions::default()).unwrap()
}

/// Returns the objective and the largest load of weights, term by term.
fn objective_and_load(problem: &WeightingProblem, weights: &Array1<f64>) -> (f64, f64) {
    let p = problem.norm.exponent();
    let costs = problem.costs.iter().zip(weights).filter(|(c, _)| **c > 0.0);
    let objective = costs.map(|(c, u)| c / u.powf(p)).sum();
    (objective, problem.columns.t().dot(weights).iter().copied().fold(0.0, f64::max))
}

/// Solves Program 1 with Clarabel.
///
/// min Σ e_i t_i with x_i t_i ≥ 1 (second-order cones) or x_i² t_i ≥ 1 (power cones) and
/// Bᵀ diag(d) x ≤ 1, in the scale d of equal loads.
fn by_cones(problem: &WeightingProblem) -> f64 {
    let (k, n) = problem.columns.dim();
    let p = problem.norm.exponent();
    let loads: f64 = problem.costs.iter().map(|c| c.powf(1.0 / (p + 1.0))).sum();
    let d: Vec<f64> =
        problem.costs.iter().map(|c| c.powf(1.0 / (p + 1.0)) * n as f64 / loads).collect();
    let e: Vec<f64> = problem.costs.iter().zip(&d).map(|(c, d)| c / d.powf(p)).collect();
    let scale: f64 = e.iter().sum();
    let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
    for ((i, j), b) in problem.columns.indexed_iter() {
        rows.push(j);
        columns.push(i);
        values.push(b * d[i]);
    }
    right.extend(std::iter::repeat_n(1.0, n));
    let mut cones: Vec<SupportedConeT<f64>> = vec![NonnegativeConeT(n)];
    let mut entry = |row: usize, column: usize, value: f64| {
        rows.push(row);
        columns.push(column);
        values.push(value);
    };
    for i in 0..k {
        let row = right.len();
        match problem.norm {
            ColumnNorm::L2 => {
                // ‖(2, x − t)‖ ≤ x + t
                entry(row, i, -1.0);
                entry(row, k + i, -1.0);
                entry(row + 2, i, -1.0);
                entry(row + 2, k + i, 1.0);
                right.extend([0.0, 2.0, 0.0]);
                cones.push(SecondOrderConeT(3));
            }
            ColumnNorm::L1 => {
                // x^(2/3) t^(1/3) ≥ 1
                entry(row, i, -1.0);
                entry(row + 1, k + i, -1.0);
                right.extend([0.0, 0.0, 1.0]);
                cones.push(PowerConeT(2.0 / 3.0));
            }
        }
    }
    let matrix = CscMatrix::new_from_triplets(right.len(), 2 * k, rows, columns, values);
    let objective: Vec<f64> =
        std::iter::repeat_n(0.0, k).chain(e.iter().map(|e| e / scale)).collect();
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-10)
        .tol_gap_rel(1e-10)
        .build()
        .unwrap();
    let zero = CscMatrix::zeros((2 * k, 2 * k));
    let mut solver =
        DefaultSolver::new(&zero, &objective, &matrix, &right, &cones, settings).unwrap();
    solver.solve();
    assert!(matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved));
    solver.solution.obj_val * scale
}

#[test]
fn agrees_with_clarabel_on_eight_workloads() {
    for text in [
        "range:128",
        "cdf:100",
        "permuted-range:48",
        "range:8x6",
        "range-marginals(ways=2):4x4x3",
        "predicate-sample(queries=30,seed=1):60",
        "range-sample(queries=100,seed=4):40",
        "affine:7x7",
    ] {
        let problem = eigen(text, ColumnNorm::L2);
        let found = solve(&problem);
        assert_eq!(found.status, Status::Converged, "{text}: {}", found.gap());
        assert_relative_eq!(found.upper_bound, by_cones(&problem), max_relative = 1e-6);
    }
}

#[test]
fn the_l1_variant_agrees_with_power_cones_and_closes_its_certificate() {
    for text in ["range:24", "cdf:16", "predicate-sample(queries=8,seed=1):20"] {
        let problem = eigen(text, ColumnNorm::L1);
        let found = solve(&problem);
        assert!(found.gap() <= 1e-6, "{text}: {}", found.gap());
        assert_relative_eq!(found.upper_bound, by_cones(&problem), max_relative = 1e-6);
    }
}

/// Oracle: the dual function, the load and the objective, recomputed from their definitions.
#[test]
fn certificates_hold() {
    for norm in [ColumnNorm::L2, ColumnNorm::L1] {
        for (text, method) in [
            ("range:30", Method::Newton),
            ("cdf:20", Method::Multiplicative),
            ("range:4x5", Method::Newton),
        ] {
            let problem = eigen(text, norm);
            let options =
                WeightingOptions { method, tolerance: 1e-5, ..WeightingOptions::default() };
            let found = problem.solve(&options).unwrap();
            assert!(found.gap() <= 1e-5, "{text} {norm:?} {method:?}: {}", found.gap());
            let (objective, load) = objective_and_load(&problem, &found.weights);
            assert_relative_eq!(objective, found.upper_bound, max_relative = 1e-10);
            assert_relative_eq!(load, 1.0, max_relative = 1e-10);
            assert_relative_eq!(found.dual.sum(), 1.0, max_relative = 1e-10);
            // The dual function from its definition.
            let s = problem.columns.dot(&found.dual);
            let p = norm.exponent();
            let terms = problem
                .costs
                .iter()
                .zip(&s)
                .map(|(c, s)| c.powf(1.0 / (p + 1.0)) * s.powf(p / (p + 1.0)));
            assert_relative_eq!(
                terms.sum::<f64>().powf(p + 1.0),
                found.lower_bound,
                max_relative = 1e-10
            );
        }
    }
}

/// Oracle: the best weights on a fine grid of rays, for three design queries over four cells. Each
/// ray is scaled to a load of 1.
#[test]
fn a_fine_grid_finds_nothing_better() {
    let design = array![[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, 0.0], [0.5, 0.0, 0.3, -2.0]];
    for (norm, costs) in [
        (ColumnNorm::L2, array![3.0, 1.0, 0.2]),
        (ColumnNorm::L2, array![0.5, 4.0, 2.0]),
        (ColumnNorm::L1, array![3.0, 1.0, 0.2]),
    ] {
        let problem = WeightingProblem::new(costs, &design, norm).unwrap();
        let found = solve(&problem);
        let mut best = f64::INFINITY;
        const STEPS: usize = 600;
        for a in 1..STEPS {
            for b in 1..STEPS - a {
                let ray = array![a as f64, b as f64, (STEPS - a - b) as f64];
                let (_, load) = objective_and_load(&problem, &ray);
                best = best.min(objective_and_load(&problem, &(&ray / load)).0);
            }
        }
        assert!(
            best >= found.lower_bound * (1.0 - 1e-12),
            "{norm:?}: {best} below {}",
            found.lower_bound
        );
        // Neighbouring rays differ by up to 1/600 in a weight, and the objective has a kink.
        assert_relative_eq!(best, found.upper_bound, max_relative = 1e-3);
    }
}

/// Orthonormal flat queries: all weights are proportional to √c, and the objective is (Σ√c)²/n.
#[test]
fn flat_queries_have_a_closed_form() {
    let problem = eigen("predicate:16", ColumnNorm::L2);
    let sum: f64 = problem.costs.iter().map(|c| c.sqrt()).sum();
    let found = solve(&problem);
    assert_relative_eq!(found.upper_bound, sum * sum / 16.0, max_relative = 1e-12);
    for (weight, cost) in found.weights.iter().zip(&problem.costs) {
        assert_relative_eq!(*weight, 16.0 * cost.sqrt() / sum, max_relative = 1e-12);
    }
}

/// Queries without cost get no weight, equal queries share one, and repeated cells have no effect.
#[test]
fn repeated_queries_and_cells_change_nothing() {
    let design = array![[1.0, 2.0, 0.5], [0.3, 1.0, 1.0]];
    let plain = solve(&WeightingProblem::new(array![1.0, 2.0], &design, ColumnNorm::L2).unwrap());
    let repeated = array![
        [1.0, 2.0, 2.0, 0.5],
        [9.0, 9.0, 9.0, 9.0],
        [0.3, 1.0, 1.0, 1.0],
        [0.3, 1.0, 1.0, 1.0]
    ];
    // Two copies of a query with costs a and b equal one query with cost (√a + √b)².
    let problem =
        WeightingProblem::new(array![1.0, 0.0, 0.5, 0.5], &repeated, ColumnNorm::L2).unwrap();
    let found = solve(&problem);
    assert_relative_eq!(found.upper_bound, plain.upper_bound, max_relative = 1e-8);
    assert_eq!(found.weights[1], 0.0);
    assert_relative_eq!(found.weights[2] + found.weights[3], plain.weights[1], max_relative = 1e-5);
}

#[test]
fn both_methods_agree() {
    let problem = eigen("cdf:40", ColumnNorm::L2);
    let slow = WeightingOptions {
        method: Method::Multiplicative,
        tolerance: 1e-6,
        ..WeightingOptions::default()
    };
    let (a, b) = (solve(&problem), problem.solve(&slow).unwrap());
    assert_relative_eq!(a.upper_bound, b.upper_bound, max_relative = 2e-6);
    assert!(b.iterations > 10 * a.iterations, "{} {}", a.iterations, b.iterations);
    // After two Newton steps the multiplicative method takes over.
    let cut = WeightingOptions { newton_steps: 2, tolerance: 1e-6, ..WeightingOptions::default() };
    assert_eq!(problem.solve(&cut).unwrap().status, Status::Converged);
    let few = WeightingOptions {
        newton_steps: 1,
        multiplicative_steps: 3,
        ..WeightingOptions::default()
    };
    let few = problem.solve(&few).unwrap();
    assert_ne!(few.status, Status::Converged);
    assert!(
        few.lower_bound <= a.upper_bound && few.upper_bound >= a.lower_bound && few.gap() > 1e-6
    );
}

#[test]
fn bad_problems_are_refused() {
    let design = array![[1.0, 0.0], [0.0, 0.0]];
    for (costs, design, part) in [
        (array![1.0], &design, "one cost per"),
        (array![1.0, -1.0], &design, "-1"),
        (array![1.0, f64::NAN], &design, "NaN"),
        (array![0.0, 0.0], &design, "only zeros"),
        (array![1.0, 1.0], &design, "query 1 is zero"),
        (array![1.0, 1.0], &array![[1.0, f64::INFINITY], [1.0, 1.0]], "inf"),
    ] {
        let message = WeightingProblem::new(costs, design, ColumnNorm::L2).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("remedy"), "{part}: {message}");
    }
    assert!(WeightingProblem::from_columns(array![1.0], array![[-1.0]], ColumnNorm::L2).is_err());
    let problem = WeightingProblem::new(array![1.0, 0.0], &design, ColumnNorm::L2).unwrap();
    let options = WeightingOptions { tolerance: 0.0, ..WeightingOptions::default() };
    assert!(problem.solve(&options).unwrap_err().to_string().contains("tolerance"));
    for weights in [array![1.0], array![-1.0, 0.0], array![0.0, 1.0], array![f64::NAN, 0.0]] {
        let message = problem
            .judged(weights, array![0.5, 0.5], 0, Status::Converged)
            .unwrap_err()
            .to_string();
        assert!(message.contains("positive") && message.contains("remedy"), "{message}");
    }
    // No query covers the second cell.
    assert_relative_eq!(solve(&problem).upper_bound, 1.0, max_relative = 1e-12);
}

/// A cell that hardly any query covers has weight zero after the first updates. Newton's method
/// still converges.
#[test]
fn cells_that_hardly_any_query_covers_do_not_stop_newton() {
    let plain = eigen("range:12", ColumnNorm::L2);
    let expected = solve(&plain);
    for rest in [0.0, 1e-34, 1e-17] {
        let idle = Array2::from_elem((plain.columns.nrows(), 1), rest);
        let columns = ndarray::concatenate![ndarray::Axis(1), plain.columns, idle];
        let found = solve(
            &WeightingProblem::from_columns(plain.costs.clone(), columns, ColumnNorm::L2).unwrap(),
        );
        assert_eq!(found.status, Status::Converged);
        assert!(found.iterations <= 60, "{}", found.iterations);
        assert_relative_eq!(found.upper_bound, expected.upper_bound, max_relative = 1e-8);
    }
}
