//! Tests of `matmech certify` with objectives and participations, against NumPy.

use std::path::Path;

use assert_cmd::Command;
use ndarray::Array2;

use crate::python;

fn json(words: &[&str]) -> serde_json::Value {
    let output = Command::cargo_bin("matmech").unwrap().arg("certify").args(words).assert();
    let output = output.success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

/// The weights of problems with another objective or participation are checked with NumPy.
#[test]
fn numpy_agrees_with_certificates_of_problems() {
    let Some(python) = python::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let blocks = Array2::from_shape_fn((16, 12), |(row, cell)| {
        f64::from(u8::from(if row < 12 { row == cell } else { row - 12 == cell / 3 }))
    });
    let (strategy, identity) = (path("blocks.npy"), path("identity.npy"));
    matmech::write_npy(Path::new(&strategy), &blocks).unwrap();
    matmech::write_npy(Path::new(&identity), &Array2::eye(12)).unwrap();
    for (k, (strategy, workload, objective, participation, kind)) in [
        (&strategy, "range:12", "max", "single", None),
        (&strategy, "prefix:12", "mean", "epochs:3", Some("exact")),
        (&strategy, "prefix:12", "balanced:0.5", "epochs:4", Some("exact")),
        (&identity, "prefix:12", "mean", "min-sep:4,3", Some("exact")),
        (&strategy, "prefix:12", "mean", "min-sep:2,3", Some("row-sum bound")),
    ]
    .into_iter()
    .enumerate()
    {
        let dual = path(&format!("dual-{k}.npz"));
        let words = ["--objective", objective, "--participation", participation];
        let words =
            [&[strategy, "--workload", workload, "--save-dual", &dual], &words[..]].concat();
        let mut report = json(&[&words[..], &["--json"]].concat());
        assert_eq!(report["sensitivity_kind"].as_str(), kind, "{report}");
        let certificate = path(&format!("certificate-{k}.json"));
        std::fs::write(&certificate, report.to_string()).unwrap();
        let output = python::run(
            &python,
            "scripts/check_certificate.py",
            &[strategy, &dual, workload, &certificate],
        );
        assert!(output.status.success(), "{words:?}: {output:?}");
        report["lower_bound"] =
            serde_json::json!(report["lower_bound"].as_f64().unwrap() * (1.0 + 1e-5));
        std::fs::write(&certificate, report.to_string()).unwrap();
        let output = python::run(
            &python,
            "scripts/check_certificate.py",
            &[strategy, &dual, workload, &certificate],
        );
        assert!(String::from_utf8_lossy(&output.stderr).contains("lower_bound is"), "{output:?}");
    }
}
