//! What `matmech simulate` prints.

use std::io::Write;

use serde::Serialize;

use super::trial::{Mechanism, Setting, Trial};
use crate::cli::output;
use crate::data::CsvTable;

/// Marginals listed in the text report; `--json` lists all.
const MARGINALS_SHOWN: usize = 5;

/// The first line of every text report.
const WARNING: &str =
    "NOT PRIVATE: seeded noise, and errors against the true data; only for those who may see the data";

/// What `simulate --json` prints. Errors are per record; L1 and L2 are means over the marginals.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Always false.
    private: bool,
    mechanism: &'static str,
    records: RecordCounts,
    marginals: usize,
    /// Cells of all marginals.
    cells: usize,
    /// The budget in zCDP.
    rho: f64,
    /// The most that a run spent of it.
    spent: f64,
    seed: u64,
    trials: usize,
    /// Means over the trials.
    #[serde(flatten)]
    means: Figures,
    /// Of the means; null for a single trial.
    standard_errors: Option<Figures>,
    /// The exact expected value of `squared_error`, T; null where none is known.
    expected_squared_error: Option<f64>,
    /// The exact expected value of `mean_l1`; null where none is known.
    expected_mean_l1: Option<f64>,
    /// Peak memory of the process; absent where the system does not tell.
    peak_mb: Option<f64>,
    /// Worst first.
    by_marginal: Vec<MarginalReport>,
}

#[derive(Debug, Serialize)]
struct RecordCounts {
    kept: usize,
    dropped: usize,
    /// Values moved to the nearest cell, in records that were kept.
    clamped: usize,
}

