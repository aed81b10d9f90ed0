//! Relative errors on data of strategies selected for the scaled workload (S2, Sec. 3.4 and 5).

use std::collections::BTreeSet;

use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::relative_trials::{Setting, TrialPoint, Trials, classical_rho};
use super::selections::EIGEN_DESIGN;
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::{check_strategy, check_workloads};

/// Data sets × workloads × ε × methods: relative errors of the original queries.
///
/// The strategy is selected for the workload with every query scaled to unit length, and measured
/// on the cells of the table with Gaussian noise. Metrics:
///
/// - `relative_error`: the mean over trials of the mean over queries of
///   |estimate − true| / max(true, sanity bound). Its `seconds` are those of one trial, without the
///   selection.
/// - `relative_error_se`: its standard error.
/// - `over_eigen`, `over_eigen_se`: `relative_error` over that of Eigen-Design in the same table,
///   and the standard error of this ratio; for all methods except Eigen-Design.
/// - `queries`: the number of queries.
///
/// A claim is about one data set. Its cell reports as `relative_error_ratio` the smallest or
/// largest ratio, over workloads, of the expected error of the best competitor to that of
/// Eigen-Design, which does not depend on ε, and as `at` the workload and competitor.
///
/// Strategies and errors are cached (see `Trials`). The noise has separate random streams, so that
/// results do not depend on the cache or on the stream of the cell.
#[derive(Debug)]
pub struct RelativeErrors {
    trials: Trials,
}

impl RelativeErrors {
    /// Creates the experiment on the tables of a catalogue.
    #[must_use]
    pub fn new(catalogue: Catalogue) -> Self {
        RelativeErrors { trials: Trials::new(catalogue) }
    }
}

/// The key column `id` of cells without a claim.
const NO_CLAIM: &str = "-";

/// The key columns `workload` and `epsilon` of claims.
const ALL: &str = "all";

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// ε of (ε, δ)-differential privacy, with the classical calibration of the paper.
    epsilons: Vec<f64>,
    delta: f64,
    trials: usize,
    sanity_share: f64,
    noise_seed: u64,
    runs: Vec<Run>,
    /// Claims about the gain over the best competitor.
    #[serde(default)]
    claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    dataset: String,
    workloads: Vec<String>,
    methods: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// The id of the published value.
    id: String,
    dataset: String,
    of: Extreme,
}

/// Which of several gains a claim is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Extreme {
    Smallest,
    Largest,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    setting: Setting,
    what: What,
}

/// What a cell reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Error { workload: String, epsilon: f64 },
    ExpectedGain { of: Extreme, workloads: Vec<Compared> },
}

/// A workload with the methods that Eigen-Design is compared with.
#[derive(Debug, Serialize, Deserialize)]
struct Compared {
    workload: String,
    competitors: Vec<String>,
}

