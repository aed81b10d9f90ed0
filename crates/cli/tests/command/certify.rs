//! Tests of the command `matmech certify` against closed forms and against NumPy.

use std::path::Path;

use assert_cmd::Command;
use ndarray::{Array2, Axis, array, concatenate};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::python;

/// The optimum of `prefix:2`, `((1 + √5)/2)²`: with V = [[1, t], [t, 1]] the error is
/// (3 − 2t)/(1 − t²), whose minimum is at t = (3 − √5)/2.
const OPTIMUM_OF_PREFIX_2: f64 = 2.618_033_988_749_895;

fn certify(words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().arg("certify").args(words).assert()
}

fn json(words: &[&str]) -> serde_json::Value {
    let output = certify(&[words, &["--json"]].concat()).success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[track_caller]
fn number(report: &serde_json::Value, field: &str) -> f64 {
    report[field].as_f64().unwrap_or_else(|| panic!("no number {field} in {report}"))
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "expected {expected} within {tolerance:e}, found {found}"
    );
}

/// A temporary folder; paths are absolute, as arguments of the command.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn matrix(&self, name: &str, matrix: &Array2<f64>) -> String {
        let path = self.path(name);
        matmech::write_npy(Path::new(&path), matrix).unwrap();
        path
    }

    /// Writes an .npy file in NumPy's format.
    fn npy(&self, name: &str, dtype: &str, fortran: bool, shape: &str, data: &[u8]) -> String {
        let order = if fortran { "True" } else { "False" };
        let mut header =
            format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}");
        header.push_str(&" ".repeat(63 - (10 + header.len()) % 64));
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes an .npy file of doubles; `values` are its data, in the order of the file.
    fn doubles(&self, name: &str, fortran: bool, shape: &str, values: &[f64]) -> String {
        let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.npy(name, "<f8", fortran, shape, &data)
    }
}

/// Reads the last `count` numbers of an .npy file; the header can be of any length.
fn last_numbers(path: &str, count: usize) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let data = &bytes[bytes.len() - 8 * count..];
    data.chunks_exact(8).map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Returns the strategy of all cells and all blocks of `size` cells.
fn cells_and_blocks(cells: usize, size: usize) -> Array2<f64> {
    let blocks =
        Array2::from_shape_fn((cells / size, cells), |(b, c)| f64::from(u8::from(c / size == b)));
    concatenate(Axis(0), &[Array2::eye(cells).view(), blocks.view()]).unwrap()
}

#[test]
fn the_distance_of_the_identity_matches_its_closed_form() {
    let folder = Folder::new();
    let identity = folder.matrix("identity.npy", &(3.0 * Array2::eye(2)));
    let dual = folder.path("dual.npy");
    let report = json(&[&identity, "--workload", "prefix:2", "--save-dual", &dual]);
    assert_close(number(&report, "sensitivity"), 3.0, 1e-12);
    assert_close(number(&report, "error"), 3.0, 1e-12);
    // (tr √G)² / 2 with tr √G = √(tr G + 2 √det G).
    assert_close(number(&report, "svd_bound"), 2.5, 1e-12);
    assert_close(number(&report, "ratio"), 1.2, 1e-12);
    assert_close(number(&report, "lower_bound"), OPTIMUM_OF_PREFIX_2, 1e-6);
    assert_close(number(&report, "upper_bound"), OPTIMUM_OF_PREFIX_2, 1e-6);
    let distance = 3.0 / OPTIMUM_OF_PREFIX_2 - 1.0;
    let (low, high) =
        (number(&report, "at_least_above_optimum"), number(&report, "at_most_above_optimum"));
    assert!(
        low <= distance * (1.0 + 1e-9) && distance <= high * (1.0 + 1e-9),
        "{low} {distance} {high}"
    );
    assert!(high - low < 1e-6, "{report}");
    assert_eq!((report["rank"].as_u64(), report["strategy_queries"].as_u64()), (Some(2), Some(2)));
    assert_eq!(
        (report["status"].as_str(), report["dual"].as_str()),
        (Some("converged"), Some(dual.as_str()))
    );
    for field in [
        "workload",
        "cells",
        "queries",
        "strategy",
        "condition",
        "gap",
        "iterations",
        "neighbours",
        "seconds",
    ] {
        assert!(report.get(field).is_some(), "{field} is missing: {report}");
    }
    // The lower bound from the dual vector: tr √M of a 2 × 2 matrix M is √(tr M + 2 √det M).
    let mu = last_numbers(&dual, 2);
    assert_close(mu[0] + mu[1], 1.0, 1e-12);
    assert_close(
        2.0 * mu[0] + mu[1] + 2.0 * (mu[0] * mu[1]).sqrt(),
        number(&report, "lower_bound"),
        1e-10,
    );
}

