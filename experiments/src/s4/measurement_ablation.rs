//! Ablation of lazy updates and conditional noise on a fixed sequence of marginals (S4, Table 2).

use std::f64::consts::PI;
use std::time::Instant;

use matmech::access::PrivateTable;
use matmech::data::MarginalCounter;
use matmech::domain::AttributeSet;
use matmech::estimation::ResidualEstimates;
use matmech::privacy::Rho;
use matmech::workload::attribute_sets;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::measured_sequence::{
    MarginalNoise, MarginalSequence, MarginalUpdates, SequenceOutcome, conditional_precisions,
    measure_sequence,
};
use crate::columns;
use crate::datasets::{Catalogue, DataUse, LoadedTable};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::statistics::Sample;

/// Data sets × methods of measurement and update, over a random share of the 3-way marginals.
///
/// Each marginal is measured once. All 1-way marginals have equal parts of one half of the budget,
/// those of the workload have equal parts of the other half. Metrics:
///
/// - `workload_error`: the mean over trials of the mean over γ ∈ W of ‖μ_γ − μ̂_γ‖₁/N. Its
///   `seconds` are those of one trial, including counting, excluding evaluation.
/// - `standard_error`: that of `workload_error`, for at least two trials.
/// - `expected_error`: its expectation √(2/π) Σ_γ n_γ s_γ/(N·#W), where s_γ² is the variance of a
///   cell.
/// - `expected_error_lowest`, `expected_error_highest`: its extremes over orders of the workload,
///   for conditional noise, which depends on the order: `orders` random ones, and by increasing and
///   by decreasing number of cells.
/// - `closed_form_share`, for conditional noise: the share of the marginals for which the closed form
///   of the relaxed problem is valid, in the order of the workload.
/// - `cells_touched`: the number of cells of the workload's marginals that updates write.
/// - `residuals_per_marginal`: the number of measured residuals per marginal of the workload.
#[derive(Debug)]
pub struct MeasurementAblation {
    /// The tables.
    pub catalogue: Catalogue,
}

/// The methods, by the names of the paper.
const METHODS: [(&str, (MarginalNoise, MarginalUpdates)); 3] = [
    ("lazy+crp", (MarginalNoise::Conditional, MarginalUpdates::Lazy)),
    ("lazy+iid", (MarginalNoise::Isotropic, MarginalUpdates::Lazy)),
    ("full+iid", (MarginalNoise::Isotropic, MarginalUpdates::Full)),
];

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    epsilon: f64,
    delta: f64,
    /// Seed of the workloads and their order, which all methods share.
    workload_seed: u64,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    dataset: String,
    /// The share of the 3-way marginals that is the workload.
    share: f64,
    methods: Vec<String>,
    trials: usize,
    /// Number of random orders of the workload whose expected error is computed.
    orders: Option<usize>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    epsilon: f64,
    delta: f64,
    workload_seed: u64,
    share: f64,
    trials: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    orders: Option<usize>,
}

