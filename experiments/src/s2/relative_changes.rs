//! Gains in workload error and in relative error of the same competitors (S2, Sec. 5).

use std::collections::BTreeSet;

use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::relative_trials::{TrialPoint, Trials};
use super::selections::{EIGEN_DESIGN, Selections};
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::{check_strategy, check_workloads};

/// Data sets × workloads × methods: workload error and expected relative error, and claims that
/// compare the two.
///
/// Metrics of a cell without a claim, at privacy cost 1:
///
/// - `rmse`: the workload error, for the strategy that is selected for the workload.
/// - `relative_error`: the expected relative error (`Trials::expected`), for the strategy that is
///   selected for the workload with every query scaled to unit length.
/// - `rmse_over_eigen`, `relative_over_eigen`: their ratios to those of Eigen-Design, for all other
///   methods.
///
/// A claim of a permutation compares, for each competitor and permutation, the error after the
/// permutation to the error before. `permuted_rmse_ratio` is the smallest such ratio of the workload
/// errors, `permuted_relative_ratio` the largest of the relative errors, and `relative_over_rmse`
/// the largest quotient of the ratio of the relative errors to that of the workload errors.
///
/// A claim of similarity compares, for each workload, the gain over the best competitor in relative
/// error with that in workload error, and so for the worst competitor, which may be another in the
/// two errors. `largest_difference` is the largest factor between the two gains.
///
/// `at` has the workload of the deciding value, and the competitor or whether it is best or worst.
#[derive(Debug)]
pub struct RelativeChanges {
    trials: Trials,
    selections: Selections,
}

impl RelativeChanges {
    /// Creates the experiment on the tables of a catalogue, with selections that are shared.
    #[must_use]
    pub fn new(catalogue: Catalogue, selections: Selections) -> Self {
        RelativeChanges { trials: Trials::new(catalogue), selections }
    }
}

/// The key column `id` of cells without a claim.
const NO_CLAIM: &str = "-";

/// The key column `workload` of claims.
const ALL: &str = "all";

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    dataset: String,
    sanity_share: f64,
    runs: Vec<Run>,
    #[serde(default)]
    claims: Vec<Claim>,
}

/// Workloads with the competitors of Eigen-Design.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    workloads: Vec<String>,
    competitors: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// The id of the published value.
    id: String,
    /// The workloads, all of the runs.
    workloads: Vec<String>,
    /// The workload whose cells the others permute, for a claim of a permutation.
    permuted_from: Option<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    sanity_share: f64,
    what: What,
}

/// What a cell reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Errors { workload: String },
    Permutation { from: String, to: Vec<Compared> },
    Similarity { workloads: Vec<Compared> },
}

/// A workload with its competitors.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Compared {
    workload: String,
    competitors: Vec<String>,
}

/// The two errors of a method on a workload at privacy cost 1, or ratios of them.
#[derive(Debug, Clone, Copy)]
struct Both {
    rmse: f64,
    relative: f64,
}

impl Both {
    fn over(self, other: Both) -> Both {
        Both { rmse: self.rmse / other.rmse, relative: self.relative / other.relative }
    }
}

