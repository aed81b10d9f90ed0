//! `matmech solve`: selects one strategy for one workload.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::output;
use matmech::privacy::Neighbours;
use matmech::strategy::participation::Sensitivity;
use matmech::strategy::{
    self, Objective, Participation, Problem, Request, Selection, Status, Strategy,
};
use matmech::workload::{QueryCount, Workload};

/// Maximum cells for which the SVD bound of a workload that is solved in linear time is computed.
const MAX_SVD_CELLS: usize = 4096;

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
    /// Participation: single, epochs:K, or min-sep:B,K (at most K steps, at least B apart)
    #[arg(long)]
    participation: Option<String>,
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
         and participation:\n{}  matrix:FILE.npy              \
         a strategy matrix from a file, one query per row\n",
        strategy::listing()
    )
}

/// The output of `solve --json`. Errors are squared errors at unit privacy cost, as the objective
/// combines them; for `mean` they are totals over the workload.
#[derive(Debug, Serialize)]
struct Report {
    workload: String,
    cells: usize,
    queries: QueryCount,
    strategy: String,
    objective: String,
    participation: String,
    error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<SensitivityReport>,
    /// Omitted for workloads of more than 4096 cells that are solved without a matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    svd_bound: Option<f64>,
    /// error / svd_bound
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
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

/// The squared sensitivity of a strategy under a participation other than `single`.
#[derive(Debug, Serialize)]
pub(super) struct SensitivityReport {
    pub(super) squared: f64,
    /// A value that a contribution attains; equal to `squared` if that is exact.
    pub(super) attained: f64,
    /// `exact`, or the name of the upper bound.
    pub(super) kind: &'static str,
}

impl SensitivityReport {
    /// Returns the report, unless the participation is `single`.
    pub(super) fn of(problem: &Problem<'_>, strategy: &Strategy) -> matmech::Result<Option<Self>> {
        if problem.participation == Participation::Single {
            return Ok(None);
        }
        let Sensitivity { squared, attained, bound } = problem.sensitivity(strategy)?;
        Ok(Some(SensitivityReport { squared, attained, kind: bound.unwrap_or("exact") }))
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "sensitivity  {:.10e}   squared; {}", self.squared, self.kind)
    }
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
        let started = Instant::now();
        let tolerance = self.tolerance.map(|x| x.to_string());
        let max_iterations = self.max_iterations.map(|x| x.to_string());
        let bands = self.bands.map(|x| x.to_string());
        let flags = [
            ("bands", bands.as_deref()),
            ("tolerance", tolerance.as_deref()),
            ("max-iterations", max_iterations.as_deref()),
            ("objective", self.objective.as_deref()),
            ("participation", self.participation.as_deref()),
        ];
        let request = Request::with_flags(&self.strategy, &flags)?;
        let selection = request.select(&workload)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(prefix) = &self.save {
            save(prefix, &selection.strategy)?;
        }
        let problem = request.problem(&workload);
        let report = report(&problem, &selection, seconds)?;
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

fn report(problem: &Problem<'_>, selection: &Selection, seconds: f64) -> matmech::Result<Report> {
    let workload = problem.workload;
    let linear = workload.recurrence().is_some() && selection.certificate.is_some();
    let svd_bound = if linear && workload.cells() > MAX_SVD_CELLS {
        None
    } else {
        Some(problem.svd_bound(strategy::svd_bound(&workload.gram()?)?))
    };
    let certified = selection.certificate.map_or(0.0, |c| c.lower_bound);
    let lower_bound = svd_bound.map_or(certified, |bound| bound.max(certified));
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
        objective: problem.objective.to_string(),
        participation: problem.participation.to_string(),
        error: selection.error,
        sensitivity: SensitivityReport::of(problem, &selection.strategy)?,
        svd_bound,
        ratio: svd_bound.map(|bound| selection.error / bound),
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

fn print(out: &mut dyn Write, report: &Report, problem: &Problem<'_>) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({} cells, {} queries)",
        report.workload, report.cells, report.queries
    )?;
    writeln!(out, "strategy     {}", report.strategy)?;
    if !problem.is_default() {
        let (objective, participation) = (&report.objective, &report.participation);
        writeln!(out, "objective    {objective}, participation {participation}")?;
    }
    if let Some(sensitivity) = &report.sensitivity {
        sensitivity.print(out)?;
    }
    writeln!(out, "error        {:.10e}   {}", report.error, kind_of_error(problem.objective))?;
    if let (Some(bound), Some(ratio)) = (report.svd_bound, report.ratio) {
        writeln!(out, "SVD bound    {bound:.10e}   error/bound {ratio:.6}")?;
    }
    writeln!(out, "lower bound  {:.10e}   certified; gap {:.2e}", report.lower_bound, report.gap)?;
    if let Some(status) = report.status {
        writeln!(out, "solver       {status:?} after {} iterations", report.iterations)?;
    }
    writeln!(out, "time         {:.3} s", report.seconds)?;
    for (name, value) in &report.details {
        writeln!(out, "{name:<12} {value}")?;
    }
    Ok(())
}
