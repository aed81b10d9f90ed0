//! `matmech stream`: fits streaming noise to one workload.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::bounds::{at_least, at_most_decimals};
use super::output;
use matmech::counted::counted;
use matmech::matrix_file;
use matmech::strategy::stream::{Form, StreamOptions};
use matmech::strategy::{Objective, Participation, Problem};
use matmech::workload::Workload;
use matmech_app::stream::{StreamReport, stream};

/// Arguments of `matmech stream`.
#[derive(Debug, Args)]
pub(super) struct StreamCommand {
    /// Workload over steps, e.g. prefix:1024
    #[arg(long)]
    workload: String,
    /// Number of exponentials or chains
    #[arg(long, default_value_t = 4)]
    buffers: usize,
    /// Participation: single, epochs:K, min-sep:B,K (at most K steps, at least B apart), or random:K
    #[arg(long, default_value_t)]
    participation: Participation,
    /// ε and δ of random:K, for which the noise is fitted
    #[arg(long, requires = "delta")]
    epsilon: Option<f64>,
    /// δ of random:K
    #[arg(long, requires = "epsilon")]
    delta: Option<f64>,
    /// Objective: mean, max, or balanced:SHARE, e.g. balanced:0.9
    #[arg(long, default_value_t)]
    objective: Objective,
    /// Form of the noise; the default depends on the participation and the number of steps
    #[arg(long, long_help = FORMS)]
    form: Option<Form>,
    /// Write the coefficients, from which the noise is drawn
    #[arg(long, value_name = "NOISE.npz")]
    out: Option<PathBuf>,
    /// Write the strategy matrix C, for `matmech certify`
    #[arg(long, value_name = "C.npy")]
    matrix: Option<PathBuf>,
    /// Relative gap of the lower bound
    #[arg(long, default_value_t = StreamOptions::default().tolerance)]
    tolerance: f64,
    /// Maximum steps of the fit
    #[arg(long)]
    max_iterations: Option<usize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const FORMS: &str = "Form of the noise:\n  \
    recurrence  one fitted recurrence: one participation or fixed epochs, at most 4096 steps\n  \
    chains      a sum of autoregressions: one participation, any number of steps, N normals per \
    step\n  \
    truncated   truncated exponentials: min-separation\n\
    The default is truncated for min-sep, chains for one participation in more than 2048 steps, \
    and recurrence otherwise.";

impl StreamCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let workload = Workload::parse(&self.workload)?;
        let objective = self.objective;
        let participation = self.participation.at(self.epsilon, self.delta)?;
        let problem = Problem { workload: &workload, objective, participation };
        let options =
            StreamOptions { tolerance: self.tolerance, max_iterations: self.max_iterations };
        let (mut report, stream) = stream(&problem, self.form, self.buffers, &options)?;
        if let Some(path) = &self.out {
            stream.coefficients.write(path)?;
        }
        if let Some(path) = &self.matrix {
            matrix_file::write_npy(path, &stream.coefficients.strategy_matrix()?)?;
        }
        report.out.clone_from(&self.out);
        report.matrix.clone_from(&self.matrix);
        output::write(&report, self.json, print)
    }
}

/// Describes what the stated privacy cost does not hold for.
pub(super) fn validity(participation: &str) -> &'static str {
    match participation.split_once(':').map_or(participation, |(name, _)| name) {
        "epochs" => {
            "this order of the records in every epoch; not for shuffled epochs, min-separation or \
             sampling"
        }
        "random" => "batches that every record draws once, uniformly and in secret, for all epochs",
        "min-sep" => "any order with this separation; not for sampling",
        _ => "one participation per record; not for more epochs or sampling",
    }
}

fn print(out: &mut dyn Write, report: &StreamReport) -> std::io::Result<()> {
    writeln!(
        out,
        "workload     {} ({}, {})",
        report.workload,
        counted(report.steps, ["step", "steps"]),
        counted(report.queries, output::QUERIES)
    )?;
    let (objective, participation) = (&report.objective, &report.participation);
    writeln!(out, "objective    {objective}, participation {participation}")?;
    writeln!(out, "valid for    {}", validity(&report.participation))?;
    writeln!(
        out,
        "noise        {}: {}, {} per step ({} with those drawn again)",
        report.form,
        counted(report.buffers, ["buffer", "buffers"]),
        counted(report.normals_per_step, ["normal", "normals"]),
        report.draws_per_step
    )?;
    writeln!(out, "sensitivity  {:.10e}   {}", report.sensitivity, report.sensitivity_kind)?;
    writeln!(out, "mean error   {:.10e}   squared, at unit privacy cost", report.mean_error)?;
    if let Some(error) = report.max_error {
        writeln!(out, "max error    {error:.10e}")?;
    }
    if let (Some(bound), Some(excess)) = (report.lower_bound, report.excess) {
        let lower = at_least(bound, 10);
        let excess = at_most_decimals(100.0 * excess, 5);
        writeln!(out, "lower bound  {lower}   certified: no strategy has a smaller error")?;
        writeln!(out, "excess       {excess} % of squared error, at most")?;
    }
    writeln!(out, "fit          {:?} after {} iterations", report.status, report.iterations)?;
    writeln!(out, "time         {:.3} s", report.seconds)?;
    for path in report.out.iter().chain(&report.matrix) {
        writeln!(out, "file         {}", path.display())?;
    }
    Ok(())
}