impl Kind for RelativeErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "relative-errors";
    const SUMMARY: &'static str =
        "relative error on data of strategies for the scaled workload, over privacy budgets";
    const KEYS: &'static [&'static str] = &["id", "dataset", columns::DATA, "workload", "epsilon"];
    const ERRORS: &'static [&'static str] = &["relative_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        grid.check()?;
        let mut cells = Vec::new();
        for (i, run) in grid.runs.iter().enumerate() {
            let data = self
                .trials
                .identify(&run.dataset)
                .map_err(|e| e.under(&format!("runs[{i}].dataset")))?;
            for workload in &run.workloads {
                for &epsilon in &grid.epsilons {
                    // Methods are the innermost loop, so that cells of a workload share cached
                    // strategies.
                    for method in &run.methods {
                        let what = What::Error { workload: workload.clone(), epsilon };
                        let params = Params { data: data.clone(), setting: grid.setting(), what };
                        let key: [&dyn ToString; 5] =
                            [&NO_CLAIM, &run.dataset, &data.label(), workload, &epsilon];
                        cells.push(CellOf::new(key, method, params));
                    }
                }
            }
        }
        for (i, claim) in grid.claims.iter().enumerate() {
            let under = |error: Error| error.under(&format!("claims[{i}].dataset"));
            let data = self.trials.identify(&claim.dataset).map_err(under)?;
            let workloads = grid.compared(&claim.dataset);
            if workloads.is_empty() {
                return Err(Error::config(
                    format!("claims[{i}].dataset"),
                    "a data set with a run of eigen-design and another method",
                    format!("\"{}\"", claim.dataset),
                    "add such a run, or remove the claim",
                ));
            }
            let what = What::ExpectedGain { of: claim.of, workloads };
            let key: [&dyn ToString; 5] = [&claim.id, &claim.dataset, &data.label(), &ALL, &ALL];
            cells.push(CellOf::new(
                key,
                EIGEN_DESIGN,
                Params { data, setting: grid.setting(), what },
            ));
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let Params { data, setting, what } = params;
        match what {
            What::Error { workload, epsilon } => self.errors(
                &TrialPoint { data: &data, workload: &workload, epsilon },
                &setting,
                method,
            ),
            What::ExpectedGain { of, workloads } => {
                let mut best: Option<(f64, String)> = None;
                for Compared { workload, competitors } in &workloads {
                    // The ratio is the same at every ε.
                    let point = TrialPoint { data: &data, workload, epsilon: 1.0 };
                    let (gain, competitor) = self.gain(&point, &setting, competitors)?;
                    let is_better = best.as_ref().is_none_or(|(known, _)| match of {
                        Extreme::Smallest => gain < *known,
                        Extreme::Largest => gain > *known,
                    });
                    if is_better {
                        best = Some((gain, format!("{workload}, against {competitor}")));
                    }
                }
                let (gain, at) =
                    best.ok_or_else(|| Error::bug("a claim", "at least one workload", "none"))?;
                Ok(vec![Row::new("relative_error_ratio", gain), Row::text("at", at)])
            }
        }
    }
}

impl RelativeErrors {
    /// Returns the rows of a method at a point.
    fn errors(&self, point: &TrialPoint<'_>, setting: &Setting, method: &str) -> Result<Vec<Row>> {
        let error = self.trials.error(point, setting, method)?;
        let row = Row { seconds: Some(error.seconds), ..Row::new("relative_error", error.mean) };
        let mut rows = vec![row];
        rows.extend(error.standard_error.map(|se| Row::new("relative_error_se", se)));
        if method != EIGEN_DESIGN {
            let eigen = self.trials.error(point, setting, EIGEN_DESIGN)?;
            let (ratio, se) = error.over(&eigen);
            rows.push(Row::new("over_eigen", ratio));
            rows.extend(se.map(|se| Row::new("over_eigen_se", se)));
        }
        rows.push(Row::new("queries", error.queries as f64));
        Ok(rows)
    }

    /// Returns the expected error of the best competitor over that of Eigen-Design, and the
    /// competitor.
    fn gain<'c>(
        &self,
        point: &TrialPoint<'_>,
        setting: &Setting,
        competitors: &'c [String],
    ) -> Result<(f64, &'c str)> {
        let expected = |method| self.trials.expected(point, setting.sanity_share, method);
        let eigen = *expected(EIGEN_DESIGN)?;
        let mut best = (f64::INFINITY, "");
        for competitor in competitors {
            let ratio = *expected(competitor)? / eigen;
            if ratio < best.0 {
                best = (ratio, competitor);
            }
        }
        Ok(best)
    }
}

impl Grid {
    fn setting(&self) -> Setting {
        Setting {
            delta: self.delta,
            trials: self.trials,
            sanity_share: self.sanity_share,
            noise_seed: self.noise_seed,
        }
    }

