//! The command `matmech`: arguments, dispatch, exit codes.

mod budget;
mod output;
mod plan;
mod solve;

use clap::{Parser, Subcommand};

/// The matrix mechanism: certified strategies for differentially private answers to workloads of linear queries.
#[derive(Debug, Parser)]
#[command(name = "matmech", version, about, after_help = "Exit codes: 0 done; 1 the command failed; 2 bad arguments.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Select a strategy for one workload and print its error beside the bounds.
    Solve(solve::Solve),
    /// Plan the measurements for a workload over many attributes and print the error to expect; never opens data.
    Plan(plan::Plan),
}

/// Runs the command line and returns the exit code. Never opens data.
pub fn run() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Solve(solve) => solve.run(),
        Command::Plan(plan) => plan.run(),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::from(1)
        }
    }
}
