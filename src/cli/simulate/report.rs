//! The report of `matmech simulate`.

use std::io::Write;

use serde::{Serialize, Serializer};

use super::trial::{Setting, Trial};
use matmech::data::CsvTable;
use matmech::mechanism::ExpectedErrors;
use matmech::privacy::{Neighbours, Rho};
use matmech::workload::Family;

/// Marginals listed in the text report; `--json` lists all.
const MARGINALS_SHOWN: usize = 5;

/// The first line of every text report.
const WARNING: &str = "NOT PRIVATE: seeded noise, and errors against the true data; \
                       only for those who may see the data";

/// The output of `simulate --json`. Errors are per record; L1 and L2 are means over the marginals.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Always false.
    private: bool,
    mechanism: String,
    /// The neighbouring tables of the budget.
    neighbours: Neighbours,
    records: RecordCounts,
    /// Number of groups of the workload.
    marginals: usize,
    /// Number of answers of all groups; for marginals, their cells.
    cells: f64,
    /// The budget in zCDP.
    rho: Rho,
    /// Maximum ρ that a run spent.
    spent: f64,
    seed: u64,
    trials: usize,
    /// Whether no answer of any trial is negative.
    nonnegative: bool,
    /// Means over the trials.
    #[serde(flatten)]
    means: Figures,
    /// Standard errors of the means; null for a single trial.
    standard_errors: Option<Figures>,
    /// Exact expected value of `squared_error`; null if unknown.
    expected_squared_error: Option<f64>,
    /// Exact expected value of `mean_l1`; null if unknown.
    expected_mean_l1: Option<f64>,
    /// Peak memory of the process in MB (10⁶ bytes); absent if the system does not report it.
    peak_mb: Option<f64>,
    /// Marginals by decreasing error.
    by_marginal: Vec<MarginalReport>,
}

#[derive(Debug, Serialize)]
struct RecordCounts {
    kept: usize,
    dropped: usize,
    /// Values moved to the nearest cell, in records that were kept.
    clamped: usize,
}

