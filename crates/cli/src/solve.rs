//! `matmech solve`: selects one strategy for one workload.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::bounds::{at_least, at_most};
use super::output;
use matmech::counted::counted;
use matmech::strategy::{self, Objective, Participation, Problem, Request, Strategy};
use matmech::workload::Workload;
use matmech_app::solve::{SensitivityReport, SolveReport, Solved, solve};

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
    /// Maximum iterations per Kronecker factor: the option `max-iterations` of `optimal`
    #[arg(long)]
    max_iterations: Option<usize>,
    /// Objective: mean (the total), max, or balanced:SHARE, e.g. balanced:0.9
    #[arg(long)]
    objective: Option<String>,
    /// Participation: single, epochs:K, min-sep:B,K (at most K steps, at least B apart), or random:K
    #[arg(long)]
    participation: Option<String>,
    /// ε of random:K, at which strategies are compared: the strategy option `epsilon`
    #[arg(long)]
    epsilon: Option<f64>,
    /// δ of random:K: the strategy option `delta`
    #[arg(long)]
    delta: Option<f64>,
    /// Number of bands under min-sep: the option `bands` of `optimal`
    #[arg(long)]
    bands: Option<usize>,
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
         after a colon, as in eigen-design:wavelet. Every strategy takes the options objective \
         and participation, and with random:K epsilon and delta:\n{}  matrix:FILE.npy              \
         a strategy matrix from a file, one query per row\n",
        strategy::listing()
    )
}

/// Describes what an error is.
pub(super) fn kind_of_error(objective: Objective) -> &'static str {
    match objective {
        Objective::Mean => "total expected squared error at unit privacy cost",
        Objective::Max => "largest expected squared error of a query at unit privacy cost",
        Objective::Balanced(_) => "balanced expected squared error at unit privacy cost",
    }
}

impl SolveCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let workload = Workload::parse(&self.workload)?;
        let tolerance = self.tolerance.map(|x| x.to_string());
        let max_iterations = self.max_iterations.map(|x| x.to_string());
        let bands = self.bands.map(|x| x.to_string());
        let [epsilon, delta] = [self.epsilon, self.delta].map(|x| x.map(|x| x.to_string()));
        let flags = [
            ("bands", bands.as_deref()),
            ("tolerance", tolerance.as_deref()),
            ("max-iterations", max_iterations.as_deref()),
            ("objective", self.objective.as_deref()),
            ("participation", self.participation.as_deref()),
            ("epsilon", epsilon.as_deref()),
            ("delta", delta.as_deref()),
        ];
        let request = Request::with_flags(&self.strategy, &flags)?;
        let Solved { report, selection, .. } = solve(&request, &workload)?;
        if let Some(prefix) = &self.save {
            save(prefix, &selection.strategy)?;
        }
        let problem = request.problem(&workload);
        output::write(&report, self.json, |out, report| print(out, report, &problem))
    }
}

fn save(prefix: &Path, strategy: &Strategy) -> anyhow::Result<()> {
    for (k, factor) in strategy.factors().iter().enumerate() {
        let mut name = prefix.as_os_str().to_os_string();
        name.push(format!("-{}.npy", k + 1));
        matmech::matrix_file::write_npy(Path::new(&name), factor.queries()?.as_ref())?;
    }
    Ok(())
}

fn print(out: &mut dyn Write, report: &SolveReport, problem: &Problem<'_>) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({}, {})",
        report.workload,
        counted(report.cells, ["cell", "cells"]),
        counted(report.queries, output::QUERIES)
    )?;
    writeln!(out, "strategy     {}", report.strategy)?;
    if !problem.is_default() {
        let (objective, participation) = (&report.objective, &report.participation);
        writeln!(out, "objective    {objective}, participation {participation}")?;
    }
    if let Some(sensitivity) = &report.sensitivity {
        let SensitivityReport { squared, kind, .. } = sensitivity;
        writeln!(out, "sensitivity  {squared:.10e}   squared; {kind}")?;
    }
    writeln!(out, "error        {:.10e}   {}", report.error, kind_of_error(problem.objective))?;
    if let (Some(bound), Some(ratio)) = (report.svd_bound, report.ratio) {
        writeln!(out, "SVD bound    {bound:.10e}   error/bound {ratio:.6}")?;
    }
    if let (Some(bound), Some(gap)) = (report.lower_bound, report.gap) {
        let (lower, gap) = (at_least(bound, 10), at_most(gap, 2));
        let class = match problem.participation {
            Participation::Random { .. } => {
                " among strategies with at most this chi-square divergence"
            }
            _ => "",
        };
        writeln!(out, "lower bound  {lower}   certified{class}; gap {gap}")?;
    }
    if let Some(status) = report.status {
        writeln!(out, "solver       {status:?} after {} iterations", report.iterations)?;
    }
    writeln!(out, "time         {:.3} s", report.seconds)?;
    for (name, value) in &report.details {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}
