//! The matrices of S2's example: the workload of Fig. 1(b) and the strategies of Example 4.

use matmech::linalg::kron;
use matmech::strategy;
use matmech::workload::Workload;
use ndarray::Array2;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::worked_example::queries;
use crate::error::Result;
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_method;

/// One value `entry` for each query and cell of a matrix.
///
/// The matrix is the `workload`, or a strategy scaled to a largest column norm of 1.
#[derive(Debug)]
pub struct ExampleMatrices;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// `workload`, or names of strategies.
    methods: Vec<String>,
}

/// The params of a cell: row and column of the entry, from 0.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    query: usize,
    cell: usize,
}

/// The method whose matrix is the workload.
const WORKLOAD: &str = "workload";

impl Kind for ExampleMatrices {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "example-matrices";
    const SUMMARY: &'static str =
        "the workload of S2's Fig. 1(b) and strategies for it, entry by entry";
    const KEYS: &'static [&'static str] = &["query", "cell_number"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (i, method) in grid.methods.iter().enumerate() {
            check_method(&format!("methods[{i}]"), method)?;
            let (rows, columns) = matrix(method)?.dim();
            for query in 0..rows {
                for cell in 0..columns {
                    cells.push(CellOf::new(
                        [&(query + 1), &(cell + 1)],
                        method,
                        Params { query, cell },
                    ));
                }
            }
        }
        Ok(cells)
    }

    fn run(
        &self,
        method: &str,
        Params { query, cell }: Params,
        _rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Row>> {
        let entry = matrix(method)?.get((query, cell)).copied().unwrap_or(0.0);
        Ok(vec![Row::new("entry", entry)])
    }
}

/// Returns the matrix of the workload, or of a strategy at unit privacy cost.
fn matrix(method: &str) -> Result<Array2<f64>> {
    if method == WORKLOAD {
        return Ok(queries());
    }
    let gram = Workload::explicit(&[8], queries())?.gram()?;
    let strategy = strategy::by_name(method)?.select(&gram)?.strategy;
    let mut rows = Array2::ones((1, 1));
    for factor in strategy.factors() {
        rows = kron(rows.view(), factor.queries()?.view());
    }
    Ok(rows / strategy.sensitivity_squared().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns have at most norm 1, and the errors are those of Example 4.
    #[test]
    fn the_matrices_have_the_errors_of_the_example() {
        let gram = queries().t().dot(&queries());
        for (method, error) in [("identity", 36.0), ("wavelet", 21.0), ("eigen-design", 15.47)] {
            let rows = matrix(method).unwrap();
            let strategy = rows.t().dot(&rows);
            assert!(
                strategy.diag().iter().all(|norm| *norm <= 1.0 + 1e-9),
                "{method}: {:?}",
                strategy.diag()
            );
            let inverse =
                matmech::linalg::Semidefinite::of(strategy.view()).unwrap().pseudo_inverse();
            let trace = gram.dot(&inverse).diag().sum();
            approx::assert_relative_eq!(trace, error, max_relative = 4e-4);
        }
    }
}
