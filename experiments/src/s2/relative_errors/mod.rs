//! Relative errors on data, of strategies that were selected for the workload with its queries
//! scaled (S2, Sec. 3.4 and 5).

use std::collections::BTreeSet;

use matmech::strategy;
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::relative_trials::{Point, Setting, Trials, budget};
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};

/// Data sets × workloads × ε × methods. The strategy is selected for the workload with every query
/// scaled to unit length, measured on the table's cells with Gaussian noise, and the error is that
/// of the original queries:
///
/// | metric | what |
/// |---|---|
/// | `relative_error` | mean over trials of the mean over queries of \|estimate − true\| / max(true, sanity bound); its `seconds` are those of one trial, the selection not included |
/// | `relative_error_se` | its standard error |
/// | `over_eigen`, `over_eigen_se` | of all methods but Eigen-Design: `relative_error` over that of Eigen-Design in the same result table, and the standard error of the quotient |
/// | `queries` | how many there are |
///
/// The cell of a claim, on one data set, reports as `relative_error_ratio` the smallest or the
/// largest over its workloads and all ε of what Eigen-Design gains on the best of the other methods
/// there, and as `at` where that is.
///
/// A strategy is selected once per workload and method while it is kept, an error once per process
/// (see `Trials`); noise comes from streams of its own, so no result depends on that, nor on the
/// stream of the cell.
#[derive(Debug)]
pub struct RelativeErrors {
    trials: Trials,
}

impl RelativeErrors {
    /// The experiment on the tables of a catalogue.
    #[must_use]
    pub fn new(catalogue: Catalogue) -> Self {
        RelativeErrors { trials: Trials::new(catalogue) }
    }
}

/// The strategy that others are compared with.
const EIGEN_DESIGN: &str = "eigen-design";

/// The key column `id` of cells that are not about a claim.
const NO_CLAIM: &str = "-";

/// The key columns `workload` and `epsilon` of claims.
const ALL: &str = "all";

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// ε of (ε, δ)-differential privacy, by the classical calibration of the paper.
    epsilons: Vec<f64>,
    delta: f64,
    trials: usize,
    sanity_share: f64,
    noise_seed: u64,
    runs: Vec<Run>,
    /// Claims about the gain on the best competitor.
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

/// A workload with the methods that Eigen-Design is compared with there.
#[derive(Debug, Serialize, Deserialize)]
struct Compared {
    workload: String,
    competitors: Vec<String>,
}

impl Kind for RelativeErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "relative-errors";
    const SUMMARY: &'static str = "relative error on data of strategies selected for the workload with its queries scaled, over privacy budgets";
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
                    // The methods side by side: their cells share the strategies that are kept.
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
                    "add such a run, or leave the claim out",
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
            What::Error { workload, epsilon } => {
                self.errors(&Point { data: &data, workload: &workload, epsilon }, &setting, method)
            }
            What::Gain { of, workloads, epsilons } => {
                let mut best: Option<(f64, String)> = None;
                for Compared { workload, competitors } in &workloads {
                    for &epsilon in &epsilons {
                        let point = Point { data: &data, workload, epsilon };
                        let (gain, competitor) = self.gain(&point, &setting, competitors)?;
                        let further = best.as_ref().is_none_or(|(known, _)| match of {
                            Extreme::Smallest => gain < *known,
                            Extreme::Largest => gain > *known,
                        });
                        if further {
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
    /// The rows of a method at a point.
    fn errors(&self, point: &Point<'_>, setting: &Setting, method: &str) -> Result<Vec<Row>> {
        let own = self.trials.error(point, setting, method)?;
        let error = Row { seconds: Some(own.seconds), ..Row::new("relative_error", own.mean) };
        let mut rows = vec![error];
        rows.extend(own.standard_error.map(|se| Row::new("relative_error_se", se)));
        if method != EIGEN_DESIGN {
            let (ratio, se) = own.over(self.trials.error(point, setting, EIGEN_DESIGN)?.as_ref());
            rows.push(Row::new("over_eigen", ratio));
            rows.extend(se.map(|se| Row::new("over_eigen_se", se)));
        }
        rows.push(Row::new("queries", own.queries as f64));
        Ok(rows)
    }

    /// The error of the best competitor over that of Eigen-Design, and which competitor it is.
    fn gain<'c>(
        &self,
        point: &Point<'_>,
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

    /// The workloads on a data set where Eigen-Design meets another method.
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
            budget(epsilon, self.delta).map_err(|e| Error::refused(format!("epsilons[{i}]"), e))?;
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
            for (k, text) in run.workloads.iter().enumerate() {
                Workload::parse(text)
                    .map_err(|e| Error::refused(format!("runs[{i}].workloads[{k}]"), e))?;
            }
            for (k, method) in run.methods.iter().enumerate() {
                let key = format!("runs[{i}].methods[{k}]");
                strategy::by_name(method).map_err(|error| match error {
                    matmech::Error::UnknownName { known, .. } => {
                        let known: Vec<&str> = known.iter().map(String::as_str).collect();
                        Error::unknown_name(key, "strategy", method, &known)
                    }
                    other => Error::refused(key, other),
                })?;
            }
        }
        let mut ids = BTreeSet::from([NO_CLAIM]);
        for (i, claim) in self.claims.iter().enumerate() {
            if claim.id.is_empty() || !ids.insert(&claim.id) {
                return refuse(
                    format!("claims[{i}].id"),
                    "an id of its own",
                    format!("\"{}\"", claim.id),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
