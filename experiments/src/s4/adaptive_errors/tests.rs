//! Tests with ResidualPlanner and AIM+GReM on the stand-in of Titanic.

use std::collections::BTreeMap;

use super::*;
use crate::datasets::Folders;
use crate::experiment::Experiment;

fn kind() -> (tempfile::TempDir, AdaptiveErrors) {
    let root = tempfile::tempdir().unwrap();
    let folders = Folders {
        user: None,
        tables: root.path().join("tables"),
        downloads: root.path().join("downloads"),
    };
    let catalogue = Catalogue::new(root.path(), folders);
    (root, AdaptiveErrors { catalogue })
}

const GRID: &str = "delta = 1e-9\nways = 2\n\
                    runs = [{ datasets = ['titanic'], epsilons = [1.0, 10.0], trials = 3, \
                    methods = ['residual-planner', 'aim-grem'] }]";

#[test]
fn bad_grids_name_the_key() {
    let (_root, kind) = kind();
    for (from, to, key) in [
        ("'titanic'", "'titanik'", "runs[0].datasets[0]"),
        ("'aim-grem'", "'aim-gram'", "runs[0].methods[1]"),
        ("1.0,", "-1.0,", "runs[0].epsilons[0]"),
        ("trials = 3", "trials = 0", "runs[0].trials"),
        ("ways = 2", "ways = 0", "ways"),
    ] {
        let text = GRID.replacen(from, to, 1);
        assert_ne!(text, GRID);
        assert_eq!(Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err().key(), key);
    }
}

fn values(rows: Vec<Row>) -> BTreeMap<String, f64> {
    rows.into_iter().map(|row| (row.metric, row.value.unwrap())).collect()
}

/// Compares ResidualPlanner with its expected error, within five standard errors, each at least 2%
/// of the mean. For AIM+GReM, checks the inequalities between norms and the limits of a round.
#[test]
fn every_cell_reports_its_metrics() {
    let (_root, kind) = kind();
    let kind: &dyn Experiment = &kind;
    let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
    assert_eq!(cells.len(), 2 * 2);
    assert!(cells.iter().all(|cell| cell.key[1].1 == "stand-in" && cell.data().unwrap().is_some()));
    let rows = |index: usize| {
        values(kind.run(&cells[index], &mut ChaCha20Rng::seed_from_u64(7 + index as u64)).unwrap())
    };
    for index in [0, 2] {
        let (planner, adaptive) = (rows(index), rows(index + 1));
        let off = planner["mean_l1"] / planner["expected_mean_l1"] - 1.0;
        assert!(
            off.abs() < 5.0 * (planner["mean_l1_se"] / planner["mean_l1"]).max(0.02),
            "{planner:?}"
        );
        assert!(
            adaptive["mean_l2"] < adaptive["mean_l1"] && adaptive["mean_l1"] < adaptive["max_l1"],
            "{adaptive:?}"
        );
        assert!(adaptive["rounds"] >= 1.0 && adaptive["seconds_se"] >= 0.0);
        // A 2-way marginal has four residuals. There are 36 2-way marginals, 9 1-way marginals and
        // the total.
        assert!((1.0..=4.0).contains(&adaptive["residuals_per_round"]), "{adaptive:?}");
        assert!((1.0..=46.0).contains(&adaptive["looks_per_round"]), "{adaptive:?}");
    }
}