impl Kind for MeasurementAblation {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "measurement-ablation";
    const SUMMARY: &'static str =
        "time and error of lazy updates and conditional noise on a fixed sequence of marginals";
    const REVISION: u32 = 2;
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA, "share"];
    const ERRORS: &'static [&'static str] = &["workload_error", "expected_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        Rho::of_approximate_rounded_down(grid.epsilon, grid.delta)
            .map_err(|e| Error::refused("epsilon", e))?;
        let mut cells = Vec::new();
        for (i, run) in grid.runs.iter().enumerate() {
            let data = self
                .catalogue
                .identify(&run.dataset)
                .map_err(|error| error.under(&format!("runs[{i}].dataset")))?;
            let refuse = |key: &str, expected: &str, found: String| {
                Err(Error::config(
                    format!("runs[{i}].{key}"),
                    expected,
                    found,
                    "correct the number",
                ))
            };
            if !(run.share > 0.0 && run.share <= 1.0) {
                return refuse(
                    "share",
                    "a number greater than 0 and at most 1",
                    run.share.to_string(),
                );
            }
            if run.trials == 0 {
                return refuse("trials", "at least one trial", "0".to_owned());
            }
            for method in &run.methods {
                let known: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
                if !known.contains(&method.as_str()) {
                    return Err(Error::unknown_name(
                        format!("runs[{i}].methods"),
                        "strategy",
                        method,
                        &known,
                    ));
                }
                let params = Params {
                    data: data.clone(),
                    epsilon: grid.epsilon,
                    delta: grid.delta,
                    workload_seed: grid.workload_seed,
                    share: run.share,
                    trials: run.trials,
                    orders: run.orders.filter(|_| method == "lazy+crp"),
                };
                cells.push(CellOf::new([&run.dataset, &data.label(), &run.share], method, params));
            }
        }
        Ok(cells)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let (_, how) = *METHODS
            .iter()
            .find(|(name, _)| *name == method)
            .ok_or_else(|| Error::bug("a cell", "a strategy of this kind of experiment", method))?;
        let table = self.catalogue.load(&params.data.name)?;
        let workload = workload(&table, params.share, params.workload_seed)?;
        let rho = Rho::of_approximate_rounded_down(params.epsilon, params.delta)?;
        let sequence = MarginalSequence::half_and_half(&table.schema, &workload, rho)?;
        let mut trials = Trials::default();
        for _ in 0..params.trials {
            let mut private = PrivateTable::of_records(&table.records, rho, rng)?;
            let started = Instant::now();
            let outcome = measure_sequence(&table.schema, &workload, &sequence, how, &mut private)?;
            let seconds = started.elapsed().as_secs_f64();
            trials.seconds.push(seconds);
            trials.push(&table, &workload, &outcome)?;
        }
        let mut rows = trials.rows(workload.len());
        if how.0 == MarginalNoise::Conditional {
            let closed = conditional_precisions(&table.schema, &sequence)?.closed_forms;
            rows.push(Row::new("closed_form_share", closed as f64 / workload.len() as f64));
        }
        if let Some(orders) = params.orders {
            let (low, high) = extremes_over_orders(&table, workload, rho, orders, rng)?;
            rows.push(Row::new("expected_error_lowest", low));
            rows.push(Row::new("expected_error_highest", high));
        }
        Ok(rows)
    }
}

/// Returns the smallest and the largest expected error of conditional noise over orders of the
/// workload.
fn extremes_over_orders(
    table: &LoadedTable,
    mut workload: Vec<AttributeSet>,
    rho: Rho,
    orders: usize,
    rng: &mut ChaCha20Rng,
) -> Result<(f64, f64)> {
    let cells = |gamma: &AttributeSet| -> usize {
        table.schema.shape_of(*gamma).map_or(0, |shape| shape.iter().product())
    };
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for order in 0..orders + 2 {
        match order {
            0 => workload.sort_by_key(cells),
            1 => workload.sort_by_key(|gamma| std::cmp::Reverse(cells(gamma))),
            _ => workload.shuffle(rng),
        }
        let sequence = MarginalSequence::half_and_half(&table.schema, &workload, rho)?;
        let precisions = conditional_precisions(&table.schema, &sequence)?;
        let expected = expected_error(table, &workload, &precisions.estimates);
        (low, high) = (low.min(expected), high.max(expected));
    }
    Ok((low, high))
}

/// Returns √(2/π) Σ_γ n_γ s_γ/(N·#W), where s_γ² is the variance of a cell.
fn expected_error(
    table: &LoadedTable,
    workload: &[AttributeSet],
    estimates: &ResidualEstimates,
) -> f64 {
    let sum: f64 = workload
        .iter()
        .map(|gamma| {
            let cells = table.schema.shape_of(*gamma).map_or(0, |shape| shape.iter().product());
            cells as f64 * (2.0 / PI * estimates.cell_variance(*gamma)).sqrt()
        })
        .sum();
    sum / (table.records.len() as f64 * workload.len() as f64)
}

/// Returns a random share of all sets of three attributes, in random order.
fn workload(table: &LoadedTable, share: f64, seed: u64) -> Result<Vec<AttributeSet>> {
    let mut sets = attribute_sets(&table.schema, &[3])?;
    let count = (share * sets.len() as f64).round().max(1.0) as usize;
    sets.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    sets.truncate(count);
    Ok(sets)
}

/// The outcomes of the runs of a sequence.
#[derive(Debug, Default)]
struct Trials {
    error: Sample,
    expected_error: Sample,
    seconds: Sample,
    cells_touched: Sample,
    residuals: Sample,
}

