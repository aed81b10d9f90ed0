//! Strategies for the eight ad hoc queries of S2's Fig. 1(b) (Example 4).

use matmech::strategy;
use matmech::workload::{Gram, Workload};
use ndarray::{Array2, array};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::selections::inverse_privacy_cost;
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::strategies::{SVD_BOUND, check_method};

/// Methods on Fig. 1(b): `total_error`, `rmse` and `over_eigen`.
///
/// `total_error` is at unit privacy cost, `rmse` at the budget, and `over_eigen` is the ratio of
/// `rmse` to that of Eigen-Design. The method `workload` also reports `rank` and `sensitivity`.
///
/// `gaussian-mechanism` is what Example 4 calls the workload as strategy: every query is answered
/// directly, without least squares, with error `m ‖W‖₂²`. The available text of S2 lacks the
/// figure; the queries are reconstructed (spec of S2).
#[derive(Debug)]
pub struct WorkedExample;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// ε of the classical Gaussian mechanism.
    epsilon: f64,
    /// δ.
    delta: f64,
    /// Names of strategies, `svd-bound`, or `gaussian-mechanism`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    epsilon: f64,
    delta: f64,
}

/// The method that answers every query of the workload directly.
const GAUSSIAN: &str = "gaussian-mechanism";

/// Returns the queries of Fig. 1(b) over students by gender and grade: gender-major cells, four
/// grade ranges.
pub(super) fn queries() -> Array2<f64> {
    array![
        [1., 1., 1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 0., 0., 0., 0.],
        [0., 0., 0., 0., 1., 1., 1., 1.],
        [1., 1., 0., 0., 1., 1., 0., 0.],
        [0., 0., 1., 1., 0., 0., 1., 1.],
        [0., 0., 0., 0., 0., 0., 1., 1.],
        [1., 1., 0., 0., 0., 0., 0., 0.],
        [1., 1., 1., 1., -1., -1., -1., -1.],
    ]
}

impl Kind for WorkedExample {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "worked-example";
    const SUMMARY: &'static str =
        "the eight queries of S2's Fig. 1(b): root mean square errors of strategies for them";
    const REVISION: u32 = 3;
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["total_error", "rmse"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { epsilon, delta, methods } = grid;
        for (i, method) in methods.iter().enumerate().filter(|(_, method)| *method != GAUSSIAN) {
            check_method(&format!("methods[{i}]"), method)?;
        }
        inverse_privacy_cost(epsilon, delta).map_err(|error| Error::refused("epsilon", error))?;
        Ok(methods
            .iter()
            .map(|method| CellOf::new([&"fig1b"], method, Params { epsilon, delta }))
            .collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let gram = Workload::explicit(&[8], queries())?.gram()?;
        let optimum = strategy::by_name("optimal")?.select(&gram)?;
        let lower = optimum
            .certificate
            .map_or(strategy::svd_bound(&gram)?, |certificate| certificate.lower_bound);
        let error = match method {
            SVD_BOUND => strategy::svd_bound(&gram)?,
            GAUSSIAN => queries().nrows() as f64 * sensitivity_squared(&gram)?,
            strategy => error(strategy, &gram)?,
        };
        // The SVD bound can be below the lower bound of the optimum's certificate.
        let (lower, gap) = if error < lower { (error, 0.0) } else { (lower, error / lower - 1.0) };
        let variance = inverse_privacy_cost(params.epsilon, params.delta)?;
        let scale = (variance / queries().nrows() as f64).sqrt();
        let rmse = scale * error.sqrt();
        let over_eigen = (error / self::error("eigen-design", &gram)?).sqrt();
        let mut rows = vec![
            Row {
                certificate: optimum.proof.as_ref().map(CellCertificate::of),
                ..Row::certified("total_error", error, lower, gap)
            },
            // RMSE is the square root of the error: 1 + gap becomes √(1 + gap).
            Row::certified("rmse", rmse, scale * lower.sqrt(), (1.0 + gap).sqrt() - 1.0),
            Row::new("over_eigen", over_eigen),
        ];
        if method == "workload" {
            let matrix = gram.to_dense()?;
            let rank = matmech::linalg::Semidefinite::of(matrix.view())?.values.len();
            rows.push(Row::new("rank", rank as f64));
            rows.push(Row::new("sensitivity", sensitivity_squared(&gram)?.sqrt()));
        }
        Ok(rows)
    }

    fn prove(
        &self,
        method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let gram = Workload::explicit(&[8], queries())?.gram()?;
        let bounds = GramBounds::of_gram(&gram, certificate.proof("")?.as_ref())?;
        // The row of the SVD bound has itself as its lower bound.
        let lower = if method == SVD_BOUND { bounds.svd_bound } else { bounds.lower };
        let error = bounds.error.filter(|_| method == "optimal");
        let scale = inverse_privacy_cost(params.epsilon, params.delta)? / queries().nrows() as f64;
        let rmse = |error: f64| (scale * error).sqrt();
        Ok(vec![
            Row::proved("total_error", lower, error),
            Row::proved("rmse", rmse(lower), error.map(rmse)),
        ])
    }
}

/// Returns ‖W‖₂².
fn sensitivity_squared(gram: &Gram) -> matmech::Result<f64> {
    Ok(gram.to_dense()?.diag().iter().copied().fold(0.0, f64::max))
}

fn error(method: &str, gram: &Gram) -> matmech::Result<f64> {
    Ok(strategy::by_name(method)?.select(gram)?.error)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    /// Compares with values of the text: ‖W‖₂² = 5 and rank 4. The error is 8·5 without least
    /// squares, 4·5 with least squares, and tr(WᵀW) = 36 for the identity.
    #[test]
    fn the_queries_have_the_properties_that_the_text_states() {
        let kind: &dyn Experiment = &WorkedExample;
        let grid =
            "epsilon = 0.5\ndelta = 1e-4\nmethods = ['workload', 'gaussian-mechanism', 'identity']";
        let cells = kind.cells(&grid.parse().unwrap()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let value = |cell: usize, metric: &str, rng: &mut ChaCha20Rng| {
            let rows = kind.run(&cells[cell], rng).unwrap();
            rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
        };
        assert_eq!(
            (value(0, "rank", &mut rng), value(0, "sensitivity", &mut rng)),
            (4.0, 5f64.sqrt())
        );
        for (cell, error) in [(0, 20.0), (1, 40.0), (2, 36.0)] {
            approx::assert_relative_eq!(
                value(cell, "total_error", &mut rng),
                error,
                max_relative = 1e-9
            );
        }
    }
}
