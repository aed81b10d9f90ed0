//! Relative errors on data of strategies selected for the scaled workload (S2, Sec. 3.4 and 5).

use std::collections::BTreeSet;

use matmech::strategy;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::relative_trials::{Setting, TrialPoint, Trials, classical_rho};
use super::selections::EIGEN_DESIGN;
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_workloads;

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
/// largest ratio, over workloads and ε, of the best competitor's error to that of Eigen-Design, and
/// as `at` the workload, ε and competitor.
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
    Gain { of: Extreme, workloads: Vec<Compared>, epsilons: Vec<f64> },
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
            let what = What::Gain { of: claim.of, workloads, epsilons: grid.epsilons.clone() };
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
            What::Gain { of, workloads, epsilons } => {
                let mut best: Option<(f64, String)> = None;
                for Compared { workload, competitors } in &workloads {
                    for &epsilon in &epsilons {
                        let point = TrialPoint { data: &data, workload, epsilon };
                        let (gain, competitor) = self.gain(&point, &setting, competitors)?;
                        let is_better = best.as_ref().is_none_or(|(known, _)| match of {
                            Extreme::Smallest => gain < *known,
                            Extreme::Largest => gain > *known,
                        });
                        if is_better {
                            best = Some((
                                gain,
                                format!("{workload}, epsilon = {epsilon}, against {competitor}"),
                            ));
                        }
                    }
                }
                let (gain, at) = best
                    .ok_or_else(|| Error::bug("a claim", "at least one workload and ε", "none"))?;
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

    /// Returns the error of the best competitor over that of Eigen-Design, and the competitor.
    fn gain<'c>(
        &self,
        point: &TrialPoint<'_>,
        setting: &Setting,
        competitors: &'c [String],
    ) -> Result<(f64, &'c str)> {
        let eigen = self.trials.error(point, setting, EIGEN_DESIGN)?;
        let mut best = (f64::INFINITY, "");
        for competitor in competitors {
            let (ratio, _) = self.trials.error(point, setting, competitor)?.over(&eigen);
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
                let key = format!("runs[{i}].methods[{k}]");
                strategy::by_name(method).map_err(|error| match error {
                    matmech::Error::UnknownName { known, .. } => {
                        let known: Vec<&str> = known.iter().map(String::as_str).collect();
                        Error::unknown_name(key, "strategy", method, &known)
                    }
                    error => Error::refused(key, error),
                })?;
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
mod tests;
