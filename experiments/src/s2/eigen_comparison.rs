//! Eigen-Design and what it is compared with: root mean square errors on workloads (S2, Sec. 5).

use matmech::privacy::{Guarantee, PrivacyBudget};
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::selections::{EIGEN_DESIGN, Outcome, Selections, select};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;
use crate::strategies::{SVD_BOUND, check_method, check_workload};

/// Workloads × methods: `rmse` at the budget, `ratio_to_bound` (to the SVD bound), its inverse
/// `bound_ratio`, and `over_eigen`, the root mean square error as a multiple of Eigen-Design's on
/// the same workload.
///
/// A permuted workload has its cells renamed several times; values are means over the permutations,
/// with `over_eigen_se`, `over_eigen_min` and `over_eigen_max`. Eigen-Design itself, the optimum
/// and the bound are computed for the first permutation only: renaming cells changes none of them
/// (S2, Prop. 5), which the library's tests check. Seconds are those of the selection.
#[derive(Debug, Default)]
pub struct EigenComparison {
    selections: Selections,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// ε of the classical Gaussian mechanism.
    epsilon: f64,
    /// δ.
    delta: f64,
    /// What runs on what.
    runs: Vec<Run>,
}

/// Workloads with the methods that are for them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Workload strings.
    workloads: Vec<String>,
    /// How often their cells are renamed, with seeds 1, 2, …; 0 leaves them as they are.
    #[serde(default)]
    permutations: u64,
    /// Names of strategies, or `svd-bound`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    epsilon: f64,
    delta: f64,
    workload: String,
    permutations: u64,
}

