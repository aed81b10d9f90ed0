//! The command line of `reproduce`, and what its commands do.

mod arguments;
mod data;
mod list;
mod run;
mod steps;

use std::io::{self, Write};

pub use arguments::{Arguments, Command};

use crate::datasets::Catalogue;
use crate::engine::Display;
use crate::experiment::Experiment;
use crate::failure::Failure;

/// Carries out a command with the given kinds of experiments, which run on the tables of the catalogue.
///
/// # Errors
/// The first step that failed; [`Failure::exit_code`] is the process's exit code.
pub fn execute(
    arguments: &Arguments,
    experiments: &[Box<dyn Experiment>],
    catalogue: &Catalogue,
    display: &Display,
) -> Result<(), Failure> {
    let root = arguments.root.as_path();
    let kinds = steps::Kinds { experiments, catalogue };
    match &arguments.command {
        Command::List { profile } => list::list(root, experiments, *profile),
        Command::Run { configs, profile, only, shard, jobs, fresh } => {
            let options = arguments::run_options(*jobs, only, *shard, *fresh);
            run::run(root, configs, kinds, *profile, &options, display)
        }
        Command::All { profile, jobs, fresh } => {
            let options = arguments::run_options(*jobs, &[], None, *fresh);
            run::all(root, kinds, *profile, &options, display)
        }
        Command::Compare { profile } => steps::compare(root, &steps::configs(root)?, *profile),
        Command::Figures { profile } => steps::figures(root, &steps::configs(root)?, *profile),
        Command::Data { names } => data::data(root, names),
    }
}

/// Prints why a command failed, on standard error.
pub fn report_failure(failure: &Failure) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "error: {failure}");
}

/// Prints a line of the command's own output; a closed pipe (`| head`) is not an error.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
