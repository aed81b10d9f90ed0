//! Cross-checks with the feature `lapack`: certified optima and sensitivities against Clarabel's
//! semidefinite solver, and the kernels of the default backend against LAPACK from the system's
//! OpenBLAS.

use approx::assert_abs_diff_eq;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{self, NonnegativeConeT, PSDTriangleConeT, ZeroConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use matmech::linalg::{self, Backend};
use matmech::strategy::stream::recurrence::{FitOptions, fit_recurrence};
use matmech::strategy::{Objective, Participation, Problem, Request, svd_bound};
use matmech::workload::Workload;
use ndarray::Array2;

// Links the system's OpenBLAS for Clarabel.
use openblas_src as _;

/// Solves the semidefinite program over the rows of the workload (not its Gram matrix): minimise
/// tr V, or the largest V_qq, subject to [[X, Wᵀ], [W, V]] ⪰ 0 and, for every pattern π,
/// diag(v_π) ⪰ X_ππ and Σv_π ≤ 1. Columns need not be orthogonal. Returns the optimum.
fn semidefinite_optimum(problem: &Problem<'_>) -> f64 {
    let workload = problem.workload;
    let rows: Vec<Vec<f64>> = workload.rows().unwrap().collect();
    let (n, m) = (workload.cells(), rows.len());
    let count = match problem.participation {
        Participation::Single => 1,
        Participation::Epochs(count) => count,
        other => panic!("no program for {other}"),
    };
    let patterns: Vec<Vec<usize>> =
        (0..n / count).map(|c| (0..count).map(|g| c + g * n / count).collect()).collect();
    let order = n + m;
    // Clarabel stores the upper triangle column by column, off-diagonal entries times √2.
    let position = |i: usize, j: usize| j * (j + 1) / 2 + i;
    let entries = order * (order + 1) / 2;
    // The variables are the matrix, v, and the largest error.
    let (cost, largest, variables) = (|s: usize| entries + s, entries + n, entries + n + 1);
    let (mut row_of, mut column_of, mut value_of, mut right) = (vec![], vec![], vec![], vec![]);
    let mut constraint = |entries: &[(usize, f64)], bound: f64| {
        for &(column, value) in entries {
            row_of.push(right.len());
            column_of.push(column);
            value_of.push(value);
        }
        right.push(bound);
    };
    for (k, row) in rows.iter().enumerate() {
        for (i, &w) in row.iter().enumerate() {
            constraint(&[(position(i, n + k), 1.0)], w * 2f64.sqrt());
        }
    }
    for pattern in &patterns {
        constraint(&pattern.iter().map(|&s| (cost(s), 1.0)).collect::<Vec<_>>(), 1.0);
    }
    for k in n..order {
        constraint(&[(position(k, k), 1.0), (largest, -1.0)], 0.0);
    }
    for entry in 0..entries {
        constraint(&[(entry, -1.0)], 0.0);
    }
    for pattern in &patterns {
        for (j, &t) in pattern.iter().enumerate() {
            for &s in &pattern[..j] {
                constraint(&[(position(s, t), 1.0)], 0.0);
            }
            constraint(&[(position(t, t), 1.0), (cost(t), -1.0)], 0.0);
        }
    }
    let a = CscMatrix::new_from_triplets(right.len(), variables, row_of, column_of, value_of);
    let mut q = vec![0.0; variables];
    match problem.objective {
        Objective::Mean => (n..order).for_each(|k| q[position(k, k)] = 1.0),
        Objective::Max => q[largest] = 1.0,
        other => panic!("no program for {other}"),
    }
    let mut cones =
        vec![ZeroConeT(n * m), NonnegativeConeT(patterns.len() + m), PSDTriangleConeT(order)];
    cones.extend(patterns.iter().map(|pattern| PSDTriangleConeT(pattern.len())));
    solved(workload.name(), &q, &a, &right, &cones)
}

/// Solves the semidefinite program of the sensitivity of a pattern: maximise ⟨X, Y⟩ subject to
/// Y ⪰ 0 and Y_ii = 1.
fn semidefinite_sensitivity(x: &Array2<f64>) -> f64 {
    let order = x.nrows();
    let variables = order * (order + 1) / 2;
    let pairs = || (0..order).flat_map(|j| (0..=j).map(move |i| (i, j)));
    let objective: Vec<f64> =
        pairs().map(|(i, j)| if i == j { -x[[i, i]] } else { -x[[i, j]] * 2f64.sqrt() }).collect();
    let diagonal: Vec<usize> =
        pairs().enumerate().filter(|(_, (i, j))| i == j).map(|(entry, _)| entry).collect();
    let rows = (0..order + variables).collect();
    let columns = diagonal.into_iter().chain(0..variables).collect();
    let values = (0..order + variables).map(|row| if row < order { 1.0 } else { -1.0 }).collect();
    let a = CscMatrix::new_from_triplets(order + variables, variables, rows, columns, values);
    let right: Vec<f64> =
        (0..order + variables).map(|row| if row < order { 1.0 } else { 0.0 }).collect();
    let cones = [ZeroConeT(order), PSDTriangleConeT(order)];
    -solved("sensitivity", &objective, &a, &right, &cones)
}

/// Returns the value of a program with a linear objective.
fn solved(
    name: &str,
    q: &[f64],
    a: &CscMatrix<f64>,
    right: &[f64],
    cones: &[SupportedConeT<f64>],
) -> f64 {
    let p = CscMatrix::zeros((q.len(), q.len()));
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-10)
        .tol_gap_rel(1e-10)
        .tol_feas(1e-10)
        .max_iter(200)
        .build()
        .unwrap();
    let mut solver = DefaultSolver::new(&p, q, a, right, cones, settings).unwrap();
    solver.solve();
    assert!(
        matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved),
        "{name}: {:?}",
        solver.solution.status
    );
    solver.solution.obj_val
}

