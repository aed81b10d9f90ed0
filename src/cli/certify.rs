//! `matmech certify`: the error of any strategy matrix and its certified distance to the optimum.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ndarray::Array2;
use serde::Serialize;

use super::output;
use super::solve::kind_of_error;
use matmech::Error;
use matmech::matrix_file;
use matmech::privacy::Neighbours;
use matmech::strategy::participation::Sensitivity;
use matmech::strategy::{
    Certificate, DualVector, Objective, Optimal, OptimalOptions, Participation, Problem,
    ProblemDual, Status, Strategy, read_kronecker,
};
use matmech::workload::{QueryCount, Workload};

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
    /// Maximum iterations per Kronecker factor
    #[arg(long, default_value_t = OptimalOptions::default().max_iterations)]
    max_iterations: usize,
    /// Objective: mean (the total), max, or balanced:SHARE, e.g. balanced:0.9
    #[arg(long, default_value_t)]
    objective: Objective,
    /// Participation: single, epochs:K, or min-sep:B,K (at most K steps, at least B apart)
    #[arg(long, default_value_t)]
    participation: Participation,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write the dual weights, which prove the lower bound
    ///
    /// One weight per cell as .npy. With another objective or participation, the weights of the
    /// steps and the queries as .npz.
    #[arg(long, value_name = "DUAL.npy")]
    save_dual: Option<PathBuf>,
}

/// The output of `certify --json`. Errors are squared errors at unit privacy cost, as the objective
/// combines them; for `mean` they are totals over the workload.
#[derive(Debug, Serialize)]
struct Report {
    workload: String,
    cells: usize,
    queries: QueryCount,
    strategy: String,
    strategy_queries: usize,
    rank: usize,
    condition: f64,
    objective: String,
    participation: String,
    /// The largest column norm; for repeated participation, the largest change of the answers.
    sensitivity: f64,
    /// `exact`, or the name of the upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity_kind: Option<&'static str>,
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

/// What [`Optimal::assess`] and [`Optimal::assess_for`] have in common.
struct Numbers {
    rank: usize,
    condition: f64,
    sensitivity: Sensitivity,
    error: f64,
    svd_bound: f64,
    lower_bound: f64,
    upper_bound: f64,
    certificate: Certificate,
}

/// The dual weights, by the problem.
enum Dual {
    Cells(DualVector),
    Problem(ProblemDual),
}

impl Dual {
    fn write(&self, path: &Path) -> matmech::Result<()> {
        match self {
            Dual::Cells(dual) => matrix_file::write_npy_vector(path, &dual.over_cells()?),
            Dual::Problem(dual) => {
                let queries = Array2::from_shape_fn((1, dual.query_weights.len()), |(_, q)| {
                    dual.query_weights[q]
                });
                let mut arrays = vec![("step_weights", dual.step_weights.view().into_dyn())];
                if !queries.is_empty() {
                    arrays.push(("query_weights", queries.view().into_dyn()));
                }
                matrix_file::write_npz(path, &arrays)
            }
        }
    }
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
        let (objective, participation) = (self.objective, self.participation);
        let problem = Problem { workload: &workload, objective, participation };
        let (numbers, dual) = assess(&optimal, &strategy, &problem)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(path) = &self.save_dual {
            dual.write(path)?;
        }
        let report = self.report(&problem, &strategy, &numbers, seconds)?;
        output::write(&report, self.json, |out, report| print(out, report, &problem))
    }

    /// Refuses to overwrite a strategy file with the dual vector.
    fn check_target(&self, path: &Path) -> matmech::Result<()> {
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
        problem: &Problem<'_>,
        strategy: &Strategy,
        numbers: &Numbers,
        seconds: f64,
    ) -> matmech::Result<Report> {
        let workload = problem.workload;
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
            rank: numbers.rank,
            condition: numbers.condition,
            objective: problem.objective.to_string(),
            participation: problem.participation.to_string(),
            sensitivity: numbers.sensitivity.squared.sqrt(),
            sensitivity_kind: (problem.participation != Participation::Single)
                .then_some(numbers.sensitivity.bound.unwrap_or("exact")),
            error: numbers.error,
            svd_bound: numbers.svd_bound,
            ratio: numbers.error / numbers.svd_bound,
            lower_bound: numbers.lower_bound,
            upper_bound: numbers.upper_bound,
            gap: numbers.upper_bound / numbers.lower_bound - 1.0,
            at_least_above_optimum: numbers.error / numbers.upper_bound - 1.0,
            at_most_above_optimum: numbers.error / numbers.lower_bound - 1.0,
            iterations: numbers.certificate.iterations,
            status: numbers.certificate.status,
            neighbours: Neighbours::default(),
            seconds,
            dual: self.save_dual.clone(),
            details,
        })
    }
}

/// Compares a strategy with the optimum of a problem.
fn assess(
    optimal: &Optimal,
    strategy: &Strategy,
    problem: &Problem<'_>,
) -> matmech::Result<(Numbers, Dual)> {
    if problem.is_default() {
        let found = optimal.assess(strategy, problem.workload)?;
        let numbers = Numbers {
            rank: found.rank,
            condition: found.condition,
            sensitivity: problem.sensitivity(strategy)?,
            error: found.error,
            svd_bound: found.svd_bound,
            lower_bound: found.lower_bound,
            upper_bound: found.upper_bound,
            certificate: found.certificate,
        };
        return Ok((numbers, Dual::Cells(found.dual)));
    }
    let found = optimal.assess_for(strategy, problem)?;
    let numbers = Numbers {
        rank: found.rank,
        condition: found.condition,
        sensitivity: found.sensitivity,
        error: found.error,
        svd_bound: found.svd_bound,
        lower_bound: found.lower_bound,
        upper_bound: found.upper_bound,
        certificate: found.certificate,
    };
    Ok((numbers, Dual::Problem(found.dual)))
}

fn print(out: &mut dyn Write, report: &Report, problem: &Problem<'_>) -> std::io::Result<()> {
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
    if !problem.is_default() {
        let (objective, participation) = (&report.objective, &report.participation);
        writeln!(out, "objective    {objective}, participation {participation}")?;
    }
    let kind = report.sensitivity_kind.unwrap_or("largest column norm");
    writeln!(out, "sensitivity  {:.10e}   {kind}", report.sensitivity)?;
    writeln!(out, "error        {:.10e}   {}", report.error, kind_of_error(problem.objective))?;
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
