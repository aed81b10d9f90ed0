//! Tests on the stand-in of Titanic and on numbers that are computed by hand.

use super::*;
use crate::datasets::Folders;
use crate::experiment::Experiment;

fn kind() -> (tempfile::TempDir, RecordScores) {
    let root = tempfile::tempdir().unwrap();
    let folders = Folders {
        user: None,
        tables: root.path().join("tables"),
        downloads: root.path().join("downloads"),
    };
    let catalogue = Catalogue::new(root.path(), folders);
    (root, RecordScores { catalogue })
}

const GRID: &str = "epsilon = 1\ndelta = 1e-9\nways = 2\n\
                    runs = [{ dataset = 'titanic', trials = 2, \
                    methods = ['subsample(share=1)', 'subsample(share=0.1)', 'staged'] }]";

#[test]
fn bad_grids_name_the_key() {
    let (_root, kind) = kind();
    for (from, to, key) in [
        ("'titanic'", "'titanik'", "runs[0].dataset"),
        ("'staged'", "'residual-planner'", "runs[0].methods[2]"),
        ("share=0.1", "share=0", "runs[0].methods[1]"),
        ("share=0.1", "part=0.1", "runs[0].methods[1]"),
        ("epsilon = 1", "epsilon = -1", "epsilon"),
        ("trials = 2", "trials = 0", "runs[0].trials"),
    ] {
        let text = GRID.replacen(from, to, 1);
        assert_ne!(text, GRID);
        assert_eq!(Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err().key(), key);
    }
}

/// All records have the full score, a part of them and synthetic records less.
#[test]
fn only_the_table_itself_has_the_full_score() {
    let (_root, kind) = kind();
    let kind: &dyn Experiment = &kind;
    let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
    let scores = cells.iter().map(|cell| {
        let rows = kind.run(cell, &mut ChaCha20Rng::seed_from_u64(3)).unwrap();
        let of = |metric: &str| {
            rows.iter().find(|row| row.metric == metric).and_then(|row| row.value).unwrap()
        };
        ["score_1", "score_2", "score_3", "drawn_sd"].map(of)
    });
    let scores: Vec<[f64; 4]> = scores.collect();
    for (score, expected) in scores[0].iter().zip([1000.0, 1000.0, 1000.0, 0.0]) {
        assert!((score - expected).abs() < 1e-9);
    }
    for [ones, pairs, triples, deviation] in &scores[1..] {
        assert!(1000.0 > *ones && ones > pairs && pairs > triples && *triples > 0.0);
        assert!((0.1..30.0).contains(deviation));
    }
}

/// Two attributes with three records each: ‖p − q‖₁ is 0, 2/3 and, on the pair, 2/3.
#[test]
fn scores_match_a_computation_by_hand() {
    let schema = Schema::uniform(2, 2).unwrap();
    let records = |columns: [[u32; 3]; 2]| {
        let columns = columns.map(|column| column.into_iter().collect()).to_vec();
        Records::new(&schema, columns).unwrap()
    };
    let bins = RankBins { schema: schema.clone(), bins: vec![vec![0, 1]; 2] };
    let truth = bins.marginals_of(&records([[0, 0, 1], [0, 1, 1]]), &[1, 2]).unwrap();
    let found = bins.marginals_of(&records([[0, 1, 0], [0, 0, 1]]), &[1, 2]).unwrap();
    let l1 = |k: usize| -> f64 {
        truth[k].iter().zip(&found[k]).map(|(p, q): (&f64, &f64)| (p - q).abs()).sum()
    };
    assert!(l1(0) < 1e-15);
    assert!((l1(1) - 2.0 / 3.0).abs() < 1e-15);
    assert!((l1(2) - 2.0 / 3.0).abs() < 1e-15);
}

/// Oracle: the ranks of pandas, `s.rank(pct=True)`, by hand.
#[test]
fn bins_have_equal_ranks() {
    // Ranks 1/10, 3/10 twice (mean of 0.2, 0.3, 0.4), 0.75 (mean of 5 to 10).
    assert_eq!(rank_bins(&[1.0, 0.0, 3.0, 6.0, 0.0]), [2, 6, 6, 15, 15]);
    // One record of each of 40 values: two per bin, shifted by the rank of the record itself.
    let bins = rank_bins(&[1.0; 40]);
    let expected: Vec<u32> = (1..=40).map(|rank| (rank / 2).min(19)).collect();
    assert_eq!(bins, expected);
}
