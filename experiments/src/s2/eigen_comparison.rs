//! Root mean square errors of Eigen-Design and its competitors on workloads (S2, Sec. 5).

use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::selections::{EIGEN_DESIGN, Outcome, Selections, inverse_privacy_cost};
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, CellOf, Kind, Row};
use crate::proved::GramBounds;
use crate::statistics::Sample;
use crate::strategies::{SVD_BOUND, check_methods, check_workloads};

/// Workloads × methods: `rmse` at the budget and its ratios to the SVD bound and to Eigen-Design.
///
/// `ratio_to_bound` is the ratio to the SVD bound, `bound_ratio` its inverse, and `over_eigen` the
/// ratio to Eigen-Design on the same workload. Seconds are those of the selection.
///
/// With `permutations`, values are means over several permutations of the cells, with
/// `over_eigen_se`, `over_eigen_min` and `over_eigen_max`. Eigen-Design, the optimum and the bound
/// are computed for the first permutation only, because they are invariant (S2, Prop. 5; the tests
/// of the library check this).
#[derive(Debug, Default)]
pub struct EigenComparison {
    /// The selections, shared by the kinds of S2.
    pub selections: Selections,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// ε of the classical Gaussian mechanism.
    epsilon: f64,
    /// δ.
    delta: f64,
    /// Workloads and methods.
    runs: Vec<Run>,
}

/// Workloads and the methods that run on them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Workload strings.
    workloads: Vec<String>,
    /// Number of permutations of their cells, with seeds 1, 2, …; 0 for the original order.
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
        "root mean square errors of Eigen-Design and other strategies, with bound and optimum";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &["rmse", "ratio_to_bound"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { epsilon, delta, runs } = grid;
        inverse_privacy_cost(epsilon, delta).map_err(|error| Error::refused("epsilon", error))?;
        let mut cells = Vec::new();
        for (k, Run { workloads, permutations, methods }) in runs.into_iter().enumerate() {
            check_methods(&format!("runs[{k}].methods"), &methods)?;
            check_workloads(&format!("runs[{k}].workloads"), &workloads)?;
            for workload in workloads {
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
        let name = |seed| name(&workload, permutations, seed);
        let eigen = self.selections.of(&name(1), EIGEN_DESIGN)?;
        let first = self.selections.of(&name(1), method)?;
        let mut outcomes = vec![Outcome::clone(&first)];
        if ![SVD_BOUND, EIGEN_DESIGN, "optimal"].contains(&method) {
            for seed in 2..=permutations {
                outcomes.push(Outcome::clone(&*self.selections.of(&name(seed), method)?));
            }
        }
        let over_all = |value: &dyn Fn(&Outcome) -> f64| {
            let mut sample = Sample::default();
            outcomes.iter().for_each(|outcome| sample.push(value(outcome)));
            sample
        };
        // rmse = √(error / (β m)) at privacy cost β, for m queries.
        let scale = (inverse_privacy_cost(epsilon, delta)? / first.queries).sqrt();
        let rmse = over_all(&|o| scale * o.error.sqrt()).mean();
        let lower = scale * first.lower.sqrt();
        let gap = rmse / lower - 1.0;
        let (seconds, certificate) = (Some(first.seconds), first.certificate.clone());
        let mut rows = vec![
            Row { seconds, certificate, ..Row::certified("rmse", rmse, lower, gap) },
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

    fn prove(
        &self,
        _method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let Params { epsilon, delta, workload, permutations } = params;
        let bounds = GramBounds::of(&name(&workload, permutations, 1), certificate)?;
        let queries = Workload::parse(&workload)?.count().as_f64();
        let scale = inverse_privacy_cost(epsilon, delta)? / queries;
        let rmse = |error: f64| (scale * error).sqrt();
        let ratio = |error: f64| (error / bounds.svd_bound).sqrt();
        Ok(vec![
            Row::proved("rmse", rmse(bounds.lower), bounds.error.map(rmse)),
            Row::proved("ratio_to_bound", ratio(bounds.lower), bounds.error.map(ratio)),
        ])
    }
}

/// Returns the workload string of a permutation; the original one without permutations.
fn name(workload: &str, permutations: u64, seed: u64) -> String {
    if permutations == 0 { workload.to_owned() } else { permuted(workload, seed) }
}

/// Returns the workload string with permuted cells.
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

    /// Compares with the closed form for the identity workload, where every method is optimal and
    /// every query has variance 1/β.
    #[test]
    fn errors_of_the_identity_have_the_closed_form() {
        for (method, rows) in rows(
            "epsilon = 0.5\ndelta = 1e-4\nruns = [{ workloads = ['identity:8'], \
             methods = ['identity', 'eigen-design', 'svd-bound'] }]",
        ) {
            let scale = (2.0 * (2.0f64 / 1e-4).ln()).sqrt() / 0.5;
            assert_relative_eq!(value(&rows, "rmse"), scale, max_relative = 1e-9);
            assert_relative_eq!(value(&rows, "over_eigen"), 1.0, max_relative = 1e-9);
            assert_relative_eq!(value(&rows, "bound_ratio"), 1.0, max_relative = 1e-9);
            assert!(!rows.iter().any(|row| row.metric == "over_eigen_se"), "{method}");
        }
    }

    #[test]
    fn permutations_increase_the_error_of_the_wavelet_only() {
        let found = rows(
            "epsilon = 1.0\ndelta = 1e-4\nruns = [\
             { workloads = ['range:64'], methods = ['eigen-design', 'wavelet'] }, \
             { workloads = ['range:64'], permutations = 3, \
             methods = ['eigen-design', 'wavelet'] }]",
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
                "runs = [{ workloads = [], methods = [] }, \
                 { workloads = ['range:4'], methods = ['eigen'] }]",
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
