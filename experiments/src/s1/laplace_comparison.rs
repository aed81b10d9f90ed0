//! Laplace and Gaussian noise for predicate strategies (S1, App. B.3).

use matmech::strategy::{self, Strategy};
use matmech::workload::{Family, Workload};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::laplace;
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_names;

/// Domain sizes n × strategies for all ranges.
///
/// | metric | value |
/// |---|---|
/// | `l1_sensitivity` | the L1 sensitivity of the strategy |
/// | `error_ratio` | error of the ε-matrix mechanism over that of the (ε, 2/n²)-matrix mechanism |
/// | `threshold` | the L1 sensitivity at which both errors are equal |
/// | `printed_threshold` | this threshold as the paper prints it, √(ln n) |
///
/// Above an `error_ratio` of 1, Gaussian noise is better.
#[derive(Debug)]
pub struct LaplaceComparison;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Domain sizes n.
    cells: Vec<usize>,
    /// Strategies of 0/1 queries, or `workload`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    cells: usize,
}

impl Kind for LaplaceComparison {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "laplace-comparison";
    const SUMMARY: &'static str =
        "Laplace against Gaussian noise for predicate strategies over growing domains";
    const KEYS: &'static [&'static str] = &["n"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        for (i, &n) in grid.cells.iter().enumerate() {
            if !(2..=matmech::workload::MAX_DENSE_CELLS).contains(&n) {
                let expected = format!("2 to {} cells", matmech::workload::MAX_DENSE_CELLS);
                return Err(Error::config(
                    format!("cells[{i}]"),
                    expected,
                    n.to_string(),
                    "choose another size",
                ));
            }
        }
        let selectors = strategy::strategies();
        let known: Vec<&str> = selectors.iter().map(|s| s.name()).collect();
        check_names("methods", "strategy", &grid.methods, &known)?;
        let cells = grid.methods.iter().flat_map(|method| {
            grid.cells.iter().map(move |&n| CellOf::new([&n], method, Params { cells: n }))
        });
        Ok(cells.collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let n = params.cells;
        let gram = Workload::family(Family::RANGE, &[n])?.gram()?;
        let l1 = if method == "workload" {
            // All ranges are 0/1 queries: the L1 norm of a column is its squared L2 norm.
            gram.max_diagonal()
        } else {
            l1_sensitivity(&strategy::by_name(method)?.select(&gram)?.strategy)?
        };
        Ok(vec![
            Row::new("l1_sensitivity", l1),
            Row::new("error_ratio", laplace::predicate_error_ratio(l1, n)),
            Row::new("threshold", laplace::predicate_threshold(n)),
            Row::new("printed_threshold", (n as f64).ln().sqrt()),
        ])
    }
}

/// Returns the L1 sensitivity, the largest L1 norm of a column, of a strategy of 0/1 queries.
///
/// # Errors
/// Returns an error if a query has other coefficients.
fn l1_sensitivity(strategy: &Strategy) -> Result<f64> {
    let mut product = 1.0;
    for factor in strategy.factors() {
        let queries = factor.queries()?;
        if !queries.iter().all(|&q| q == 0.0 || q == 1.0) {
            return Err(Error::Computation {
                what: format!("strategy `{}`", strategy.name()),
                expected: "predicate (0/1) queries".to_owned(),
                found: "other coefficients".to_owned(),
                remedy: "remove it from `methods`: App. B.3 compares predicate strategies only"
                    .to_owned(),
            });
        }
        product *= queries.columns().into_iter().map(|column| column.sum()).fold(0.0, f64::max);
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    #[test]
    fn the_tree_over_1024_cells_is_between_the_printed_and_the_correct_threshold() {
        let kind: &dyn Experiment = &LaplaceComparison;
        let grid: toml::Table =
            "cells = [1024]\nmethods = ['hierarchical', 'workload', 'identity']".parse().unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let rows: Vec<Vec<Row>> = kind
            .cells(&grid)
            .unwrap()
            .iter()
            .map(|cell| kind.run(cell, &mut rng).unwrap())
            .collect();
        let value = |case: usize, metric: &str| {
            rows[case].iter().find(|r| r.metric == metric).unwrap().value.unwrap()
        };
        assert_eq!(value(0, "l1_sensitivity"), 11.0);
        assert!(value(0, "error_ratio") < 1.0 && value(0, "printed_threshold") < 11.0);
        assert_eq!(value(1, "l1_sensitivity"), 512.0 * 513.0);
        assert_eq!(value(2, "l1_sensitivity"), 1.0);
    }

    #[test]
    fn strategies_with_other_coefficients_are_refused() {
        let grid: toml::Table = "cells = [8]\nmethods = ['wavelet']".parse().unwrap();
        let kind: &dyn Experiment = &LaplaceComparison;
        let cells = kind.cells(&grid).unwrap();
        let error =
            kind.run(&cells[0], &mut ChaCha20Rng::seed_from_u64(0)).unwrap_err().to_string();
        assert!(error.contains("wavelet") && error.contains("0/1"), "{error}");
    }
}
