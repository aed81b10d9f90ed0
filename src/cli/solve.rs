//! `matmech solve`: selects one strategy for one workload.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::output;
use crate::privacy::Neighbours;
use crate::strategy::{self, Selection, Status, Strategy};
use crate::workload::{Gram, QueryCount, Workload};

/// Arguments of `matmech solve`.
#[derive(Debug, Args)]
pub(super) struct SolveCommand {
    /// Workload, e.g. range:1024, range:32x32 or matrix:W.npy
    ///
    /// More examples: prefix:2^10, affine:20x20, residual(abs:40x40), matrix(shape=4x2):W.npy,
    /// identity-marginals(ways=2):8x8x8, union(range:64; cdf:64), normalised(range:64)
    #[arg(long)]
    workload: String,
    /// Strategy, e.g. optimal, eigen-design:wavelet, eigen-separation(group=16) or matrix:A.npy
    #[arg(long, default_value = "optimal", long_help = strategy_help())]
    strategy: String,
    /// Relative gap at which the solver stops: the strategy option `tolerance`
    #[arg(long)]
    tolerance: Option<f64>,
    /// Maximum eigendecompositions per Kronecker factor: the option `max-iterations` of `optimal`
    #[arg(long)]
    max_iterations: Option<usize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write the strategy matrix, one file per Kronecker factor: PREFIX-1.npy, PREFIX-2.npy, …
    #[arg(long, value_name = "PREFIX")]
    save: Option<PathBuf>,
}

fn strategy_help() -> String {
    format!(
        "Strategy, with options in parentheses, as in eigen-separation(group=16), and an operand \
         after a colon, as in eigen-design:wavelet:\n{}  matrix:FILE.npy              \
         a strategy matrix from a file, one query per row\n",
        strategy::listing()
    )
}

/// The output of `solve --json`. Errors are totals over the workload at unit privacy cost.
#[derive(Debug, Serialize)]
struct Report {
    workload: String,
    cells: usize,
    queries: QueryCount,
    strategy: String,
    error: f64,
    svd_bound: f64,
    /// error / svd_bound
    ratio: f64,
    /// Certified: the error of every strategy is at least this.
    lower_bound: f64,
    /// The smallest known error, which is `error`.
    upper_bound: f64,
    /// upper_bound / lower_bound − 1
    gap: f64,
    iterations: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// The neighbouring tables of the sensitivity.
    neighbours: Neighbours,
    seconds: f64,
    details: serde_json::Map<String, serde_json::Value>,
}

impl SolveCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let workload = Workload::parse(&self.workload)?;
        let gram = workload.gram()?;
        let started = Instant::now();
        let tolerance = self.tolerance.map(|x| x.to_string());
        let max_iterations = self.max_iterations.map(|x| x.to_string());
        let flags =
            [("tolerance", tolerance.as_deref()), ("max-iterations", max_iterations.as_deref())];
        let selection = strategy::with_flags(&self.strategy, &flags)?.select(&gram)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(prefix) = &self.save {
            save(prefix, &selection.strategy)?;
        }
        let report = report(&workload, &gram, &selection, seconds)?;
        output::write(&report, self.json, print)
    }
}

fn save(prefix: &Path, strategy: &Strategy) -> anyhow::Result<()> {
    for (k, factor) in strategy.factors().iter().enumerate() {
        let mut name = prefix.as_os_str().to_os_string();
        name.push(format!("-{}.npy", k + 1));
        crate::matrix_file::write_npy(Path::new(&name), factor.queries()?.as_ref())?;
    }
    Ok(())
}

fn report(
    workload: &Workload,
    gram: &Gram,
    selection: &Selection,
    seconds: f64,
) -> crate::error::Result<Report> {
    let svd_bound = strategy::svd_bound(gram)?;
    let lower_bound = selection.certificate.map_or(svd_bound, |c| c.lower_bound.max(svd_bound));
    let mut details: serde_json::Map<String, serde_json::Value> = selection
        .details
        .iter()
        .map(|(name, value)| ((*name).to_string(), serde_json::json!(value)))
        .collect();
    if workload.query_weight() != 1.0 {
        details.insert("query_weight".into(), serde_json::json!(workload.query_weight()));
    }
    Ok(Report {
        workload: workload.name().to_string(),
        cells: workload.cells(),
        queries: workload.count(),
        strategy: selection.strategy.name().to_string(),
        error: selection.error,
        svd_bound,
        ratio: selection.error / svd_bound,
        lower_bound,
        upper_bound: selection.error,
        gap: selection.error / lower_bound - 1.0,
        iterations: selection.certificate.map_or(0, |c| c.iterations),
        status: selection.certificate.map(|c| c.status),
        neighbours: Neighbours::default(),
        seconds,
        details,
    })
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({} cells, {} queries)",
        report.workload, report.cells, report.queries
    )?;
    writeln!(out, "strategy     {}", report.strategy)?;
    writeln!(
        out,
        "error        {:.10e}   total expected squared error at unit privacy cost",
        report.error
    )?;
    writeln!(out, "SVD bound    {:.10e}   error/bound {:.6}", report.svd_bound, report.ratio)?;
    writeln!(out, "lower bound  {:.10e}   certified; gap {:.2e}", report.lower_bound, report.gap)?;
    if let Some(status) = report.status {
        writeln!(out, "solver       {status:?} after {} eigendecompositions", report.iterations)?;
    }
    writeln!(out, "time         {:.3} s", report.seconds)?;
    for (name, value) in &report.details {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}