    /// Returns the workloads on a data set with runs of Eigen-Design and of other methods.
    fn compared(&self, dataset: &str) -> Vec<Compared> {
        let runs = self
            .runs
            .iter()
            .filter(|run| run.dataset == dataset && run.methods.iter().any(|m| m == EIGEN_DESIGN));
        runs.filter(|run| run.methods.len() > 1)
            .flat_map(|run| {
                let competitors: Vec<String> =
                    run.methods.iter().filter(|m| *m != EIGEN_DESIGN).cloned().collect();
                let compared = move |workload: &String| Compared {
                    workload: workload.clone(),
                    competitors: competitors.clone(),
                };
                run.workloads.iter().map(compared)
            })
            .collect()
    }

    fn check(&self) -> Result<()> {
        let refuse = |key: String, expected: &str, found: String| {
            Err(Error::config(key, expected, found, "correct the value"))
        };
        for (i, &epsilon) in self.epsilons.iter().enumerate() {
            classical_rho(epsilon, self.delta)
                .map_err(|e| Error::refused(format!("epsilons[{i}]"), e))?;
        }
        if self.trials == 0 {
            return refuse("trials".into(), "at least one trial", "0".into());
        }
        if !(self.sanity_share > 0.0 && self.sanity_share <= 1.0) {
            let found = self.sanity_share.to_string();
            return refuse(
                "sanity_share".into(),
                "a share of the records, above 0 and up to 1",
                found,
            );
        }
        for (i, run) in self.runs.iter().enumerate() {
            check_workloads(&format!("runs[{i}].workloads"), &run.workloads)?;
            for (k, method) in run.methods.iter().enumerate() {
                check_strategy(&format!("runs[{i}].methods[{k}]"), method)?;
            }
        }
        let mut ids = BTreeSet::from([NO_CLAIM]);
        for (i, claim) in self.claims.iter().enumerate() {
            if claim.id.is_empty() || !ids.insert(&claim.id) {
                return refuse(
                    format!("claims[{i}].id"),
                    "a unique id",
                    format!("\"{}\"", claim.id),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use matmech::strategy;
    use matmech::workload::Workload;

    use super::super::relative_trials::{catalogue_of, folder_with_loans};
    use super::*;
    use crate::experiment::{Cell, Experiment};
    use rand::SeedableRng;

    fn kind() -> (tempfile::TempDir, RelativeErrors) {
        let root = folder_with_loans();
        let kind = over(root.path());
        (root, kind)
    }

    fn over(folder: &Path) -> RelativeErrors {
        RelativeErrors::new(catalogue_of(folder))
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
        for point in rows[..12].chunks(3) {
            let of = |k: usize| value(&point[k], "relative_error");
            for k in [1, 2] {
                assert_eq!(value(&point[k], "over_eigen"), of(k) / of(0));
            }
            assert!(point[0].iter().all(|row| row.metric != "over_eigen"));
        }
        let (low, high) =
            (value(&rows[12], "relative_error_ratio"), value(&rows[13], "relative_error_ratio"));
        assert!(low < high, "{low} {high}");
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

    /// Compares the expected errors with means of 400 trials, within four standard errors.
    #[test]
    fn trials_have_the_expected_error() {
        let (_root, kind) = kind();
        let data = kind.trials.identify("loans").unwrap();
        let grid: Grid = GRID.parse::<toml::Table>().unwrap().try_into().unwrap();
        let setting = Setting { trials: 400, ..grid.setting() };
        for workload in ["identity-marginals(ways=1):4x2x2", "permuted-range:16"] {
            let point = TrialPoint { data: &data, workload, epsilon: 0.5 };
            for method in ["eigen-design", "identity", "fourier"] {
                let unit = *kind.trials.expected(&point, setting.sanity_share, method).unwrap();
                let expected = unit * (2.0 * (2.0f64 / 1e-4).ln()).sqrt() / 0.5;
                let found = kind.trials.error(&point, &setting, method).unwrap();
                assert!(
                    (found.mean - expected).abs() < 4.0 * found.standard_error.unwrap(),
                    "{workload} {method} {found:?} {expected}"
                );
            }
        }
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
}
