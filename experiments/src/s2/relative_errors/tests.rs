//! Tests on a small generated table.

use std::path::Path;

use matmech::workload::Workload;

use super::*;
use crate::datasets::Folders;
use crate::experiment::{Cell, Experiment};
use rand::SeedableRng;

/// Returns a folder with a file of 120 records over 4 × 2 × 2 cells, and the experiment on it.
fn kind() -> (tempfile::TempDir, RelativeErrors) {
    let root = tempfile::tempdir().unwrap();
    let a = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3];
    let lines: String =
        (0..120).map(|k| format!("{},{},{}\n", a[k % 10], k / 10 % 3 / 2, k / 3 % 2)).collect();
    std::fs::write(root.path().join("loans.csv"), format!("a,b,c\n{lines}")).unwrap();
    let kind = over(root.path());
    (root, kind)
}

fn over(folder: &Path) -> RelativeErrors {
    let folders = Folders {
        user: Some(folder.to_owned()),
        tables: folder.join("tables"),
        downloads: folder.join("downloads"),
    };
    RelativeErrors::new(Catalogue::new(folder, folders))
}

const GRID: &str = "epsilons = [0.5, 1.0]\ndelta = 1e-4\ntrials = 3\nsanity_share = 0.01\n\
    noise_seed = 5\n\
    claims = [{ id = 'low', dataset = 'loans', of = 'smallest' }, \
    { id = 'high', dataset = 'loans', of = 'largest' }]\n[[runs]]\ndataset = 'loans'\n\
    workloads = ['identity-marginals(ways=1):4x2x2', 'permuted-range:16']\n\
    methods = ['eigen-design', 'identity', 'fourier']";

#[test]
fn bad_grids_name_the_key() {
    let (_root, kind) = kind();
    for (from, to, key) in [
        ("0.5, 1.0", "0.5, 0.0", "epsilons[1]"),
        // At this ε the classical calibration does not satisfy (ε, δ)-differential privacy.
        ("0.5, 1.0", "0.5, 50.0", "epsilons[1]"),
        ("trials = 3", "trials = 0", "trials"),
        ("sanity_share = 0.01", "sanity_share = 0.0", "sanity_share"),
        ("dataset = 'loans'\nworkloads", "dataset = 'lones'\nworkloads", "runs[0].dataset"),
        (
            "dataset = 'loans', of = 'largest'",
            "dataset = 'acs', of = 'largest'",
            "claims[1].dataset",
        ),
        ("id = 'high'", "id = 'low'", "claims[1].id"),
        ("'permuted-range", "'permuted-rage", "runs[0].workloads[1]"),
        ("'fourier'", "'fourrier'", "runs[0].methods[2]"),
        ("noise_seed = 5", "noise_seed = 5\nnoise = 3", "noise"),
    ] {
        let text = GRID.replace(from, to);
        assert_ne!(text, GRID);
        let error = Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err();
        assert_eq!(error.key(), key, "{error}");
    }
}

fn run(kind: &RelativeErrors, cell: &Cell) -> Vec<Row> {
    Experiment::run(kind, cell, &mut ChaCha20Rng::seed_from_u64(9)).unwrap()
}

fn value(rows: &[Row], metric: &str) -> f64 {
    rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
}