/// Statistics over the trials.
#[derive(Debug, Serialize)]
struct Figures {
    mean_l1: f64,
    max_l1: f64,
    mean_l2: f64,
    /// Sum over all cells of all marginals, in counts.
    squared_error: f64,
    /// Details that the mechanism reports, such as `rounds` of adaptive mechanisms (without the
    /// initial measurements of 1-way marginals).
    #[serde(flatten, serialize_with = "as_fields")]
    details: Vec<(&'static str, f64)>,
    /// Seconds per trial: the mechanism, all marginals, and the comparison with the true ones.
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct MarginalReport {
    attributes: Vec<String>,
    family: &'static str,
    /// Number of answers of the group.
    cells: f64,
    /// Mean over the trials.
    l1: f64,
}

fn as_fields<S: Serializer>(
    details: &[(&'static str, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().copied())
}

impl Figures {
    fn new(trials: &[Trial], statistic: impl Fn(&[f64]) -> f64) -> Self {
        let of = |figure: &dyn Fn(&Trial) -> f64| {
            statistic(&trials.iter().map(figure).collect::<Vec<_>>())
        };
        let names = trials.first().map(|trial| trial.report.details.as_slice()).unwrap_or_default();
        let detail = |(index, &(name, _)): (usize, &(&'static str, f64))| {
            let value = |trial: &Trial| {
                trial.report.details.get(index).map_or(f64::NAN, |(_, value)| *value)
            };
            (name, of(&value))
        };
        Figures {
            mean_l1: of(&|trial| trial.errors.mean_l1()),
            max_l1: of(&|trial| trial.errors.max_l1()),
            mean_l2: of(&|trial| trial.errors.mean_l2()),
            squared_error: of(&|trial| trial.errors.squared_error()),
            details: names.iter().enumerate().map(detail).collect(),
            seconds: of(&|trial| trial.seconds),
        }
    }
}

impl Report {
    pub(super) fn new(
        mechanism: &str,
        neighbours: Neighbours,
        table: &CsvTable,
        setting: &Setting<'_>,
        expected: &ExpectedErrors,
        trials: &[Trial],
        seed: u64,
    ) -> Self {
        let attributes = setting.workload.schema().attributes();
        let groups = setting.workload.groups().iter().enumerate();
        let mut by_marginal: Vec<MarginalReport> = groups
            .map(|(index, group)| MarginalReport {
                attributes: group
                    .attributes()
                    .positions()
                    .map(|p| attributes[p].name.clone())
                    .collect(),
                family: group.family(),
                cells: group.count().as_f64(),
                l1: mean(&trials.iter().map(|trial| trial.l1[index]).collect::<Vec<_>>()),
            })
            .collect();
        by_marginal.sort_by(|a, b| b.l1.total_cmp(&a.l1));
        let records = table.records.len();
        Report {
            private: false,
            mechanism: mechanism.to_owned(),
            neighbours,
            records: RecordCounts { kept: records, dropped: table.dropped, clamped: table.clamped },
            marginals: by_marginal.len(),
            cells: by_marginal.iter().map(|marginal| marginal.cells).sum(),
            rho: setting.rho,
            spent: trials.iter().map(|trial| trial.spent).fold(0.0, f64::max),
            seed,
            trials: trials.len(),
            nonnegative: trials.iter().all(|trial| trial.nonnegative),
            means: Figures::new(trials, mean),
            standard_errors: (trials.len() > 1).then(|| Figures::new(trials, standard_error)),
            expected_squared_error: expected.squared_error,
            expected_mean_l1: expected.mean_l1.map(|l1| l1 / records as f64),
            peak_mb: crate::cli::process::peak_mb(),
            by_marginal,
        }
    }
}

/// Returns the mean; NaN for an empty slice.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the standard error of the mean of independent values, √(Σ (x − mean)²/(k − 1)/k).
///
/// NaN for fewer than two values.
fn standard_error(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// Prints the report as text.
pub(super) fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let RecordCounts { kept, dropped, clamped } = report.records;
    let errors = report.standard_errors.as_ref();
    // A mean, with its standard error if known.
    let figure = |mean: f64, error: Option<f64>| match error {
        Some(error) => format!("{mean:.6} ± {error:.6}"),
        None => format!("{mean:.6}"),
    };
    writeln!(out, "{WARNING}")?;
    writeln!(
        out,
        "mechanism     {}, trials: {}, seed {}",
        report.mechanism, report.trials, report.seed
    )?;
    writeln!(out, "records       {kept} kept, {dropped} dropped; {clamped} values clamped")?;
    let (groups, answers) =
        match report.by_marginal.iter().all(|group| group.family == Family::IDENTITY.name()) {
            true => ("marginals   ", "cells"),
            false => ("query groups", "answers"),
        };
    writeln!(out, "{groups}  {}, {} {answers} together", report.marginals, report.cells)?;
    writeln!(out, "neighbours    {}", report.neighbours)?;
    writeln!(out, "budget        rho = {:.7e} (zCDP), spent {:.7e}", report.rho, report.spent)?;
    let sign = if report.nonnegative { "none is negative" } else { "some are negative" };
    writeln!(out, "estimates     {sign}")?;
    writeln!(out, "errors per record, over the {}", groups.trim_end())?;
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
    if !report.means.details.is_empty() {
        let detail = |(name, value): &(&str, f64)| format!("{} {value:.2}", name.replace('_', " "));
        let details: Vec<String> = report.means.details.iter().map(detail).collect();
        writeln!(out, "details       {}", details.join(", "))?;
    }
    writeln!(out, "time          {:.4} s per trial", report.means.seconds)?;
    if let Some(peak) = report.peak_mb {
        writeln!(out, "peak memory   {peak:.0} MB")?;
    }
    writeln!(out, "{:>14}  {:>10}  attributes", "L1", answers)?;
    for marginal in report.by_marginal.iter().take(MARGINALS_SHOWN) {
        let family = match marginal.family == Family::IDENTITY.name() {
            true => String::new(),
            false => format!(" ({})", marginal.family),
        };
        writeln!(
            out,
            "{:>14.6}  {:>10}  {}{family}",
            marginal.l1,
            marginal.cells,
            marginal.attributes.join(", ")
        )?;
    }
    if report.by_marginal.len() > MARGINALS_SHOWN {
        writeln!(
            out,
            "… and {} with smaller errors; --json lists all",
            report.by_marginal.len() - MARGINALS_SHOWN
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_matches_manual_values() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        // The variance of one value is 10/3, that of the mean a quarter of it.
        assert!((standard_error(&values) - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert!(standard_error(&[1.0]).is_nan() && standard_error(&[]).is_nan());
    }
}
