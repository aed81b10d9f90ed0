//! The command `matmech`: arguments, dispatch, exit codes.

mod answer;
mod budget;
mod certify;
mod check_data;
mod completions;
mod ledger;
mod output;
mod plan;
mod release;
mod simulate;
mod solve;
mod target;

use clap::{Parser, Subcommand};

/// The matrix mechanism: certified strategies for differentially private answers to workloads of
/// linear queries.
#[derive(Debug, Parser)]
#[command(
    name = "matmech",
    version,
    about,
    after_help = "Exit codes: 0 done; 1 the command failed; 2 bad arguments."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Select a strategy for one workload and print its error beside the bounds.
    Solve(solve::SolveCommand),
    /// Certify a strategy of your own: its error on a workload, and how far the best possible one
    /// is.
    Certify(certify::CertifyCommand),
    /// Plan the measurements for a workload over many attributes and print the error to expect;
    /// never opens data.
    Plan(plan::PlanCommand),
    /// PRIVATE: answer a workload from a CSV file, with exact integer noise and exact standard
    /// errors, and charge a ledger.
    ///
    /// The budget is one of zero-concentrated differential privacy for the unit that --unit-rows
    /// and --neighbours name; --epsilon and --delta are converted to the largest rho for which
    /// answers with fine discrete Gaussian noise are (epsilon, delta)-differentially private, which
    /// is 8 to 11 % more than for every rho-zCDP mechanism at delta = 1e-9. The ledger is charged
    /// before the data is opened, and a run that is killed counts as spent. Nothing that is printed
    /// depends on the records.
    Release(release::ReleaseCommand),
    /// Answers, adjusted answers and the statement from the measurements of a release, at no cost.
    Answer(answer::AnswerCommand),
    /// NOT PRIVATE: show what a release would make of a CSV file: records kept and dropped, values
    /// outside the schema.
    ///
    /// For those who may see the data. All counts are exact, and the first lines with a value
    /// outside the schema are quoted. Nothing is spent.
    CheckData(check_data::CheckDataCommand),
    /// Create the ledger of a table, or show what is left in it.
    Ledger(ledger::LedgerCommand),
    /// NOT PRIVATE: run a mechanism for marginals on data that you may see and print its true
    /// errors.
    ///
    /// The noise is seeded and the errors are measured against the true data, so nothing that this
    /// command prints is differentially private. It shows what a mechanism would do, to those who
    /// may see the data.
    ///
    /// The budget is one of zero-concentrated differential privacy, which the mechanisms are
    /// accounted for in. --epsilon and --delta are converted to the largest rho for which every
    /// rho-zCDP mechanism is (epsilon, delta)-differentially private (`matmech plan` has a tighter
    /// one, because its plans only add Gaussian noise); --privacy-cost and --mu mean rho = beta/2 =
    /// mu^2/2, a translation and no promise of Gaussian differential privacy: aim-grem also
    /// selects.
    Simulate(simulate::SimulateCommand),
    /// Print the script with which a shell completes this command line.
    Completions(completions::CompletionsCommand),
}

/// An error with its causes, but for what it says itself: what the system said of a file stands
/// before the remedy, once.
fn in_full(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}

/// Runs the command line and returns the exit code. Only `release`, `check-data` and `simulate`
/// open data.
pub fn run() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Solve(solve) => solve.run(),
        Command::Certify(certify) => certify.run(),
        Command::Plan(plan) => plan.run(),
        Command::Release(release) => release.run(),
        Command::Answer(answer) => answer.run(),
        Command::CheckData(check) => check.run(),
        Command::Ledger(ledger) => ledger.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Completions(completions) => completions.run(),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", in_full(&error));
            std::process::ExitCode::from(1)
        }
    }
}
