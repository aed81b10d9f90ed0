//! `matmech certify`: the error of any strategy matrix and its certified distance to the optimum.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::output;
use crate::error::Error;
use crate::privacy::Neighbours;
use crate::strategy::{Assessment, Optimal, OptimalOptions, Status, Strategy, read_kronecker};
use crate::workload::{QueryCount, Workload};

/// Arguments of `matmech certify`.
#[derive(Debug, Args)]
pub(super) struct CertifyCommand {
    /// Strategy matrix, .npy or .csv: one row per query, one column per cell
    ///
    /// An .npy file holds a two-dimensional float64 array. Several files are the factors of a
    /// Kronecker product, in the order of the attributes.
    #[arg(value_name = "STRATEGY.npy", required = true)]
    strategy: Vec<PathBuf>,
    /// Workload, e.g. range:1024, range:32x32, union(range:64; cdf:64) or matrix:W.npy
    #[arg(long)]
    workload: String,
    /// Relative gap at which the solver stops; the bounds hold for every value
    #[arg(long, default_value_t = OptimalOptions::default().tolerance)]
    tolerance: f64,
    /// Maximum eigendecompositions per Kronecker factor
    #[arg(long, default_value_t = OptimalOptions::default().max_iterations)]
    max_iterations: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write the dual vector, one weight per cell, which proves the lower bound
    #[arg(long, value_name = "DUAL.npy")]
    save_dual: Option<PathBuf>,
}

/// The output of `certify --json`. Errors are totals over the workload at unit privacy cost.
#[derive(Debug, Serialize)]
struct Report {
    workload: String,
    cells: usize,
    queries: QueryCount,
    strategy: String,
    strategy_queries: usize,
    rank: usize,
    condition: f64,
    /// The largest column norm.
    sensitivity: f64,
    error: f64,
    svd_bound: f64,
    /// error / svd_bound
    ratio: f64,
    /// Certified: the error of every strategy is at least this.
    lower_bound: f64,
    /// The smallest known error: of this strategy or of the best one that the solver found.
    upper_bound: f64,
    /// upper_bound / lower_bound − 1, the uncertainty of the optimum.
    gap: f64,
    /// error / upper_bound − 1
    at_least_above_optimum: f64,
    /// error / lower_bound − 1
    at_most_above_optimum: f64,
    iterations: usize,
    status: Status,
    /// The neighbouring tables of the sensitivity.
    neighbours: Neighbours,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dual: Option<PathBuf>,
    details: serde_json::Map<String, serde_json::Value>,
}

impl CertifyCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let options =
            OptimalOptions { tolerance: self.tolerance, max_iterations: self.max_iterations };
        let optimal = Optimal::new(options)?;
        let workload = Workload::parse(&self.workload)?;
        if let Some(path) = &self.save_dual {
            self.check_target(path)?;
        }
        let paths: Vec<&Path> = self.strategy.iter().map(PathBuf::as_path).collect();
        let strategy = read_kronecker(&paths, workload.shape())?;
        let started = Instant::now();
        let assessment = optimal.assess(&strategy, &workload)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &self.save_dual {
            crate::matrix_file::write_npy_vector(path, &assessment.dual.over_cells()?)?;
        }
        let report = self.report(&workload, &strategy, &assessment, seconds)?;
        output::write(&report, self.json, print)
    }

    /// Refuses to overwrite a strategy file with the dual vector.
    fn check_target(&self, path: &Path) -> crate::error::Result<()> {
        let target = path.canonicalize().ok();
        let same = |file: &&PathBuf| target.is_some() && file.canonicalize().ok() == target;
        match self.strategy.iter().find(same) {
            None => Ok(()),
            Some(file) => Err(Error::bad_input(
                "--save-dual",
                "a file other than the strategy",
                format!("the strategy file {}", file.display()),
                "choose another file, e.g. dual.npy",
            )),
        }
    }

    fn report(
        &self,
        workload: &Workload,
        strategy: &Strategy,
        assessment: &Assessment,
        seconds: f64,
    ) -> crate::error::Result<Report> {
        let mut strategy_queries = 1;
        for factor in strategy.factors() {
            strategy_queries *= factor.queries()?.nrows();
        }
        let mut details = serde_json::Map::new();
        if workload.query_weight() != 1.0 {
            details.insert("query_weight".into(), serde_json::json!(workload.query_weight()));
        }
        Ok(Report {
            workload: workload.name().to_string(),
            cells: workload.cells(),
            queries: workload.count(),
            strategy: strategy.name().to_string(),
            strategy_queries,
            rank: assessment.rank,
            condition: assessment.condition,
            sensitivity: strategy.sensitivity_squared().sqrt(),
            error: assessment.error,
            svd_bound: assessment.svd_bound,
            ratio: assessment.error / assessment.svd_bound,
            lower_bound: assessment.lower_bound,
            upper_bound: assessment.upper_bound,
            gap: assessment.upper_bound / assessment.lower_bound - 1.0,
            at_least_above_optimum: assessment.min_excess(),
            at_most_above_optimum: assessment.max_excess(),
            iterations: assessment.certificate.iterations,
            status: assessment.certificate.status,
            neighbours: Neighbours::default(),
            seconds,
            dual: self.save_dual.clone(),
            details,
        })
    }
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({} cells, {} queries)",
        report.workload, report.cells, report.queries
    )?;
    writeln!(
        out,
        "strategy     {} ({} queries, rank {}, condition {:.1e})",
        report.strategy, report.strategy_queries, report.rank, report.condition
    )?;
    writeln!(out, "sensitivity  {:.10e}   largest column norm", report.sensitivity)?;
    writeln!(
        out,
        "error        {:.10e}   total expected squared error at unit privacy cost",
        report.error
    )?;
    writeln!(out, "SVD bound    {:.10e}   error/bound {:.6}", report.svd_bound, report.ratio)?;
    writeln!(out, "lower bound  {:.10e}   certified: no strategy is below", report.lower_bound)?;
    writeln!(
        out,
        "upper bound  {:.10e}   the best strategy known; gap {:.2e}",
        report.upper_bound, report.gap
    )?;
    writeln!(
        out,
        "distance     at most {:.5} %, at least {:.5} % above the smallest possible error",
        100.0 * report.at_most_above_optimum,
        100.0 * report.at_least_above_optimum
    )?;
    writeln!(
        out,
        "solver       {:?} after {} eigendecompositions",
        report.status, report.iterations
    )?;
    writeln!(out, "time         {:.3} s", report.seconds)?;
    if let Some(path) = &report.dual {
        writeln!(out, "dual vector  {} ({} weights)", path.display(), report.cells)?;
    }
    for (name, value) in &report.details {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}