#[test]
fn the_optimum_saved_by_solve_is_certified() {
    let folder = Folder::new();
    let prefix = folder.path("best");
    let solve = ["solve", "--workload", "range:6x10", "--save", &prefix];
    Command::cargo_bin("matmech").unwrap().args(solve).assert().success();
    let (first, second) = (format!("{prefix}-1.npy"), format!("{prefix}-2.npy"));
    let report = json(&[&first, &second, "--workload", "range:6x10"]);
    assert!(number(&report, "at_most_above_optimum") < 1e-6, "{report}");
    assert_eq!(report["strategy"].as_str().unwrap(), format!("{first} ⊗ {second}"));
    certify(&[&second, &first, "--workload", "range:6x10"])
        .code(1)
        .stderr(contains("10 rows and 10 columns").and(contains("order of the attributes")));
    certify(&[&first, &second, &first, "--workload", "range:6x10"])
        .code(1)
        .stderr(contains("3 files").and(contains("order of the attributes")));
}

#[test]
fn factors_and_their_product_have_the_same_error() {
    let folder = Folder::new();
    let (a, b) = (cells_and_blocks(4, 2), cells_and_blocks(6, 3));
    let product = folder.matrix("product.npy", &matmech::linalg::kron(a.view(), b.view()));
    let (a, b) = (folder.matrix("a.npy", &a), folder.matrix("b.npy", &b));
    let (whole, factored) =
        (json(&[&product, "--workload", "range:4x6"]), json(&[&a, &b, "--workload", "range:4x6"]));
    for field in ["error", "sensitivity", "lower_bound", "condition", "at_most_above_optimum"] {
        assert_close(number(&factored, field), number(&whole, field), 1e-9);
    }
    assert_eq!(
        (&whole["rank"], &whole["strategy_queries"]),
        (&factored["rank"], &factored["strategy_queries"])
    );
}

#[test]
fn row_major_column_major_and_csv_files_are_read_alike() {
    let folder = Folder::new();
    // [[1, 0], [2, 1], [0, 4]]
    let rows = folder.doubles("rows.npy", false, "(3, 2)", &[1.0, 0.0, 2.0, 1.0, 0.0, 4.0]);
    let columns = folder.doubles("columns.npy", true, "(3, 2)", &[1.0, 2.0, 0.0, 0.0, 1.0, 4.0]);
    let csv = folder.path("rows.csv");
    std::fs::write(&csv, "1,0\n2,1\n0,4\n").unwrap();
    // AᵀA = [[5, 2], [2, 17]], sensitivity² 17, G = [[2, 1], [1, 1]], and
    // tr(G (AᵀA)⁻¹) = (34 − 4 + 5)/81.
    for file in [&rows, &columns, &csv] {
        let report = json(&[file, "--workload", "prefix:2"]);
        assert_close(number(&report, "error"), 17.0 * 35.0 / 81.0, 1e-12);
    }
}

#[test]
fn errors_name_the_unanswered_query() {
    let folder = Folder::new();
    let pairs = Array2::from_shape_fn((3, 6), |(pair, cell)| f64::from(u8::from(cell / 2 == pair)));
    let pairs = folder.matrix("pairs.npy", &pairs);
    certify(&[&pairs, "--workload", "total:6"]).success();
    // The strategy is a multiple of the first query, so the second is unanswered.
    let workload = folder.matrix("w.npy", &array![[0.0, 1.0, 1.0], [1.0, 0.0, 2.0]]);
    let strategy = folder.matrix("one.npy", &array![[0.0, 2.0, 2.0]]);
    certify(&[&strategy, "--workload", &format!("matrix:{workload}")])
        .code(1)
        .stderr(contains("query 2, counted from 1 (2 cells with weights, from cell 0 to 2"));
    // Queries that cannot be enumerated: the message has only the share.
    let total = folder.matrix("total.npy", &Array2::ones((1, 200)));
    certify(&[&total, "--workload", "predicate:200"])
        .code(1)
        .stderr(contains("row space").and(contains("remedy")));
}