/// A figure of every trial.
#[derive(Debug, Serialize)]
struct Figures {
    mean_l1: f64,
    max_l1: f64,
    mean_l2: f64,
    /// Over all cells of all marginals, in counts.
    squared_error: f64,
    /// Adaptive rounds; the measurements of 1-way marginals before them are not counted.
    rounds: Option<f64>,
    residuals_per_round: Option<f64>,
    /// Of one trial: the mechanism, all marginals, and their comparison with the true ones.
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct MarginalReport {
    attributes: Vec<String>,
    cells: usize,
    /// Mean over the trials.
    l1: f64,
}

impl Figures {
    fn new(trials: &[Trial], statistic: impl Fn(&[f64]) -> f64) -> Self {
        let of = |figure: &dyn Fn(&Trial) -> f64| statistic(&trials.iter().map(figure).collect::<Vec<_>>());
        let adaptive = |figure: &dyn Fn(&Trial) -> Option<f64>| {
            trials.iter().map(figure).collect::<Option<Vec<_>>>().map(|values| statistic(&values))
        };
        Figures {
            mean_l1: of(&|trial| trial.errors.mean_l1()),
            max_l1: of(&|trial| trial.errors.max_l1()),
            mean_l2: of(&|trial| trial.errors.mean_l2()),
            squared_error: of(&|trial| trial.errors.squared_error()),
            rounds: adaptive(&|trial| trial.adaptive.as_ref().map(|a| a.rounds)),
            residuals_per_round: adaptive(&|trial| trial.adaptive.as_ref().map(|a| a.residuals_per_round)),
            seconds: of(&|trial| trial.seconds),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean of at least two values.
fn standard_error(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0) / count).sqrt()
}

impl Report {
    pub(super) fn new(
        mechanism: Mechanism,
        table: &CsvTable,
        setting: &Setting<'_>,
        trials: &[Trial],
        seed: u64,
    ) -> crate::Result<Self> {
        let attributes = setting.schema.attributes();
        let mut by_marginal = Vec::with_capacity(setting.marginals.len());
        for (place, positions) in setting.marginals.iter().enumerate() {
            by_marginal.push(MarginalReport {
                attributes: positions.iter().map(|&p| attributes[p].name.clone()).collect(),
                cells: positions.iter().map(|&p| attributes[p].size).product(),
                l1: mean(&trials.iter().map(|trial| trial.l1[place]).collect::<Vec<_>>()),
            });
        }
        by_marginal.sort_by(|a, b| b.l1.total_cmp(&a.l1));
        let plan = (mechanism == Mechanism::ResidualPlanner).then(|| setting.batch()).transpose()?;
        let records = table.records.len();
        let expected_l1 = plan.as_ref().map(|plan| plan.expected_mean_l1()).transpose()?;
        Ok(Report {
            private: false,
            mechanism: mechanism.name(),
            records: RecordCounts { kept: records, dropped: table.dropped, clamped: table.clamped },
            marginals: setting.marginals.len(),
            cells: by_marginal.iter().map(|marginal| marginal.cells).sum(),
            rho: setting.rho,
            spent: trials.iter().map(|trial| trial.spent).fold(0.0, f64::max),
            seed,
            trials: trials.len(),
            means: Figures::new(trials, mean),
            standard_errors: (trials.len() > 1).then(|| Figures::new(trials, standard_error)),
            expected_squared_error: plan.as_ref().map(|plan| plan.expected_squared_error()),
            expected_mean_l1: expected_l1.map(|l1| l1 / records as f64),
            peak_mb: output::peak_mb(),
            by_marginal,
        })
    }
}

/// The report as text.
pub(super) fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let RecordCounts { kept, dropped, clamped } = report.records;
    let errors = report.standard_errors.as_ref();
    // A mean with its standard error, if there is one.
    let figure = |mean: f64, error: Option<f64>| match error {
        Some(error) => format!("{mean:.6} ± {error:.6}"),
        None => format!("{mean:.6}"),
    };
    writeln!(out, "{WARNING}")?;
    writeln!(out, "mechanism     {}, trials: {}, seed {}", report.mechanism, report.trials, report.seed)?;
    writeln!(out, "records       {kept} kept, {dropped} dropped; {clamped} values clamped")?;
    writeln!(out, "marginals     {}, {} cells together", report.marginals, report.cells)?;
    writeln!(out, "budget        rho = {:.7e} (zCDP), spent {:.7e}", report.rho, report.spent)?;
    writeln!(out, "errors per record, over the marginals")?;
    writeln!(out, "  mean L1     {}", figure(report.means.mean_l1, errors.map(|e| e.mean_l1)))?;
    if let Some(expected) = report.expected_mean_l1 {
        writeln!(out, "    expected  {expected:.6}")?;
    }
    writeln!(out, "  max L1      {}", figure(report.means.max_l1, errors.map(|e| e.max_l1)))?;
    writeln!(out, "  mean L2     {}", figure(report.means.mean_l2, errors.map(|e| e.mean_l2)))?;
    writeln!(out, "total squared error, in counts")?;
    writeln!(out, "  found       {:.4e}", report.means.squared_error)?;
    if let Some(expected) = report.expected_squared_error {
        writeln!(out, "  expected    {expected:.4e}")?;
    }
    if let (Some(rounds), Some(residuals)) = (report.means.rounds, report.means.residuals_per_round) {
        writeln!(out, "rounds        {rounds:.1}, {residuals:.2} residuals measured in each")?;
    }
    writeln!(out, "time          {:.4} s per trial", report.means.seconds)?;
    if let Some(peak) = report.peak_mb {
        writeln!(out, "peak memory   {peak:.0} MB")?;
    }
    writeln!(out, "{:>14}  {:>10}  marginal", "L1", "cells")?;
    for marginal in report.by_marginal.iter().take(MARGINALS_SHOWN) {
        writeln!(out, "{:>14.6}  {:>10}  {}", marginal.l1, marginal.cells, marginal.attributes.join(", "))?;
    }
    if report.by_marginal.len() > MARGINALS_SHOWN {
        writeln!(out, "… and {} better ones; --json lists all", report.by_marginal.len() - MARGINALS_SHOWN)?;
    }
    Ok(())
}
