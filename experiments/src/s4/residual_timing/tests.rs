//! Tests of residual timing.

use super::*;
use crate::experiment::Experiment;
use rand::SeedableRng;

const GRID: &str = "n = 4\ndegrees = [2, 3]\ndegree = 3\nsizes = [2, 5]\n\
                    methods = ['in-axis', 'kronecker-dense', 'kronecker-structured']\n\
                    claims = ['fig3-decomp-degree', 'fig3-recon-slower']\nmax_mb = 10";

#[test]
fn bad_grids_name_the_key() {
    let kind: &dyn Experiment = &ResidualTiming::default();
    for (from, to, key) in [
        ("degrees = [2, 3]", "degrees = [2, 99]", "degrees"),
        ("degrees = [2, 3]", "degrees = [0]", "degrees"),
        ("sizes = [2, 5]", "sizes = [1]", "sizes"),
        ("sizes = [2, 5]", "sizes = [5000]", "sizes"),
        ("degrees = [2, 3]", "degrees = []", "claims"),
        ("in-axis", "in-axes", "methods[0]"),
    ] {
        let error = kind.cells(&GRID.replace(from, to).parse().unwrap()).unwrap_err();
        assert_eq!(error.key(), key, "{error}");
    }
}

/// Methods and claims have the same names in configs, tables and stored params.
#[test]
fn names_are_those_of_configs() {
    for method in [Method::InAxis, Method::KroneckerDense, Method::KroneckerStructured] {
        assert_eq!(serde_json::to_value(method).unwrap(), method.name());
    }
    for claim in [Claim::DecompDegree, Claim::DecompSize, Claim::ReconSlower, Claim::ReconFaster] {
        assert_eq!(serde_json::to_value(claim).unwrap(), claim.id());
    }
}

/// Rows of a side have the number of values and a time. A claim spans all points.
#[test]
fn cells_hold_sizes_and_times() {
    let kind: &dyn Experiment = &ResidualTiming::default();
    let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
    assert_eq!(cells.len(), 4 * 3 + 2);
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    for cell in &cells[..12] {
        let rows = kind.run(cell, &mut rng).unwrap();
        let of = |column: usize| cell.key[column].1.parse::<u32>().unwrap();
        let values: Vec<_> = rows.iter().map(|row| row.value.unwrap()).collect();
        assert_eq!(
            values,
            [(of(1) - 1).pow(of(2)), of(1).pow(of(2))].map(f64::from),
            "{:?}",
            cell.key
        );
        assert!(rows.iter().all(|row| row.seconds.unwrap() > 0.0));
    }
    let claim = &cells[13];
    assert_eq!(
        [&claim.key[0].1, &claim.key[1].1, &claim.key[2].1],
        ["fig3-recon-slower", "2-5", "2-3"]
    );
    let metrics: Vec<String> =
        kind.run(claim, &mut rng).unwrap().into_iter().map(|row| row.metric).collect();
    assert_eq!(
        metrics,
        ["", "_over_structured", "_over_dense"].map(|of| format!("max_slowdown_seconds{of}"))
    );
}

/// Compares with ratios and differences of given times: in-axis, structured, dense.
#[test]
fn claims_are_computed_from_the_times() {
    let times = [[1.0, 2.0, 8.0], [2.0, 1.5, 4.0]];
    let values = |claim| {
        claim_rows(claim, &times).into_iter().map(|row| row.value.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(values(Claim::DecompDegree), [1.375, 1.375, 5.0]);
    assert_eq!(values(Claim::ReconSlower), [0.5, 0.5, -2.0]);
    assert_eq!(values(Claim::ReconFaster), [1.0, 1.0, 7.0]);
}
