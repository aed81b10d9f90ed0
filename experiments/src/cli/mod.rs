//! The command line of `reproduce` and its commands.

mod arguments;
mod data;
mod diff;
mod list;
mod pages;
mod run;
mod steps;
mod verify;

use std::io::{self, Write};

pub use arguments::{Arguments, Command};

use crate::datasets::Catalogue;
use crate::engine::Display;
use crate::error::{Error, Result};
use crate::registry::Kinds;

/// Runs a command with the given kinds of experiments and figures.
///
/// Experiments run on the tables of the catalogue.
///
/// # Errors
/// Returns the error of the first step that failed. [`Error::exit_code`] is the exit code of the
/// process.
pub fn execute(
    arguments: &Arguments,
    kinds: &Kinds,
    catalogue: &Catalogue,
    display: &Display,
) -> Result<()> {
    let root = arguments.root.as_path();
    match &arguments.command {
        Command::List { profile } => list::list(root, kinds, *profile),
        Command::Run { configs, profile, only, shard, jobs, fresh, same_code, no_stand_ins } => {
            let options = &arguments::run_options(*jobs, only, *shard, *fresh, *same_code);
            let (profile, stand_ins) = (*profile, !no_stand_ins);
            let setting =
                run::Setting { root, kinds, catalogue, profile, options, display, stand_ins };
            run::run(configs, setting)
        }
        Command::All { part, profile, jobs, fresh, same_code, no_stand_ins } => {
            let options = &arguments::run_options(*jobs, &[], None, *fresh, *same_code);
            let (profile, stand_ins) = (*profile, !no_stand_ins);
            let setting =
                run::Setting { root, kinds, catalogue, profile, options, display, stand_ins };
            run::all(*part, setting)
        }
        Command::Compare { profile } => {
            let configs = steps::with_results(root, steps::configs(root, kinds)?, *profile);
            steps::compare(root, &configs, kinds, *profile)
        }
        Command::Figures { profile } => {
            let configs = steps::with_results(root, steps::configs(root, kinds)?, *profile);
            steps::figures(root, &configs, kinds, *profile)
        }
        Command::Diff { first, second, costs_within } => {
            diff::diff(first, second, *costs_within, kinds)
        }
        Command::Pages => pages::pages(root, kinds),
        Command::Verify { profile, proofs } => {
            verify::verify(root, kinds, catalogue, *profile, *proofs)
        }
        Command::Data { names } => data::data(root, names),
    }
}

/// Prints the error of a command on standard error.
pub fn report_error(error: &Error) {
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(io::stderr(), "error: {error}");
}

/// Prints a line of output. A closed pipe (`| head`) is not an error.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