impl Kind for RelativeChanges {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "relative-changes";
    const SUMMARY: &'static str =
        "gains in workload error and in expected relative error, and claims that compare them";
    const KEYS: &'static [&'static str] = &["id", "dataset", columns::DATA, "workload"];
    const ERRORS: &'static [&'static str] = &["rmse", "relative_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        grid.check()?;
        let data = self.trials.identify(&grid.dataset).map_err(|e| e.under("dataset"))?;
        let cell = |id: &str, workload: &str, method: &str, what: What| {
            let key: [&dyn ToString; 4] = [&id, &grid.dataset, &data.label(), &workload];
            let params = Params { data: data.clone(), sanity_share: grid.sanity_share, what };
            CellOf::new(key, method, params)
        };
        let mut cells = Vec::new();
        for Compared { workload, competitors } in grid.compared() {
            for method in [EIGEN_DESIGN].into_iter().chain(competitors.iter().map(String::as_str)) {
                let what = What::Errors { workload: workload.clone() };
                cells.push(cell(NO_CLAIM, &workload, method, what));
            }
        }
        for (i, claim) in grid.claims.iter().enumerate() {
            let workloads =
                grid.compared_in(&format!("claims[{i}].workloads"), &claim.workloads)?;
            let what = match &claim.permuted_from {
                Some(from) => {
                    let key = format!("claims[{i}].permuted_from");
                    grid.compared_in(&key, std::slice::from_ref(from))?;
                    What::Permutation { from: from.clone(), to: workloads }
                }
                None => What::Similarity { workloads },
            };
            cells.push(cell(&claim.id, ALL, EIGEN_DESIGN, what));
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let of = |workload: &str, method: &str| self.errors(&params, workload, method);
        match &params.what {
            What::Errors { workload } => {
                let errors = of(workload, method)?;
                let mut rows = vec![
                    Row::new("rmse", errors.rmse),
                    Row::new("relative_error", errors.relative),
                ];
                if method != EIGEN_DESIGN {
                    let gain = errors.over(of(workload, EIGEN_DESIGN)?);
                    rows.push(Row::new("rmse_over_eigen", gain.rmse));
                    rows.push(Row::new("relative_over_eigen", gain.relative));
                }
                Ok(rows)
            }
            What::Permutation { from, to } => {
                let (mut rmse, mut relative) = (f64::INFINITY, f64::NEG_INFINITY);
                let mut largest = (f64::NEG_INFINITY, String::new());
                for Compared { workload, competitors } in to {
                    for competitor in competitors {
                        let ratio = of(workload, competitor)?.over(of(from, competitor)?);
                        rmse = rmse.min(ratio.rmse);
                        relative = relative.max(ratio.relative);
                        let quotient = ratio.relative / ratio.rmse;
                        if quotient > largest.0 {
                            largest = (quotient, format!("{workload}, {competitor}"));
                        }
                    }
                }
                Ok(vec![
                    Row::new("permuted_rmse_ratio", rmse),
                    Row::new("permuted_relative_ratio", relative),
                    Row::new("relative_over_rmse", largest.0),
                    Row::text("at", largest.1),
                ])
            }
            What::Similarity { workloads } => {
                let mut largest = (f64::NEG_INFINITY, String::new());
                for Compared { workload, competitors } in workloads {
                    let eigen = of(workload, EIGEN_DESIGN)?;
                    let gains = competitors
                        .iter()
                        .map(|competitor| Ok(of(workload, competitor)?.over(eigen)))
                        .collect::<Result<Vec<_>>>()?;
                    for (which, difference) in differences(&gains) {
                        if difference > largest.0 {
                            largest = (difference, format!("{workload}, {which} competitor"));
                        }
                    }
                }
                Ok(vec![Row::new("largest_difference", largest.0), Row::text("at", largest.1)])
            }
        }
    }
}

