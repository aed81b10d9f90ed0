//! The command `matmech`: arguments, dispatch and exit codes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod answer;
mod bounds;
mod budget;
mod certify;
mod check_data;
mod completions;
mod draft_schema;
mod ledger;
mod output;
mod panics;
mod plan;
mod privacy;
mod query_answers;
mod record_rule;
mod release;
mod simulate;
mod solve;
mod sql;
mod stream;
mod target;

use clap::{CommandFactory, Parser, Subcommand};

/// Answers workloads of linear queries under differential privacy, with strategies of certified
/// error.
#[derive(Debug, Parser)]
#[command(
    name = "matmech",
    version,
    about,
    after_help = "Exit codes: 0 success; 1 the command failed; 2 bad arguments."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Select a strategy for a workload and print its error with a lower bound.
    Solve(solve::SolveCommand),
    /// Certify a strategy matrix: its error on a workload and its distance to the optimum.
    Certify(certify::CertifyCommand),
    /// Fit noise for training that is drawn step by step, with few buffers per coordinate.
    ///
    /// The noise is that of a strategy near the certified optimum of the workload. Its sensitivity
    /// and errors are recomputed from the coefficients that are written. The noise is floating
    /// point; docs/streams.md says what that means and what each participation is valid for.
    Stream(stream::StreamCommand),
    /// Compute the noise multiplier sigma, epsilon or delta of a strategy for training.
    ///
    /// Two of --sigma, --epsilon and --delta are given, and the third is computed, rounded up. The
    /// guarantee is (epsilon, delta)-differential privacy for adding or removing one record, whose
    /// clipped gradients have norm at most 1 per step, also if gradients depend on earlier outputs.
    /// The noise of a training loop has the standard deviation sigma times the clipping norm.
    Privacy(privacy::PrivacyCommand),
    /// Plan measurements over many attributes and print the expected errors; does not read data.
    Plan(plan::PlanCommand),
    /// PRIVATE: answer a workload from a table with discrete Gaussian noise, charged to a
    /// ledger.
    ///
    /// The budget is zero-concentrated differential privacy (zCDP) for the unit set by --unit-rows
    /// and --neighbours. --epsilon and --delta are converted to the largest rho for which answers
    /// with fine discrete Gaussian noise are (epsilon, delta)-differentially private. At delta =
    /// 1e-9 this rho is 8 to 11 % larger than the rho that holds for every zCDP mechanism.
    ///
    /// The ledger is charged before a record is read, and an interrupted run counts as spent.
    /// Nothing that is printed depends on the records.
    Release(release::ReleaseCommand),
    /// Compute answers from the measurements of a release, at no privacy cost.
    Answer(answer::AnswerCommand),
    /// NOT PRIVATE: check a table against a schema before a release.
    ///
    /// Prints the records kept and dropped and the values outside the schema. Counts are exact, and
    /// the first lines with a value outside the schema are quoted: only for people who may see the
    /// data. No budget is spent.
    CheckData(check_data::CheckDataCommand),
    /// NOT PRIVATE: draft a schema from a table, with the types, values and ranges of its columns.
    ///
    /// Without --private only for people who may see the data. The schema of a release must be public: replace values
    /// and ranges by those that are known without the records.
    DraftSchema(draft_schema::DraftSchemaCommand),
    /// Print SQL that counts the marginals of a workload where the table is; reads no data.
    ///
    /// The output creates a view with a column of cell numbers per attribute, and has a statement
    /// per marginal. Save each result as a CSV or Parquet file in one folder for `release --counts`.
    /// The results are exact counts: keep them as the table itself.
    Sql(sql::SqlCommand),
    /// Create the privacy ledger of a table, or show its balance.
    Ledger(ledger::LedgerCommand),
    /// NOT PRIVATE: run a mechanism on data that you may see and print its true errors.
    ///
    /// The noise is seeded and the errors are measured against the true data, so the output is not
    /// differentially private. It is only for people who may see the data.
    ///
    /// The budget is zero-concentrated differential privacy (zCDP). --epsilon and --delta are
    /// converted to the largest rho for which every rho-zCDP mechanism is (epsilon,
    /// delta)-differentially private. (`matmech plan` uses a tighter conversion, because its plans
    /// only add Gaussian noise.) --privacy-cost and --mu are converted to rho = beta/2 = mu^2/2;
    /// this does not imply Gaussian differential privacy, because some mechanisms also select.
    Simulate(simulate::SimulateCommand),
    /// Print a shell completion script.
    Completions(completions::CompletionsCommand),
}

/// Returns the error message with its causes, omitting text already shown.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}

/// Runs the command line and returns the exit code. Only `release`, `check-data`,
/// `draft-schema` and `simulate` open data.
fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    panics::hide_text(match &arguments.command {
        Command::Release(_) => true,
        Command::DraftSchema(draft) => draft.is_private(),
        _ => false,
    });
    let outcome = match arguments.command {
        Command::Solve(solve) => solve.run(),
        Command::Certify(certify) => certify.run(),
        Command::Stream(stream) => stream.run(),
        Command::Privacy(privacy) => privacy.run(),
        Command::Plan(plan) => plan.run(),
        Command::Release(release) => release.run(),
        Command::Answer(answer) => answer.run(),
        Command::CheckData(check) => check.run(),
        Command::DraftSchema(draft) => draft.run(),
        Command::Sql(sql) => sql.run(),
        Command::Ledger(ledger) => ledger.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Completions(completions) => completions.run(Arguments::command()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            std::process::ExitCode::from(1)
        }
    }
}
