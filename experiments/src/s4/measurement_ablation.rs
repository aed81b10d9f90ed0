//! What lazy updates and the conditional division of the budget are worth on a fixed sequence of marginals (S4, Table 2).

use std::f64::consts::PI;
use std::time::Instant;

use anyhow::Context;
use matmech::data::MarginalCounter;
use matmech::mechanism::{
    MarginalNoise, MarginalSequence, MarginalUpdates, ResidualNoise, SequenceOutcome, measure_sequence,
};
use matmech::privacy::{ZcdpAccountant, zcdp};
use matmech::workload::attribute_sets;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::datasets::{Catalogue, DataUse, Table};
use crate::experiment::{Cell, Experiment, Row, parse_grid};

/// Data sets × ways to measure and to update, over a random share of the 3-way marginals: half of the budget equally on all
/// 1-way marginals, half equally on those of the workload, each once.
///
/// | metric | what |
/// |---|---|
/// | `workload_error` | mean over trials of the mean over γ∈W of ‖μ_γ − μ̂_γ‖₁/N; its `seconds` are those of one trial, counting included and evaluation excluded |
/// | `standard_error` | of that mean; only of two trials and more |
/// | `expected_error` | the same without sampling: √(2/π) Σ_γ n_γ s_γ/(N·#W) with s_γ² the exact variance of a cell |
/// | `cells_touched` | cells of the workload's marginals that updates wrote |
/// | `residuals_per_marginal` | residuals measured per marginal of the workload |
pub struct MeasurementAblation {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The strategies, by the paper's names.
const METHODS: [(&str, (MarginalNoise, MarginalUpdates)); 3] = [
    ("lazy+crp", (MarginalNoise::Conditional, MarginalUpdates::Lazy)),
    ("lazy+iid", (MarginalNoise::Isotropic, MarginalUpdates::Lazy)),
    ("full+iid", (MarginalNoise::Isotropic, MarginalUpdates::Full)),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    epsilon: f64,
    delta: f64,
    /// Seed of the workloads and their orders, which all methods share.
    workload_seed: u64,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    dataset: String,
    /// The share of the 3-way marginals that is the workload.
    share: f64,
    methods: Vec<String>,
    trials: usize,
}

#[derive(Serialize, Deserialize)]
struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    workload_seed: u64,
    share: f64,
    trials: usize,
}

impl Experiment for MeasurementAblation {
    fn kind(&self) -> &'static str {
        "measurement-ablation"
    }

    fn summary(&self) -> &'static str {
        "time, error and cells touched of lazy updates and conditional noise on a fixed sequence of marginals"
    }

    fn revision(&self) -> u32 {
        1
    }

    fn key_columns(&self) -> &'static [&'static str] {
        &["dataset", "data"]
    }

    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>, ConfigError> {
        let grid: Grid = parse_grid(grid)?;
        zcdp::rho_from_approximate(grid.epsilon, grid.delta)
            .map_err(|e| ConfigError::sentence("epsilon".to_owned(), e.to_string()))?;
        let mut cells = Vec::new();
        for (i, run) in grid.runs.iter().enumerate() {
            let data = self
                .catalogue
                .identify(&run.dataset)
                .map_err(|e| ConfigError::sentence(format!("runs[{i}].dataset"), format!("{e:#}")))?;
            let refuse = |key: &str, expected: &str, found: String| {
                Err(ConfigError::new(format!("runs[{i}].{key}"), expected, found, "correct the number"))
            };
            if !(run.share > 0.0 && run.share <= 1.0) {
                return refuse("share", "a number greater than 0 and at most 1", run.share.to_string());
            }
            if run.trials == 0 {
                return refuse("trials", "at least one trial", "0".to_owned());
            }
            for method in &run.methods {
                let known: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
                if !known.contains(&method.as_str()) {
                    return Err(ConfigError::unknown_name(format!("runs[{i}].methods"), "strategy", method, &known));
                }
                let params = Params {
                    data: data.clone(),
                    epsilon: grid.epsilon,
                    delta: grid.delta,
                    workload_seed: grid.workload_seed,
                    share: run.share,
                    trials: run.trials,
                };
                cells.push(Cell {
                    key: vec![
                        ("dataset".to_owned(), run.dataset.clone()),
                        ("data".to_owned(), data.label().to_owned()),
                    ],
                    method: method.clone(),
                    params: serde_json::json!(params),
                });
            }
        }
        Ok(cells)
    }

    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> anyhow::Result<Vec<Row>> {
        let params: Params = serde_json::from_value(cell.params.clone()).context("parameters of the cell")?;
        let (_, how) = *METHODS
            .iter()
            .find(|(name, _)| *name == cell.method)
            .with_context(|| format!("strategy {}: expected one of this experiment", cell.method))?;
        let table = self.catalogue.load(&params.data.name)?;
        let workload = workload(&table, params.share, params.workload_seed)?;
        let rho = zcdp::rho_from_approximate(params.epsilon, params.delta)?;
        let sequence = MarginalSequence::half_and_half(&table.schema, &workload, rho);
        let mut trials = Vec::with_capacity(params.trials);
        for _ in 0..params.trials {
            let noise = ResidualNoise::from_rng(rng);
            let mut budget = ZcdpAccountant::new(rho)?;
            let started = Instant::now();
            let outcome =
                measure_sequence(&table.schema, &table.records, &workload, &sequence, how, &mut budget, &noise)?;
            let seconds = started.elapsed().as_secs_f64();
            trials.push(Trial::of(&table, &workload, &outcome, seconds)?);
        }
        Ok(rows(&trials, workload.len()))
    }
}