impl Trials {
    /// Adds the errors of a run.
    fn push(
        &mut self,
        table: &LoadedTable,
        workload: &[AttributeSet],
        outcome: &SequenceOutcome,
    ) -> Result<()> {
        let counter = MarginalCounter::new(&table.records)?;
        let mut counts = Vec::new();
        let mut error = 0.0;
        for (&attributes, estimate) in workload.iter().zip(&outcome.marginals) {
            counter.count_into(attributes, &mut counts)?;
            error += counts
                .iter()
                .zip(estimate)
                .map(|(count, estimate)| (count - estimate).abs())
                .sum::<f64>();
        }
        let unit = table.records.len() as f64 * workload.len() as f64;
        self.error.push(error / unit);
        self.expected_error.push(expected_error(table, workload, &outcome.estimates));
        self.cells_touched.push(outcome.cells_touched as f64);
        self.residuals.push(outcome.residuals_measured as f64);
        Ok(())
    }

    fn rows(&self, marginals: usize) -> Vec<Row> {
        let mut rows = vec![Row {
            seconds: Some(self.seconds.mean()),
            ..Row::new("workload_error", self.error.mean())
        }];
        rows.extend(self.error.standard_error().map(|error| Row::new("standard_error", error)));
        rows.extend([
            Row::new("expected_error", self.expected_error.mean()),
            Row::new("cells_touched", self.cells_touched.mean()),
            Row::new("residuals_per_marginal", self.residuals.mean() / marginals as f64),
        ]);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::datasets::Folders;
    use crate::experiment::Experiment;

    /// Returns the experiment without a folder of data sets, so that every table is a stand-in.
    fn experiment() -> MeasurementAblation {
        let missing = std::env::temp_dir().join("matmech-no-data");
        let folders = Folders { user: None, tables: missing.clone(), downloads: missing.clone() };
        MeasurementAblation { catalogue: Catalogue::new(&missing, folders) }
    }

    const GRID: &str = "epsilon = 1.0\ndelta = 1e-9\nworkload_seed = 1\n";

    #[test]
    fn bad_grids_name_the_key() {
        let runs = |run: &str| format!("{GRID}runs = [{{ {run} }}]");
        for (text, key) in [
            (runs("dataset = 'adlt', share = 1.0, trials = 1, methods = []"), "runs[0].dataset"),
            (runs("dataset = 'titanic', share = 0.0, trials = 1, methods = []"), "runs[0].share"),
            (runs("dataset = 'titanic', share = 1.0, trials = 0, methods = []"), "runs[0].trials"),
            (
                runs("dataset = 'titanic', share = 1.0, trials = 1, methods = ['lazy']"),
                "runs[0].methods",
            ),
            (GRID.replace("1.0", "0.0") + "runs = []", "epsilon"),
        ] {
            let error = Experiment::cells(&experiment(), &text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    /// Compares the errors of the three methods with their expectations, within 10%, and with each
    /// other. The error of a trial is a mean over 84 marginals, with a spread of about 1%.
    #[test]
    fn errors_have_their_expectations_and_crp_is_better() {
        let text = format!(
            "{GRID}runs = [{{ dataset = 'titanic', share = 1.0, trials = 3, orders = 5, \
             methods = ['lazy+crp', 'lazy+iid', 'full+iid'] }}]"
        );
        let experiment = experiment();
        let kind: &dyn Experiment = &experiment;
        let cells = kind.cells(&text.parse().unwrap()).unwrap();
        let results: Vec<Vec<Row>> = cells
            .iter()
            .map(|cell| kind.run(cell, &mut ChaCha20Rng::seed_from_u64(3)).unwrap())
            .collect();
        let value = |k: usize, metric: &str| {
            results[k].iter().find(|r| r.metric == metric).unwrap().value.unwrap()
        };
        for (k, cell) in cells.iter().enumerate() {
            assert_eq!(cell.key[1].1, "stand-in");
            assert!((value(k, "workload_error") / value(k, "expected_error") - 1.0).abs() < 0.1);
        }
        let known = value(0, "expected_error");
        assert!(value(0, "expected_error_lowest") < value(0, "expected_error_highest"));
        assert!(value(0, "expected_error_lowest") > 0.9 * known);
        assert!(value(0, "expected_error_highest") < 1.1 * known);
        assert!(results[1].iter().all(|row| row.metric != "expected_error_lowest"));
        assert!((0.0..=1.0).contains(&value(0, "closed_form_share")));
        // Lazy and full updates have the same noise and differ by rounding.
        assert!((value(1, "workload_error") / value(2, "workload_error") - 1.0).abs() < 1e-9);
        assert!(value(0, "expected_error") < value(1, "expected_error"));
        assert!(value(0, "cells_touched") < value(1, "cells_touched"));
        assert!(value(1, "cells_touched") < value(2, "cells_touched"));
        assert_eq!(value(1, "residuals_per_marginal"), 8.0);
    }
}
