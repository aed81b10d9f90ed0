//! Cross-checks with the feature `lapack`: the certified optimum against Clarabel's semidefinite
//! solver, and the kernels of the default backend against LAPACK from the system's OpenBLAS.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]
#![cfg(feature = "lapack")]

use approx::assert_abs_diff_eq;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{NonnegativeConeT, PSDTriangleConeT, ZeroConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use matmech::linalg::{self, Backend};
use matmech::strategy::{self, svd_bound};
use matmech::workload::Workload;
use ndarray::Array2;

// Links the system's OpenBLAS for Clarabel.
use openblas_src as _;

/// Solves the semidefinite program over the rows of the workload (not its Gram matrix): minimise
/// tr X subject to [[V, Wᵀ], [W, X]] ⪰ 0 and V_ii ≤ 1. Returns the optimum.
fn semidefinite_optimum(workload: &Workload) -> f64 {
    let rows: Vec<Vec<f64>> = workload.rows().unwrap().collect();
    let (n, m) = (workload.cells(), rows.len());
    let order = n + m;
    // Clarabel stores the upper triangle column by column, off-diagonal entries times √2.
    let position = |i: usize, j: usize| j * (j + 1) / 2 + i;
    let variables = order * (order + 1) / 2;
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
    for i in 0..n {
        constraint(&[(position(i, i), 1.0)], 1.0);
    }
    for entry in 0..variables {
        constraint(&[(entry, -1.0)], 0.0);
    }
    let a = CscMatrix::new_from_triplets(right.len(), variables, row_of, column_of, value_of);
    let p = CscMatrix::zeros((variables, variables));
    let mut q = vec![0.0; variables];
    for k in 0..m {
        q[position(n + k, n + k)] = 1.0;
    }
    let cones = [ZeroConeT(n * m), NonnegativeConeT(n), PSDTriangleConeT(order)];
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-10)
        .tol_gap_rel(1e-10)
        .tol_feas(1e-10)
        .max_iter(200)
        .build()
        .unwrap();
    let mut solver = DefaultSolver::new(&p, &q, &a, &right, &cones, settings).unwrap();
    solver.solve();
    assert!(
        matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved),
        "{}: {:?}",
        workload.name(),
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
        let workload = Workload::parse(text).unwrap();
        let certificate = strategy::by_name("optimal")
            .unwrap()
            .select(&workload.gram().unwrap())
            .unwrap()
            .certificate
            .unwrap();
        let reference = semidefinite_optimum(&workload);
        let (low, high) =
            (certificate.lower_bound / reference - 1.0, certificate.upper_bound / reference - 1.0);
        println!("{text}: SDP {reference:.9}, lower {low:+.1e}, upper {high:+.1e}");
        assert!(
            low.abs() < 1e-6 && high.abs() < 1e-6,
            "{text}: SDP {reference}, certificate {certificate:?}"
        );
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