impl Kind for EigenComparison {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "eigen-comparison";
    const SUMMARY: &'static str =
        "root mean square errors of Eigen-Design and other strategies, beside bound and optimum";
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["rmse", "ratio_to_bound"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { epsilon, delta, runs } = grid;
        scale(epsilon, delta).map_err(|error| Error::refused("epsilon", error))?;
        let mut cells = Vec::new();
        for (k, Run { workloads, permutations, methods }) in runs.into_iter().enumerate() {
            for (i, method) in methods.iter().enumerate() {
                check_method(&format!("runs[{k}].methods[{i}]"), method)?;
            }
            for (i, workload) in workloads.into_iter().enumerate() {
                check_workload(&format!("runs[{k}].workloads[{i}]"), &workload)?;
                let name = if permutations == 0 {
                    workload.clone()
                } else {
                    format!("permuted-{workload}")
                };
                let params = || Params { epsilon, delta, workload: workload.clone(), permutations };
                cells.extend(methods.iter().map(|method| CellOf::new([&name], method, params())));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { epsilon, delta, workload, permutations } = params;
        let name = |seed: u64| {
            if permutations == 0 { workload.clone() } else { permuted(&workload, seed) }
        };
        let eigen = self.selections.of(&name(1), EIGEN_DESIGN)?;
        let first = self.selections.of(&name(1), method)?;
        let mut outcomes = vec![Outcome::clone(&first)];
        if ![SVD_BOUND, EIGEN_DESIGN, "optimal"].contains(&method) {
            for seed in 2..=permutations {
                outcomes.push(select(&Workload::parse(&name(seed))?, method)?);
            }
        }
        let over_all = |value: &dyn Fn(&Outcome) -> f64| {
            let mut sample = Sample::default();
            outcomes.iter().for_each(|outcome| sample.push(value(outcome)));
            sample
        };
        let scale = (scale(epsilon, delta)? / first.queries).sqrt();
        let rmse = over_all(&|o| scale * o.error.sqrt()).mean();
        let lower = scale * first.lower.sqrt();
        let gap = rmse / lower - 1.0;
        let seconds = Some(first.seconds);
        let mut rows = vec![
            Row { seconds, ..Row::certified("rmse", rmse, lower, gap) },
            Row::certified(
                "ratio_to_bound",
                over_all(&|o| o.over_bound()).mean(),
                lower / (scale * first.svd_bound.sqrt()),
                gap,
            ),
            Row::new("bound_ratio", over_all(&|o| 1.0 / o.over_bound()).mean()),
        ];
        let over = over_all(&|o| o.over(&eigen));
        rows.extend(over.rows("over_eigen"));
        if over.len() > 1 {
            rows.push(Row::new("over_eigen_min", over.smallest()));
            rows.push(Row::new("over_eigen_max", over.largest()));
        }
        rows.extend(first.details.iter().map(|(name, value)| Row::new(*name, *value)));
        Ok(rows)
    }
}

/// P of `rmse = √(P/m · error)`: one over the privacy cost, `2 ln(2/δ)/ε²` for the classical
/// calibration.
fn scale(epsilon: f64, delta: f64) -> matmech::Result<f64> {
    let budget = PrivacyBudget::from(Guarantee::ApproximateClassical { epsilon, delta });
    Ok(1.0 / budget.privacy_cost()?.get())
}

/// A workload string with its cells renamed.
pub(super) fn permuted(workload: &str, seed: u64) -> String {
    format!("permuted({workload}; seed={seed})")
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    fn rows(grid: &str) -> Vec<(String, Vec<Row>)> {
        let kind = EigenComparison::default();
        let kind: &dyn Experiment = &kind;
        let cells = kind.cells(&grid.parse().unwrap()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        cells.iter().map(|cell| (cell.method.clone(), kind.run(cell, &mut rng).unwrap())).collect()
    }

    fn value(rows: &[Row], metric: &str) -> f64 {
        rows.iter()
            .find(|row| row.metric == metric)
            .unwrap_or_else(|| panic!("no {metric}"))
            .value
            .unwrap()
    }

    /// Identity on n cells: every query has variance P, and everything is optimal.
    #[test]
    fn errors_are_those_of_the_formula() {
        for (method, rows) in rows(
            "epsilon = 0.5\ndelta = 1e-4\nruns = [{ workloads = ['identity:8'], methods = ['identity', 'eigen-design', 'svd-bound'] }]",
        ) {
            let scale = (2.0 * (2.0f64 / 1e-4).ln()).sqrt() / 0.5;
            assert_relative_eq!(value(&rows, "rmse"), scale, max_relative = 1e-9);
            assert_relative_eq!(value(&rows, "over_eigen"), 1.0, max_relative = 1e-9);
            assert_relative_eq!(value(&rows, "bound_ratio"), 1.0, max_relative = 1e-9);
            assert!(!rows.iter().any(|row| row.metric == "over_eigen_se"), "{method}");
        }
    }

    #[test]
    fn renaming_cells_hurts_the_wavelet_and_not_eigen_design() {
        let found = rows(
            "epsilon = 1.0\ndelta = 1e-4\nruns = [{ workloads = ['range:64'], methods = ['eigen-design', 'wavelet'] }, { workloads \
             = ['range:64'], permutations = 3, methods = ['eigen-design', 'wavelet'] }]",
        );
        assert_relative_eq!(
            value(&found[0].1, "rmse"),
            value(&found[2].1, "rmse"),
            max_relative = 1e-7
        );
        assert!(value(&found[3].1, "over_eigen_min") > 1.5 * value(&found[1].1, "over_eigen"));
        let mean = value(&found[3].1, "over_eigen");
        assert!(
            value(&found[3].1, "over_eigen_min") < mean
                && mean < value(&found[3].1, "over_eigen_max")
        );
    }

    #[test]
    fn bad_grids_name_the_key() {
        let kind = EigenComparison::default();
        let base = "epsilon = 0.5\ndelta = 1e-4\n";
        for (text, key) in [
            (
                "runs = [{ workloads = ['range:x'], methods = ['identity'] }]",
                "runs[0].workloads[0]",
            ),
            (
                "runs = [{ workloads = ['range:4', 'rage:4'], permutations = 2, methods = [] }]",
                "runs[0].workloads[1]",
            ),
            (
                "runs = [{ workloads = [], methods = [] }, { workloads = ['range:4'], methods = ['eigen'] }]",
                "runs[1].methods[0]",
            ),
        ] {
            let error =
                Experiment::cells(&kind, &format!("{base}{text}").parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
        let bad = "epsilon = -1.0\ndelta = 1e-4\nruns = []";
        assert_eq!(Experiment::cells(&kind, &bad.parse().unwrap()).unwrap_err().key(), "epsilon");
    }
}
