//! The report of `matmech simulate` as text.

use std::io::Write;

use matmech::counted::counted;
use matmech::workload::Family;
use matmech_app::simulate::{RecordCounts, SimulateReport};

/// Marginals listed in the text report; `--json` lists all.
const MARGINALS_SHOWN: usize = 5;

/// The first line of every text report.
const WARNING: &str = "NOT PRIVATE: seeded noise, and errors against the true data; \
                       only for those who may see the data";

/// Prints the report as text.
pub(super) fn print(out: &mut dyn Write, report: &SimulateReport) -> std::io::Result<()> {
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
    let clamped = counted(clamped, ["value", "values"]);
    writeln!(out, "records       {kept} kept, {dropped} dropped; {clamped} clamped")?;
    let (groups, answers) =
        match report.by_marginal.iter().all(|group| group.family == Family::IDENTITY.name()) {
            true => ("marginals   ", ["cell", "cells"]),
            false => ("query groups", ["answer", "answers"]),
        };
    let together = counted(report.cells, answers);
    writeln!(out, "{groups}  {}, {together} together", report.marginals)?;
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
    writeln!(out, "{:>14}  {:>10}  attributes", "L1", answers[1])?;
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
