//! `matmech certify`: the error of any strategy matrix and its certified distance to the optimum.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::bounds::{at_least, at_least_decimals, at_most, at_most_decimals};
use super::output;
use super::solve::kind_of_error;
use matmech::Error;
use matmech::counted::counted;
use matmech::strategy::{
    Objective, Optimal, OptimalOptions, Participation, Problem, read_kronecker,
};
use matmech::workload::Workload;
use matmech_app::certify::{CertifyReport, certify};

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
    /// Relative gap at which the solver stops; the bounds hold for every value (not for random:K)
    #[arg(long, default_value_t = OptimalOptions::default().tolerance)]
    tolerance: f64,
    /// Maximum iterations per Kronecker factor (not for random:K)
    #[arg(long, default_value_t = OptimalOptions::default().max_iterations)]
    max_iterations: usize,
    /// Objective: mean (the total), max, or balanced:SHARE, e.g. balanced:0.9
    #[arg(long, default_value_t)]
    objective: Objective,
    /// Participation: single, epochs:K, min-sep:B,K (at most K steps, at least B apart), or random:K
    ///
    /// With random:K, lower triangular strategies are compared with those of at most the same
    /// chi-square divergence at the noise for (ε, δ).
    #[arg(long, default_value_t)]
    participation: Participation,
    /// ε of random:K
    #[arg(long)]
    epsilon: Option<f64>,
    /// δ of random:K
    #[arg(long)]
    delta: Option<f64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write the dual weights, which prove the lower bound
    ///
    /// One weight per cell as .npy. With another objective or participation, the weights of the
    /// steps and the queries as .npz. None for random:K.
    #[arg(long, value_name = "DUAL.npy")]
    save_dual: Option<PathBuf>,
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
        let participation = self.participation.at(self.epsilon, self.delta)?;
        let objective = self.objective;
        let problem = Problem { workload: &workload, objective, participation };
        let (mut report, dual) = certify(&optimal, &strategy, &problem)?;
        if let (Some(path), Some(dual)) = (&self.save_dual, dual) {
            dual.write(path)?;
            report.dual = Some(path.clone());
        }
        output::write(&report, self.json, |out, report| print(out, report, &problem))
    }

    /// Refuses to overwrite a strategy file with the dual vector, and random allocation.
    fn check_target(&self, path: &Path) -> matmech::Result<()> {
        if let Participation::Random { .. } = self.participation {
            return Err(Error::bad_input(
                "--save-dual",
                "participation single, epochs:K or min-sep:B,K",
                format!("participation `{}`, whose bound has no dual weights", self.participation),
                "leave it out: the bound follows from the chi-square divergence that is printed",
            ));
        }
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
}

fn print(
    out: &mut dyn Write,
    report: &CertifyReport,
    problem: &Problem<'_>,
) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({}, {})",
        report.workload,
        counted(report.cells, ["cell", "cells"]),
        counted(report.queries, output::QUERIES)
    )?;
    writeln!(
        out,
        "strategy     {} ({}, rank {}, condition {:.1e})",
        report.strategy,
        counted(report.strategy_queries, output::QUERIES),
        report.rank,
        report.condition
    )?;
    if !problem.is_default() {
        let (objective, participation) = (&report.objective, &report.participation);
        writeln!(out, "objective    {objective}, participation {participation}")?;
    }
    let kind = report.sensitivity_kind.unwrap_or("largest column norm");
    writeln!(out, "sensitivity  {:.10e}   {kind}", report.sensitivity)?;
    writeln!(out, "error        {:.10e}   {}", report.error, kind_of_error(problem.objective))?;
    if let (Some(bound), Some(ratio)) = (report.svd_bound, report.ratio) {
        writeln!(out, "SVD bound    {bound:.10e}   error/bound {ratio:.6}")?;
    }
    let (class, with) = match problem.participation {
        Participation::Random { .. } => (
            "no strategy with at most this chi-square divergence is below",
            " with this divergence",
        ),
        _ => ("no strategy is below", ""),
    };
    let (lower, upper) = (at_least(report.lower_bound, 10), at_most(report.upper_bound, 10));
    writeln!(out, "lower bound  {lower}   certified: {class}")?;
    let gap = at_most(report.gap, 2);
    writeln!(out, "upper bound  {upper}   the best strategy known{with}; gap {gap}")?;
    writeln!(
        out,
        "distance     at most {} %, at least {} % above the smallest possible error{with}",
        at_most_decimals(100.0 * report.at_most_above_optimum, 5),
        at_least_decimals(100.0 * report.at_least_above_optimum, 5)
    )?;
    if let Participation::Random { .. } = problem.participation {
        writeln!(out, "privacy      no lower bound for (epsilon, delta) itself is known")?;
    }
    writeln!(out, "solver       {:?} after {} iterations", report.status, report.iterations)?;
    writeln!(out, "time         {:.3} s", report.seconds)?;
    if let Some(path) = &report.dual {
        if problem.is_default() {
            writeln!(out, "dual vector  {} ({} weights)", path.display(), report.cells)?;
        } else {
            writeln!(out, "dual weights {}", path.display())?;
        }
    }
    for (name, value) in &report.details {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}