/// Returns the factor, at least 1, between the two gains over the best competitor, and over the
/// worst.
fn differences(gains: &[Both]) -> [(&'static str, f64); 2] {
    let fold = |start: f64, of: fn(f64, f64) -> f64| Both {
        rmse: gains.iter().fold(start, |x, gain| of(x, gain.rmse)),
        relative: gains.iter().fold(start, |x, gain| of(x, gain.relative)),
    };
    let factor = |Both { rmse, relative }| (relative / rmse).max(rmse / relative);
    [
        ("best", factor(fold(f64::INFINITY, f64::min))),
        ("worst", factor(fold(f64::NEG_INFINITY, f64::max))),
    ]
}

impl RelativeChanges {
    fn errors(&self, params: &Params, workload: &str, method: &str) -> Result<Both> {
        // The expected error is at privacy cost 1, whatever the ε of the point.
        let point = TrialPoint { data: &params.data, workload, epsilon: 1.0 };
        let outcome = self.selections.of(workload, method)?;
        Ok(Both {
            rmse: (outcome.error / outcome.queries).sqrt(),
            relative: *self.trials.expected(&point, params.sanity_share, method)?,
        })
    }
}

impl Grid {
    /// Returns the workloads of the runs with their competitors.
    fn compared(&self) -> Vec<Compared> {
        let of_run = |run: &Run| {
            let competitors = run.competitors.clone();
            let compared = |workload: &String| Compared {
                workload: workload.clone(),
                competitors: competitors.clone(),
            };
            run.workloads.iter().map(compared).collect::<Vec<_>>()
        };
        self.runs.iter().flat_map(of_run).collect()
    }

    /// Returns workloads of a claim with their competitors.
    fn compared_in(&self, key: &str, workloads: &[String]) -> Result<Vec<Compared>> {
        let compared = self.compared();
        let find = |workload: &String| {
            compared.iter().find(|c| c.workload == *workload).cloned().ok_or_else(|| {
                let expected = "workloads of the runs";
                Error::config(key, expected, format!("\"{workload}\""), "add it to a run")
            })
        };
        workloads.iter().map(find).collect()
    }

    fn check(&self) -> Result<()> {
        let refuse = |key: String, expected: &str, found: String| {
            Err(Error::config(key, expected, found, "correct the value"))
        };
        if !(self.sanity_share > 0.0 && self.sanity_share <= 1.0) {
            let expected = "a share of the records, above 0 and up to 1";
            return refuse("sanity_share".into(), expected, self.sanity_share.to_string());
        }
        for (i, Run { workloads, competitors }) in self.runs.iter().enumerate() {
            check_workloads(&format!("runs[{i}].workloads"), workloads)?;
            let key = format!("runs[{i}].competitors");
            for (k, competitor) in competitors.iter().enumerate() {
                check_strategy(&format!("{key}[{k}]"), competitor)?;
            }
            if competitors.is_empty() || competitors.iter().any(|c| c == EIGEN_DESIGN) {
                let expected = "at least one method, none of them eigen-design";
                return refuse(key, expected, format!("{competitors:?}"));
            }
        }
        let mut ids = BTreeSet::from([NO_CLAIM]);
        for (i, claim) in self.claims.iter().enumerate() {
            if claim.id.is_empty() || !ids.insert(&claim.id) {
                let key = format!("claims[{i}].id");
                return refuse(key, "a unique id", format!("\"{}\"", claim.id));
            }
            if claim.workloads.is_empty() {
                let key = format!("claims[{i}].workloads");
                return refuse(key, "at least one workload", "none".into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use matmech::strategy;
    use matmech::workload::Workload;
    use ndarray::Array1;
    use rand::SeedableRng;

    use super::super::relative_trials::{catalogue_of, folder_with_loans};
    use super::*;
    use crate::experiment::Experiment;

    fn kind() -> (tempfile::TempDir, RelativeChanges) {
        let root = folder_with_loans();
        let kind = RelativeChanges::new(catalogue_of(root.path()), Selections::default());
        (root, kind)
    }

    const GRID: &str = "dataset = 'loans'\nsanity_share = 0.05\n\
    claims = [{ id = 'permuted', permuted_from = 'range:16', \
    workloads = ['permuted-range(seed=1):16', 'permuted-range(seed=2):16'] }, \
    { id = 'similar', workloads = ['range-marginals(ways=1):4x2x2', 'range:16'] }]\n[[runs]]\n\
    workloads = ['range:16', 'permuted-range(seed=1):16', 'permuted-range(seed=2):16']\n\
    competitors = ['wavelet', 'hierarchical']\n[[runs]]\n\
    workloads = ['range-marginals(ways=1):4x2x2']\ncompetitors = ['identity', 'fourier']";

    #[test]
    fn bad_grids_name_the_key() {
        let (_root, kind) = kind();
        for (from, to, key) in [
            ("dataset = 'loans'", "dataset = 'lones'", "dataset"),
            ("sanity_share = 0.05", "sanity_share = 0.0", "sanity_share"),
            ("'fourier'", "'fourrier'", "runs[1].competitors[1]"),
            ("'fourier'", "'eigen-design'", "runs[1].competitors"),
            ("['range:16', 'permuted", "['rang:16', 'permuted", "runs[0].workloads[0]"),
            ("permuted_from = 'range:16'", "permuted_from = 'range:8'", "claims[0].permuted_from"),
            ("4x2x2', 'range:16'", "4x2x2', 'range:8'", "claims[1].workloads"),
            ("['range-marginals(ways=1):4x2x2', 'range:16'] }", "[] }", "claims[1].workloads"),
            ("id = 'similar'", "id = 'permuted'", "claims[1].id"),
        ] {
            let text = GRID.replacen(from, to, 1);
            assert_ne!(text, GRID);
            let error = Experiment::cells(&kind, &text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    /// Returns the rows of every cell.
    fn all_rows(kind: &RelativeChanges) -> Vec<Vec<Row>> {
        let cells = Experiment::cells(kind, &GRID.parse().unwrap()).unwrap();
        let rng = || ChaCha20Rng::seed_from_u64(9);
        cells.iter().map(|cell| Experiment::run(kind, cell, &mut rng()).unwrap()).collect()
    }

    fn value(rows: &[Row], metric: &str) -> f64 {
        rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
    }

    /// Oracle: the quadratic form of every row, and its true answer.
    #[test]
    fn errors_match_the_quadratic_forms_of_the_rows() {
        let (_root, kind) = kind();
        let rows = all_rows(&kind);
        let table = kind.trials.load("loans");
        let counts = table.records.marginal(matmech::domain::AttributeSet::first(3)).unwrap();
        let counts = Array1::from(counts);
        for (k, text) in ["range:16", "permuted-range(seed=1):16"].into_iter().enumerate() {
            let workload = Workload::parse(text).unwrap();
            for (m, method) in [EIGEN_DESIGN, "wavelet", "hierarchical"].into_iter().enumerate() {
                let forms = |selected_for: Workload| -> Vec<(f64, f64)> {
                    let gram = selected_for.gram().unwrap();
                    let strategy = strategy::by_name(method).unwrap().select(&gram).unwrap();
                    let [factor] = strategy.strategy.factors() else { panic!("{text} {method}") };
                    let covariance = factor.covariance().unwrap();
                    let squared = strategy.strategy.sensitivity_squared();
                    let form = |row: Vec<f64>| {
                        let row = Array1::from(row);
                        (squared * row.dot(&covariance.dot(&row)), row.dot(&counts).max(6.0))
                    };
                    workload.rows().unwrap().map(form).collect()
                };
                let plain = forms(workload.clone());
                let rmse = (plain.iter().map(|(v, _)| v).sum::<f64>() / plain.len() as f64).sqrt();
                let scaled = forms(workload.clone().normalised().unwrap());
                let sum: f64 = scaled.iter().map(|(v, scale)| v.sqrt() / scale).sum();
                let relative = (2.0 / std::f64::consts::PI).sqrt() * sum / scaled.len() as f64;
                let found = &rows[3 * k + m];
                assert!((value(found, "rmse") / rmse - 1.0).abs() < 1e-9, "{text} {method}");
                let ratio = value(found, "relative_error") / relative;
                assert!((ratio - 1.0).abs() < 1e-9, "{text} {method} {ratio}");
            }
        }
    }

    /// The claims are ratios of the errors of the other cells.
    #[test]
    fn claims_are_ratios_of_the_errors() {
        let (_root, kind) = kind();
        let rows = all_rows(&kind);
        let (permuted, similar) = (&rows[12], &rows[13]);
        let ratio = |k: usize, base: usize, metric: &str| {
            value(&rows[k], metric) / value(&rows[base], metric)
        };
        // Cells 0 to 2 are the ranges, 3 to 8 their permutations, 9 to 11 the marginals.
        let pairs = [(4, 1), (5, 2), (7, 1), (8, 2)];
        let (rmse, relative): (Vec<f64>, Vec<f64>) = pairs
            .map(|(k, base)| (ratio(k, base, "rmse"), ratio(k, base, "relative_error")))
            .into_iter()
            .unzip();
        let smallest = rmse.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(value(permuted, "permuted_rmse_ratio"), smallest);
        let largest = relative.iter().copied().fold(0.0, f64::max);
        assert_eq!(value(permuted, "permuted_relative_ratio"), largest);
        let quotient = rmse.iter().zip(&relative).map(|(x, y)| y / x).fold(0.0, f64::max);
        assert_eq!(value(permuted, "relative_over_rmse"), quotient);
        let mut factors = Vec::new();
        for (a, b) in [(10, 11), (1, 2)] {
            let of = |k: usize, metric: &str| value(&rows[k], metric);
            for of_two in [f64::min, f64::max] {
                let gain = |metric: &str| of_two(of(a, metric), of(b, metric));
                let factor = gain("relative_over_eigen") / gain("rmse_over_eigen");
                factors.push(factor.max(1.0 / factor));
            }
        }
        let largest = factors.into_iter().fold(0.0, f64::max);
        assert!((value(similar, "largest_difference") / largest - 1.0).abs() < 1e-12);
    }
}
