//! `matmech privacy`: σ, ε and δ of a strategy for training.

use std::io::Write;

use clap::Args;

use super::bounds::at_most;
use super::output;
use super::stream::validity;
use matmech::strategy::allocation::{Method, MonteCarloOptions};
use matmech::strategy::calibration::{Calibration, NoiseStrategy};
use matmech::strategy::{Objective, Participation, Problem};
use matmech::workload::Workload;
use matmech_app::privacy::{PrivacyReport, privacy};

/// Arguments of `matmech privacy`.
#[derive(Debug, Args)]
pub(super) struct PrivacyCommand {
    /// Strategy: C.npy, noise.npz, or a name, e.g. recurrence(buffers=4)
    ///
    /// A file is used as it is: a lower triangular matrix C with a row and a column per step (.npy,
    /// .csv), or the coefficients of `matmech stream --out` (.npz). A strategy of `matmech solve` is
    /// selected for the problem and scaled to sensitivity 1.
    #[arg(long, value_name = "FILE|NAME")]
    strategy: String,
    /// Workload over steps, e.g. prefix:1024
    #[arg(long)]
    workload: String,
    /// Participation: single, epochs:K, min-sep:B,K (at most K steps, at least B apart), or random:K
    #[arg(long, default_value_t)]
    participation: Participation,
    /// Noise multiplier: standard deviation of the noise per unit of the clipping norm
    #[arg(long, allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// ε of (ε, δ)-differential privacy
    #[arg(long, allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy
    #[arg(long, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// Objective of the error: mean, max, or balanced:SHARE, e.g. balanced:0.9
    #[arg(long, default_value_t)]
    objective: Objective,
    /// With random:K: how δ is bounded: auto, deterministic or monte-carlo
    #[arg(long, default_value_t)]
    method: Method,
    /// With random:K: samples of a confidence bound; by default 100 million/b, 200,000 to 400,000
    #[arg(long)]
    samples: Option<usize>,
    /// With random:K: probability with which the bound does not hold, a part of δ; by default δ/100,
    /// at most 1e-6
    #[arg(long)]
    failure_probability: Option<f64>,
    /// With random:K: seed of the samples
    #[arg(long, default_value_t)]
    seed: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl PrivacyCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let calibration = Calibration::of_two(self.sigma, self.epsilon, self.delta)?;
        let workload = Workload::parse(&self.workload)?;
        let (objective, participation) =
            (self.objective, calibration.target_of(self.participation));
        let problem = Problem { workload: &workload, objective, participation };
        let options = MonteCarloOptions {
            method: self.method,
            samples: self.samples,
            failure_probability: self.failure_probability,
            seed: self.seed,
        };
        let strategy = NoiseStrategy::of_text(&self.strategy, &problem)?;
        let report = privacy(&problem, &strategy, calibration, options)?;
        output::write(&report, self.json, |out, report| print(out, report, calibration))
    }
}

/// Describes what the error is.
fn kind_of_error(objective: &str) -> &'static str {
    match objective {
        "mean" => "mean squared error of a query, at clipping norm 1",
        "max" => "largest squared error of a query, at clipping norm 1",
        _ => "balanced squared error of a query, at clipping norm 1",
    }
}

fn print(
    out: &mut dyn Write,
    report: &PrivacyReport,
    calibration: Calibration,
) -> std::io::Result<()> {
    let PrivacyReport { workload, steps, queries, .. } = report;
    writeln!(out, "workload       {workload} ({steps} steps, {queries} queries)")?;
    let scale = if report.scaled { "scaled to sensitivity 1" } else { "as it is, not rescaled" };
    writeln!(out, "strategy       {}: {scale}", report.strategy)?;
    writeln!(out, "participation  {}", report.participation)?;
    writeln!(out, "valid for      {}", validity(&report.participation))?;
    writeln!(out, "sensitivity    {:.10e}   {}", report.sensitivity, report.sensitivity_kind)?;
    let number = |value: f64, is_computed: bool| {
        if is_computed { format!("{}   rounded up", at_most(value, 10)) } else { value.to_string() }
    };
    let computed = |name: &str| match calibration {
        Calibration::Sigma { .. } => name == "sigma",
        Calibration::Epsilon { .. } => name == "epsilon",
        Calibration::Delta { .. } => name == "delta",
    };
    let values = [("sigma", report.sigma), ("epsilon", report.epsilon), ("delta", report.delta)];
    for (name, value) in values {
        writeln!(out, "{name:<14} {}", number(value, computed(name)))?;
    }
    writeln!(out, "method         {}", report.method)?;
    if report.failure_probability > 0.0 {
        let probability = at_most(report.failure_probability, 2);
        writeln!(out, "failure        with probability {probability} the guarantee does not hold")?;
    }
    writeln!(out, "neighbours     {}", report.neighbours)?;
    writeln!(out, "error          {:.10e}   {}", report.error, kind_of_error(&report.objective))?;
    Ok(())
}