/// Results do not depend on the order of the cells or on their streams, and ratios agree with the
/// errors of the table.
#[test]
fn results_do_not_depend_on_the_order_of_cells() {
    let (root, together) = kind();
    let cells = Experiment::cells(&together, &GRID.parse().unwrap()).unwrap();
    assert_eq!(cells.len(), 2 * 2 * 3 + 2);
    let rows: Vec<Vec<Row>> = cells.iter().map(|cell| run(&together, cell)).collect();
    let without_times = |rows: &[Row]| -> Vec<Row> {
        rows.iter().map(|row| Row { seconds: None, ..row.clone() }).collect()
    };
    // Each cell with an empty cache, in another order.
    for k in [13, 12, 5, 0] {
        assert_eq!(
            without_times(&run(&over(root.path()), &cells[k])),
            without_times(&rows[k]),
            "{k}"
        );
    }
    let mut gains = Vec::new();
    for point in rows[..12].chunks(3) {
        let of = |k: usize| value(&point[k], "relative_error");
        for k in [1, 2] {
            assert_eq!(value(&point[k], "over_eigen"), of(k) / of(0));
        }
        assert!(point[0].iter().all(|row| row.metric != "over_eigen"));
        gains.push(f64::min(of(1), of(2)) / of(0));
    }
    let extreme = |pick: fn(f64, f64) -> f64| gains.iter().copied().reduce(pick).unwrap();
    assert_eq!(value(&rows[12], "relative_error_ratio"), extreme(f64::min));
    assert_eq!(value(&rows[13], "relative_error_ratio"), extreme(f64::max));
    assert!(rows[12][1].text.as_ref().unwrap().contains("against"));
    assert_eq!((value(&rows[0], "queries"), value(&rows[6], "queries")), (8.0, 136.0));
    // Doubling ε halves the noise; the spread of 3 trials of 8 queries is well below that.
    assert!(value(&rows[0], "relative_error") > value(&rows[3], "relative_error"));
}

/// Compares the relative error with its closed form for the identity workload.
///
/// Eigen-Design then measures the cells: every answer has independent noise of variance
/// σ² = 2 ln(2/δ)/ε², and the expected relative error is √(2/π) σ times the mean of
/// 1/max(count, bound).
#[test]
fn the_error_of_the_identity_is_its_closed_form() {
    let text = "epsilons = [0.5]\ndelta = 1e-4\ntrials = 400\nsanity_share = 0.05\n\
                noise_seed = 5\n[[runs]]\ndataset = 'loans'\nworkloads = ['identity:4x2x2']\n\
                methods = ['eigen-design']";
    let (_root, kind) = kind();
    let cells = Experiment::cells(&kind, &text.parse().unwrap()).unwrap();
    let rows = run(&kind, &cells[0]);
    let table = kind.trials.load("loans");
    let counts = table.records.marginal(matmech::domain::AttributeSet::first(3)).unwrap();
    // The sanity bound is 6 records; some counts are below it.
    assert!(
        counts.iter().any(|&count| count < 6.0) && counts.iter().any(|&count| count > 6.0),
        "{counts:?}"
    );
    let sigma = (2.0 * (2.0f64 / 1e-4).ln()).sqrt() / 0.5;
    let mean = counts.iter().map(|count| 1.0 / count.max(6.0)).sum::<f64>() / 16.0;
    let expected = (2.0 / std::f64::consts::PI).sqrt() * sigma * mean;
    let (found, error) = (value(&rows, "relative_error"), value(&rows, "relative_error_se"));
    assert!(
        (found - expected).abs() < 4.5 * error && error < 0.02 * expected,
        "{found} ± {error} for {expected}"
    );
}

/// The strategy is selected for queries of unit length: it has the error of the selection on the
/// scaled workload.
#[test]
fn strategies_are_selected_for_the_scaled_queries() {
    let (_root, kind) = kind();
    // Queries of 1, 4 and 8 cells.
    let text = "identity-marginals(ways=1+3):4x2x2";
    let workload = Workload::parse(text).unwrap();
    let chosen = kind.trials.strategy(&workload, text, EIGEN_DESIGN).unwrap();
    let scaled = Workload::parse(&format!("normalised({text})")).unwrap().gram().unwrap();
    let select = |gram| strategy::by_name(EIGEN_DESIGN).unwrap().select(gram).unwrap();
    let (for_scaled, for_plain) = (select(&scaled), select(&workload.gram().unwrap()));
    assert!((chosen.error(&scaled).unwrap() / for_scaled.error - 1.0).abs() < 1e-9);
    assert!(for_plain.strategy.error(&scaled).unwrap() > 1.001 * for_scaled.error);
}

#[test]
fn workloads_of_a_different_size_are_refused() {
    let text = GRID.replace("permuted-range:16", "identity:15");
    let (_root, kind) = kind();
    let cells = Experiment::cells(&kind, &text.parse().unwrap()).unwrap();
    let error = Experiment::run(&kind, &cells[6], &mut ChaCha20Rng::seed_from_u64(9))
        .unwrap_err()
        .to_string();
    assert!(error.contains("16 cells") && error.contains("15 cells"), "{error}");
}
