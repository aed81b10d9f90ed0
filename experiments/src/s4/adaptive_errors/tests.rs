//! ResidualPlanner and AIM+GReM on the stand-in of Titanic.

use std::collections::BTreeMap;

use super::*;
use crate::datasets::Folders;
use crate::experiment::Experiment;

fn kind() -> (tempfile::TempDir, AdaptiveErrors) {
    let root = tempfile::tempdir().unwrap();
    let folders = Folders { own: None, downloads: root.path().join("downloads") };
    let catalogue = Catalogue::new(root.path(), folders);
    (root, AdaptiveErrors { catalogue })
}

const GRID: &str = "datasets = ['titanic']\nepsilons = [1.0, 10.0]\ndelta = 1e-9\nways = 2\ntrials = 3\n\
                    methods = ['residual-planner', 'aim-grem']\nratios = ['titanic']\nclaims = ['fig4-rp-worst-low']";

#[test]
fn bad_grids_name_the_key() {
    let (_root, kind) = kind();
    for (from, to, key) in [
        ("datasets = ['titanic']", "datasets = ['titanik']", "datasets[0]"),
        ("ratios = ['titanic']", "ratios = ['x']", "ratios[0]"),
        ("'aim-grem'", "'aim-pgm'", "methods[1]"),
        ("fig4-rp-worst-low", "fig4", "claims[0]"),
        ("1.0,", "-1.0,", "epsilons[0]"),
        ("trials = 3", "trials = 0", "trials"),
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

/// From trials that are chosen.
#[test]
fn ratios_are_those_of_the_means() {
    let outcomes = |l1: [f64; 2], l2: [f64; 2], max: [f64; 2]| Outcomes {
        mean_l1: l1.into_iter().collect(),
        mean_l2: l2.into_iter().collect(),
        max_l1: max.into_iter().collect(),
        ..Outcomes::default()
    };
    let own = outcomes([1.0, 3.0], [0.5, 0.5], [9.0, 3.0]);
    let other = outcomes([7.0, 1.0], [4.0, 1.0], [1.0, 2.0]);
    let ratios = values(own.over(&other));
    assert_eq!([ratios["l1_ratio"], ratios["l2_ratio"], ratios["max_ratio"]], [0.5, 0.2, 4.0]);
}

/// On the stand-in of Titanic. ResidualPlanner's errors are those that are expected; AIM+GReM's obey the inequalities between
/// norms and the limits of what a round can measure; ratios, of other draws, are those of the two methods run by themselves.
/// All within five standard errors, which are taken to be at least 2% of a mean of three.
#[test]
fn every_cell_reports_its_metrics() {
    let (_root, kind) = kind();
    let kind: &dyn Experiment = &kind;
    let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
    assert_eq!(cells.len(), 2 * 2 + 2 + 1);
    assert!(cells.iter().all(|cell| cell.key[2].1 == "stand-in" && cell.data().unwrap().is_some()));
    let rows =
        |place: usize| values(kind.run(&cells[place], &mut ChaCha20Rng::seed_from_u64(7 + place as u64)).unwrap());
    let relative = |rows: &BTreeMap<String, f64>| (rows["mean_l1_se"] / rows["mean_l1"]).max(0.02);
    let mut ratios = [0.0; 2];
    for (place, ratio) in ratios.iter_mut().enumerate() {
        let (planner, adaptive) = (rows(2 * place), rows(2 * place + 1));
        let off = planner["mean_l1"] / planner["expected_mean_l1"] - 1.0;
        assert!(off.abs() < 5.0 * relative(&planner), "{planner:?}");
        assert!(adaptive["mean_l2"] < adaptive["mean_l1"] && adaptive["mean_l1"] < adaptive["max_l1"], "{adaptive:?}");
        assert!(adaptive["rounds"] >= 1.0);
        // A marginal of two attributes has four residuals; there are 36 such marginals, 9 of one attribute and the total.
        assert!((1.0..=4.0).contains(&adaptive["residuals_per_round"]), "{adaptive:?}");
        assert!((1.0..=46.0).contains(&adaptive["looks_per_round"]), "{adaptive:?}");
        *ratio = rows(4 + place)["l1_ratio"];
        let off = *ratio * planner["mean_l1"] / adaptive["mean_l1"] - 1.0;
        assert!(off.abs() < 5.0 * relative(&planner).hypot(relative(&adaptive)), "{off} {planner:?} {adaptive:?}");
    }
    let worst = rows(6)["worst_ratio"] / ratios[0].max(ratios[1]) - 1.0;
    assert!(worst.abs() < 5.0 * 0.02f64.hypot(0.02), "{worst} {ratios:?}");
}
