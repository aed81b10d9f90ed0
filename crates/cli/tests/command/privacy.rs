//! Tests of `matmech privacy`: its numbers against those of other commands and of Gaussian noise.

use approx::assert_relative_eq;
use assert_cmd::Command;
use matmech::privacy::gaussian;
use ndarray::Array2;

fn json(words: &[&str]) -> serde_json::Value {
    let assert = Command::cargo_bin("matmech").unwrap().args(words).arg("--json").assert();
    serde_json::from_slice(&assert.success().get_output().stdout).unwrap()
}

#[track_caller]
fn number(report: &serde_json::Value, field: &str) -> f64 {
    report[field].as_f64().unwrap_or_else(|| panic!("no number {field} in {report}"))
}

/// Oracle: the sensitivity and the error of `certify`, and the exact Gaussian curve.
#[test]
fn a_matrix_file_has_the_sensitivity_and_the_error_of_certify() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("C.npy");
    // Not scaled: the sensitivity is about 3.
    let matrix = Array2::from_shape_fn((16, 16), |(i, j)| match i.checked_sub(j) {
        None => 0.0,
        Some(lag) => 2.5 / (1.0 + lag as f64).powi(2),
    });
    matmech::matrix_file::write_npy(&file, &matrix).unwrap();
    let file = file.to_str().unwrap();
    for participation in ["single", "epochs:4", "min-sep:4,2"] {
        let problem = ["--workload", "prefix:16", "--participation", participation];
        let given = ["--epsilon", "2", "--delta", "1e-6"];
        let report = json(&[&["privacy", "--strategy", file][..], &problem, &given].concat());
        let judged = json(&[&["certify", file][..], &problem].concat());
        let (l2, sigma) = (number(&judged, "sensitivity"), number(&report, "sigma"));
        assert_relative_eq!(number(&report, "sensitivity"), l2, max_relative = 1e-12);
        let delta = gaussian::analytic_delta(l2, sigma, 2.0).unwrap();
        assert!(delta <= 1e-6 && delta > 0.999_999e-6, "{participation}: {delta}");
        // The error of `certify` is a total at unit privacy cost.
        let error = number(&judged, "error") / 16.0 * (sigma / l2).powi(2);
        assert_relative_eq!(number(&report, "error"), error, max_relative = 1e-9);
        assert_eq!(number(&report, "failure_probability"), 0.0);
        assert_eq!(report["scaled"], false);
        let sigma = sigma.to_string();
        let back = json(
            &[&["privacy", "--strategy", file, "--sigma", &sigma, "--delta", "1e-6"][..], &problem]
                .concat(),
        );
        assert_relative_eq!(number(&back, "epsilon"), 2.0, max_relative = 1e-9);
    }
}

/// The written coefficients and matrix of `stream` have its error, at the noise of sensitivity 1.
#[test]
fn files_of_stream_are_calibrated_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (noise, matrix) = (path("noise.npz"), path("C.npy"));
    let problem = ["--workload", "prefix:32", "--participation", "epochs:4"];
    let outputs = ["--buffers", "2", "--out", &noise, "--matrix", &matrix];
    let fitted = json(&[&["stream"][..], &problem, &outputs].concat());
    let sigma = gaussian::analytic_sigma_rounded_up(1.0, 1.0, 1e-6).unwrap();
    for strategy in [&noise, &matrix, "recurrence(buffers=2)"] {
        let given = ["--strategy", strategy, "--epsilon", "1", "--delta", "1e-6"];
        let report = json(&[&["privacy"][..], &problem, &given].concat());
        assert_relative_eq!(number(&report, "sigma"), sigma, max_relative = 1e-7);
        let error = sigma * sigma * number(&fitted, "mean_error");
        assert_relative_eq!(number(&report, "error"), error, max_relative = 1e-6);
        assert_eq!(report["method"], "Gaussian, exact");
        assert_eq!(report["scaled"], strategy.contains("recurrence"));
    }
}