#[test]
fn certified_optimum_agrees_with_the_semidefinite_program() {
    for text in [
        "prefix:8",
        "range:6",
        "residual(affine:5x5)",
        "predicate-sample(queries=15,p=0.5,seed=11):12",
        // Rank 5 over 9 cells.
        "predicate-sample(queries=5,p=0.4,seed=3):9",
        "residual(prefix:7)",
        "residual(abs:4x4)",
        "range-sample(queries=9,seed=1):3x3",
    ] {
        compare_with_the_program(text, "optimal");
    }
}

/// Orthogonal columns within the patterns cost nothing.
#[test]
fn optima_of_fixed_epochs_agree_with_the_program_over_all_strategies() {
    for objective in ["mean", "max"] {
        for count in [2, 3, 4] {
            let request = format!("optimal(objective={objective}, participation=epochs:{count})");
            compare_with_the_program("prefix:12", &request);
        }
    }
}

fn compare_with_the_program(workload: &str, request: &str) {
    let parsed = Workload::parse(workload).unwrap();
    let strategy = Request::parse(request).unwrap();
    let certificate = strategy.select(&parsed).unwrap().certificate.unwrap();
    let reference = semidefinite_optimum(&strategy.problem(&parsed));
    let (low, high) =
        (certificate.lower_bound / reference - 1.0, certificate.upper_bound / reference - 1.0);
    println!("{workload}, {request}: SDP {reference:.9}, lower {low:+.1e}, upper {high:+.1e}");
    assert!(
        low.abs() < 1e-6 && high.abs() < 1e-6,
        "{workload}, {request}: SDP {reference}, certificate {certificate:?}"
    );
}

/// The recurrence of a fit, and one whose columns are not orthogonal within the patterns.
#[test]
fn the_sensitivity_of_recurrences_agrees_with_its_semidefinite_program() {
    let workload = Workload::parse("prefix:24").unwrap();
    let participation = Participation::Epochs(4);
    let problem = Problem { workload: &workload, objective: Objective::Mean, participation };
    let fit = fit_recurrence(&problem, 2, &FitOptions::default()).unwrap().recurrence;
    let mut coupled = fit.clone();
    coupled.taps.iter_mut().enumerate().for_each(|(i, f)| *f += 0.3 * (i as f64).sin());
    for recurrence in [fit, coupled] {
        let noise = recurrence.noise_matrix();
        let gram = linalg::spd_inverse(noise.dot(&noise.t()).view()).unwrap();
        let largest = (0..6)
            .map(|c| Array2::from_shape_fn((4, 4), |(g, h)| gram[[c + 6 * g, c + 6 * h]]))
            .map(|block| semidefinite_sensitivity(&block))
            .fold(0.0, f64::max);
        let found = recurrence.squared_sensitivity().unwrap();
        assert!((found.upper / largest - 1.0).abs() < 1e-7, "{found:?} {largest}");
        assert!((found.lower / largest - 1.0).abs() < 1e-7, "{found:?} {largest}");
    }
}

#[test]
fn lapack_and_the_default_backend_agree() {
    for text in ["range:96", "prefix:128", "residual(affine:10x10)", "circular:65"] {
        let gram = Workload::parse(text).unwrap().gram().unwrap();
        let matrix = gram.to_dense().unwrap();
        let (ours, lapack) = (
            linalg::eigh(matrix.view()).unwrap(),
            linalg::eigh_with(Backend::Lapack, matrix.view()).unwrap(),
        );
        let scale = ours.values.iter().copied().fold(0.0, f64::max);
        assert_abs_diff_eq!(&ours.values / scale, &lapack.values / scale, epsilon = 1e-13);
        let rebuilt = (&lapack.vectors * &lapack.values).dot(&lapack.vectors.t());
        assert_abs_diff_eq!(&rebuilt / scale, &matrix / scale, epsilon = 1e-12);
        let bound = lapack.values.iter().map(|x| x.max(0.0).sqrt()).sum::<f64>().powi(2)
            / matrix.nrows() as f64;
        // Zero eigenvalues are computed as ±n·eps·scale; the bounds differ by their square roots.
        approx::assert_relative_eq!(svd_bound(&gram).unwrap(), bound, max_relative = 1e-5);
        let definite = &matrix + &(Array2::<f64>::eye(matrix.nrows()) * (0.01 * scale));
        let factors = [Backend::Faer, Backend::Lapack]
            .map(|b| linalg::cholesky_with(b, definite.view()).unwrap());
        assert_abs_diff_eq!(
            &factors[0] / scale.sqrt(),
            &factors[1] / scale.sqrt(),
            epsilon = 1e-12
        );
        let inverses = [Backend::Faer, Backend::Lapack]
            .map(|b| linalg::spd_inverse_with(b, definite.view()).unwrap());
        assert_abs_diff_eq!(&inverses[0] * scale, &inverses[1] * scale, epsilon = 1e-10);
    }
}
