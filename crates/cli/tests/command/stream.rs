//! Tests of the command `matmech stream`, and of its files.

use std::path::Path;

use approx::{assert_abs_diff_eq, assert_relative_eq};
use assert_cmd::Command;
use matmech::strategy::stream::Coefficients;

use crate::python;

fn matmech(words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().args(words).assert()
}

fn json(words: &[&str]) -> serde_json::Value {
    let output = matmech(&[words, &["--json"]].concat()).success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[track_caller]
fn number(report: &serde_json::Value, field: &str) -> f64 {
    report[field].as_f64().unwrap_or_else(|| panic!("no number {field} in {report}"))
}

/// Oracle: the prefix sums of the noise matrix of the file, and the sensitivity of `certify`.
#[test]
fn stated_numbers_match_the_written_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, matrix) = (path("noise.npz"), path("C.npy"));
    for (participation, buffers, form) in [
        ("single", "4", "chains"),
        ("epochs:4", "2", "recurrence"),
        ("min-sep:12,4", "2", "truncated"),
    ] {
        let problem = ["--workload", "prefix:48", "--participation", participation];
        let outputs = ["--buffers", buffers, "--form", form, "--out", &file, "--matrix", &matrix];
        let report = json(&[&["stream"][..], &problem, &outputs].concat());
        let coefficients = Coefficients::read(Path::new(&file)).unwrap();
        let mut sums = coefficients.noise_matrix().unwrap();
        sums.accumulate_axis_inplace(ndarray::Axis(0), |before, x| *x += before);
        let variances = sums.rows().into_iter().map(|row| row.dot(&row));
        let squared = number(&report, "sensitivity").powi(2);
        let errors: Vec<f64> = variances.map(|variance| squared * variance).collect();
        let mean = errors.iter().sum::<f64>() / 48.0;
        let largest = errors.iter().copied().fold(0.0, f64::max);
        assert_relative_eq!(number(&report, "mean_error"), mean, max_relative = 1e-9);
        assert_relative_eq!(number(&report, "max_error"), largest, max_relative = 1e-9);
        let excess = mean / number(&report, "lower_bound") - 1.0;
        assert_abs_diff_eq!(number(&report, "excess"), excess, epsilon = 1e-9);
        assert_eq!(report["sensitivity_kind"], "exact");
        let judged = json(&[&["certify", &matrix][..], &problem].concat());
        assert_relative_eq!(
            number(&judged, "sensitivity"),
            number(&report, "sensitivity"),
            max_relative = 1e-7
        );
        assert_relative_eq!(number(&judged, "error"), 48.0 * mean, max_relative = 1e-6);
        let other = json(&[
            "certify",
            &matrix,
            "--workload",
            "prefix:48",
            "--participation",
            "min-sep:6,8",
        ]);
        assert_eq!(other["sensitivity_kind"], "row-sum bound");
    }
}

/// Oracle: the noise matrix of the library, for unit normals.
#[test]
fn the_numpy_example_draws_the_same_noise() {
    let Some(python) = python::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, drawn) = (path("noise.npz"), path("drawn.npy"));
    for (participation, form) in [
        ("single", "chains"),
        ("single", "recurrence"),
        ("epochs:4", "recurrence"),
        ("min-sep:8,4", "truncated"),
    ] {
        let problem = ["stream", "--workload", "prefix:32", "--participation", participation];
        let outputs = ["--form", form, "--buffers", "2", "--out", &file];
        let report = json(&[&problem[..], &outputs].concat());
        let coefficients = Coefficients::read(Path::new(&file)).unwrap();
        let normals = number(&report, "normals_per_step") as usize;
        assert_eq!(normals, coefficients.normals_per_step());
        let program = format!(
            "import sys, numpy as np\n\
             sys.path.insert(0, sys.argv[1])\n\
             from streamed_noise import stream\n\
             units = np.eye(32 * {normals})\n\
             z = lambda t: units[t * {normals}:(t + 1) * {normals}]\n\
             np.save(sys.argv[3], np.array(list(stream(sys.argv[2], z))))\n"
        );
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let output = std::process::Command::new(&python)
            .args(["-B", "-c", &program, examples, &file, &drawn])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found = matmech::read_matrix(Path::new(&drawn)).unwrap();
        assert_abs_diff_eq!(found, coefficients.noise_matrix().unwrap(), epsilon = 1e-12);
    }
    let output = python::run(&python, "examples/streamed_noise.py", &[&file, "9"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 32, "{output:?}");
}
