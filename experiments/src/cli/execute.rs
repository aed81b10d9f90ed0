//! The command that the arguments name.

use super::arguments::{self, Arguments, Command};
use super::{data, diff, list, pages, run, steps, verify};
use crate::datasets::Catalogue;
use crate::engine::Display;
use crate::error::Result;
use crate::registry::Kinds;

/// Runs a command with the given kinds of experiments and figures.
///
/// Experiments run on the tables of the catalogue.
///
/// # Errors
/// Returns the error of the first step that failed.
/// [`Error::exit_code`](crate::error::Error::exit_code) is the exit code of the process.
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
            steps::derive(root, &configs, *profile)?;
            steps::compare(root, &configs, kinds, *profile)
        }
        Command::Figures { profile } => {
            let configs = steps::with_results(root, steps::configs(root, kinds)?, *profile);
            steps::derive(root, &configs, *profile)?;
            steps::figures(root, &configs, kinds, *profile)
        }
        Command::Diff { first, second, costs_within } => {
            diff::diff(first, second, *costs_within, kinds)
        }
        Command::Pages => pages::pages(root, kinds),
        Command::Verify { pages: true, .. } => verify::pages(root, kinds),
        Command::Verify { profile, proofs, .. } => {
            verify::verify(root, kinds, catalogue, *profile, *proofs)
        }
        Command::Data { names } => data::data(root, names),
    }
}