#[test]
fn invalid_matrix_files_are_refused() {
    let folder = Folder::new();
    let good = folder.matrix("good.npy", &Array2::eye(4));
    let six: Vec<f64> = vec![1.0; 6];
    let floats: Vec<u8> = six.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
    let integers: Vec<u8> = [1i64; 6].iter().flat_map(|x| x.to_le_bytes()).collect();
    for (file, workload, parts) in [
        (
            folder.matrix("huge.npy", &(Array2::eye(4) * 1e200)),
            "range:4",
            ["positive and finite sensitivity", "scale"],
        ),
        (
            folder.matrix("nan.npy", &array![[1.0, f64::NAN]]),
            "range:2",
            ["NaN at [0, 1]", "counted from 0"],
        ),
        (
            folder.matrix("inf.npy", &array![[1.0], [f64::INFINITY]]),
            "range:1",
            ["inf at [1, 0]", "matrix of numbers"],
        ),
        (
            folder.npy("f4.npy", "<f4", false, "(2, 3)", &floats),
            "range:3",
            ["<f4", "astype(numpy.float64)"],
        ),
        (folder.npy("i8.npy", "<i8", false, "(2, 3)", &integers), "range:3", ["<i8", "float64"]),
        (
            folder.doubles("flat.npy", false, "(6,)", &six),
            "range:6",
            ["1 dimension", "reshape(1, -1)"],
        ),
        (
            folder.doubles("cube.npy", false, "(1, 2, 3)", &six),
            "range:3",
            ["3 dimension", "two-dim"],
        ),
        (folder.doubles("none.npy", false, "(0, 3)", &[]), "range:3", ["empty array", "(0, 3)"]),
        (folder.doubles("cut.npy", false, "(3, 3)", &six), "range:3", ["cut.npy", "expected a"]),
        (
            folder.doubles("long.npy", false, "(1, 3)", &six),
            "range:3",
            ["24 bytes after", "changed or cut"],
        ),
    ] {
        certify(&[&file, "--workload", workload])
            .code(1)
            .stderr(contains(parts[0]).and(contains(parts[1])))
            .stderr(contains("expected").and(contains("found")).and(contains("remedy")));
    }
    certify(&[&good, "--workload", "range:4", "--save-dual", &good]).code(1);
    assert!(matmech::read_matrix(Path::new(&good)).is_ok(), "the strategy was overwritten");
}

#[test]
fn numpy_agrees_with_every_certificate() {
    let Some(python) = python::python() else { return };
    let folder = Folder::new();
    let explicit = folder.matrix(
        "w.npy",
        &array![[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, 1.0, 0.5], [1.0, 1.0, 3.0, -0.5]],
    );
    let uneven = Array2::from_shape_fn((9, 8), |(i, j)| ((3 * i * i + 5 * j + i * j) as f64).sin());
    let grid = matmech::linalg::kron(cells_and_blocks(6, 3).view(), cells_and_blocks(4, 2).view());
    for (name, strategy, workload) in [
        ("ranges", cells_and_blocks(32, 4), "range:32"),
        ("prefixes", cells_and_blocks(15, 5), "prefix:15"),
        ("uneven", uneven, "range:8"),
        ("grid", grid, "range:6x4"),
        ("cells", Array2::eye(12) * 0.01, "identity:3x4"),
        // Rank 2 over 4 cells.
        ("deficient", array![[1.0, 0.0, 2.0, -1.0], [0.0, 2.0, 2.0, 1.0]], explicit.as_str()),
    ] {
        let (strategy, dual) = (
            folder.matrix(&format!("{name}.npy"), &strategy),
            folder.path(&format!("{name}-mu.npy")),
        );
        let workload_string = if workload.ends_with(".npy") {
            format!("matrix:{workload}")
        } else {
            workload.to_owned()
        };
        let mut report = json(&[&strategy, "--workload", &workload_string, "--save-dual", &dual]);
        let certificate = folder.path(&format!("{name}.json"));
        std::fs::write(&certificate, report.to_string()).unwrap();
        let output = python::run(
            &python,
            "scripts/check_certificate.py",
            &[&strategy, &dual, workload, &certificate],
        );
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("certificate holds"),
            "{name}: {said}{output:?}"
        );
        // NaN in the strategy is refused.
        let broken = folder.doubles("broken.npy", false, "(1, 2)", &[f64::NAN, 1.0]);
        let output = python::run(
            &python,
            "scripts/check_certificate.py",
            &[&broken, &dual, workload, &certificate],
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("certificate refused: NaN or infinity in"), "{name}: {said}");
        // A lower bound that is too large is refused.
        report["lower_bound"] = serde_json::json!(number(&report, "lower_bound") * (1.0 + 1e-5));
        std::fs::write(&certificate, report.to_string()).unwrap();
        let output = python::run(
            &python,
            "scripts/check_certificate.py",
            &[&strategy, &dual, workload, &certificate],
        );
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("lower_bound is"),
            "{name}: {output:?}"
        );
        assert!(!output.status.success(), "{name}");
    }
}