/// A random share of all sets of three attributes, in random order.
fn workload(table: &Table, share: f64, seed: u64) -> anyhow::Result<Vec<Vec<usize>>> {
    let mut sets = attribute_sets(&table.schema, &[3])?;
    let count = (share * sets.len() as f64).round().max(1.0) as usize;
    sets.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    sets.truncate(count);
    Ok(sets)
}

/// One run of the sequence.
struct Trial {
    error: f64,
    expected_error: f64,
    seconds: f64,
    cells_touched: u64,
    residuals: usize,
}

impl Trial {
    /// Compares the estimates with the records.
    fn of(table: &Table, workload: &[Vec<usize>], outcome: &SequenceOutcome, seconds: f64) -> anyhow::Result<Self> {
        let counter = MarginalCounter::new(&table.records)?;
        let mut counts = Vec::new();
        let (mut error, mut expected_error) = (0.0, 0.0);
        for (positions, estimate) in workload.iter().zip(&outcome.marginals) {
            counter.count_into(positions, &mut counts)?;
            error += counts.iter().zip(estimate).map(|(count, estimate)| (count - estimate).abs()).sum::<f64>();
            let variance = outcome.estimates.cell_variance(positions);
            expected_error += counts.len() as f64 * (2.0 / PI * variance).sqrt();
        }
        let unit = table.records.len() as f64 * workload.len() as f64;
        Ok(Trial {
            error: error / unit,
            expected_error: expected_error / unit,
            seconds,
            cells_touched: outcome.cells_touched,
            residuals: outcome.residuals_measured,
        })
    }
}

fn rows(trials: &[Trial], marginals: usize) -> Vec<Row> {
    let count = trials.len() as f64;
    let mean = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / count;
    let error = mean(&|t| t.error);
    let mut rows = vec![Row { seconds: Some(mean(&|t| t.seconds)), ..Row::new("workload_error", error) }];
    if trials.len() > 1 {
        let variance = trials.iter().map(|t| (t.error - error).powi(2)).sum::<f64>() / (count - 1.0);
        rows.push(Row::new("standard_error", (variance / count).sqrt()));
    }
    rows.push(Row::new("expected_error", mean(&|t| t.expected_error)));
    rows.push(Row::new("cells_touched", mean(&|t| t.cells_touched as f64)));
    rows.push(Row::new("residuals_per_marginal", mean(&|t| t.residuals as f64) / marginals as f64));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::datasets::Folders;

    /// No folder of data sets: every table is its stand-in.
    fn experiment() -> MeasurementAblation {
        let nowhere = std::env::temp_dir().join("matmech-no-data");
        let folders = Folders { own: None, downloads: nowhere.clone() };
        MeasurementAblation { catalogue: Catalogue::new(&nowhere, folders) }
    }

    const GRID: &str = "epsilon = 1.0\ndelta = 1e-9\nworkload_seed = 1\n";

    #[test]
    fn bad_grids_name_the_key() {
        let runs = |run: &str| format!("{GRID}runs = [{{ {run} }}]");
        for (text, key) in [
            (runs("dataset = 'adlt', share = 1.0, trials = 1, methods = []"), "runs[0].dataset"),
            (runs("dataset = 'titanic', share = 0.0, trials = 1, methods = []"), "runs[0].share"),
            (runs("dataset = 'titanic', share = 1.0, trials = 0, methods = []"), "runs[0].trials"),
            (runs("dataset = 'titanic', share = 1.0, trials = 1, methods = ['lazy']"), "runs[0].methods"),
            (GRID.replace("1.0", "0.0") + "runs = []", "epsilon"),
        ] {
            let error = experiment().cells(&text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key, key, "{error}");
        }
    }

    /// The three strategies on a small table: the errors are the expected ones, the updates agree, CRP is better and touches
    /// less. One trial's error is a mean over 84 marginals; 10% is far beyond its spread of about 1%.
    #[test]
    fn the_strategies_compare_as_they_should() {
        let text = format!(
            "{GRID}runs = [{{ dataset = 'titanic', share = 1.0, trials = 3, methods = ['lazy+crp', 'lazy+iid', 'full+iid'] }}]"
        );
        let cells = experiment().cells(&text.parse().unwrap()).unwrap();
        let results: Vec<Vec<Row>> =
            cells.iter().map(|cell| experiment().run(cell, &mut ChaCha20Rng::seed_from_u64(3)).unwrap()).collect();
        let value = |k: usize, metric: &str| results[k].iter().find(|r| r.metric == metric).unwrap().value.unwrap();
        for (k, cell) in cells.iter().enumerate() {
            assert_eq!(cell.key[1].1, "stand-in");
            assert!((value(k, "workload_error") / value(k, "expected_error") - 1.0).abs() < 0.1);
        }
        // The same noise: lazy and full differ by rounding.
        assert!((value(1, "workload_error") / value(2, "workload_error") - 1.0).abs() < 1e-9);
        assert!(value(0, "expected_error") < value(1, "expected_error"));
        assert!(value(0, "cells_touched") < value(1, "cells_touched"));
        assert!(value(1, "cells_touched") < value(2, "cells_touched"));
        assert_eq!(value(1, "residuals_per_marginal"), 8.0);
    }
}
