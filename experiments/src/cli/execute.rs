//! The command that the arguments name, with the commands `diff`, `pages`, `verify` and `data`.

use std::path::Path;

use tracing::{info, warn};

use super::arguments::{self, Arguments, Command};
use super::steps::{self, say};
use super::{list, run, show};
use crate::config::Profile;
use crate::datasets::{Catalogue, Folders, Found, Manifest, locate, obtain};
use crate::difference::between;
use crate::engine::Display;
use crate::error::{Error, Result};
use crate::layout::shown;
use crate::pages;
use crate::registry::Kinds;
use crate::verify::{self, Verified};

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
        Command::Show { id, profile } => show::show(root, kinds, *profile, id),
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
        Command::Figures { ids, profile } => {
            let (configs, refused) = steps::drawable(root, *profile)?;
            // The id of a refused figure is unknown.
            let configs = match steps::with_figures(configs, ids) {
                Err(_) if !refused.is_empty() => return Error::all(refused),
                configs => configs?,
            };
            let derived = steps::derive(root, &configs, *profile);
            let drawn = steps::figures(root, &configs, kinds, *profile);
            run::first_error([Error::all(refused), derived, drawn])
        }
        Command::Diff { first, second, costs_within } => diff(first, second, *costs_within, kinds),
        Command::Pages => write_pages(root, kinds),
        Command::Verify { pages: true, .. } => verify_pages(root, kinds),
        Command::Verify { profile, proofs, .. } => {
            verify_results(root, kinds, catalogue, *profile, *proofs)
        }
        Command::Data { names } => data(root, names),
    }
}

/// Maximum number of differences that are printed.
const MAX_SHOWN: usize = 20;

/// Compares two folders of results and prints the differences.
fn diff(first: &Path, second: &Path, costs_within: Option<f64>, kinds: &Kinds) -> Result<()> {
    if let Some(factor) = costs_within.filter(|factor| !(*factor >= 1.0 && factor.is_finite())) {
        return Err(Error::Usage {
            option: "--costs-within",
            expected: "a factor of at least 1, such as 2".to_owned(),
            found: factor.to_string(),
            remedy: "write a number of at least 1, or omit the option".to_owned(),
        });
    }
    let is_timed =
        |metric: &str| kinds.experiments.iter().any(|kind| kind.cost_metrics().contains(&metric));
    let outcome = between(first, second, &is_timed, costs_within)?;
    for difference in outcome.differences.iter().take(MAX_SHOWN) {
        say(&difference.to_string());
    }
    if outcome.differences.len() > MAX_SHOWN {
        say(&format!("… and {} more", outcome.differences.len() - MAX_SHOWN));
    }
    say(&format!(
        "{} tables, {} rows, {} differences",
        outcome.tables,
        outcome.rows,
        outcome.differences.len()
    ));
    match outcome.differences.len() {
        0 => Ok(()),
        differences => Err(Error::Different { differences }),
    }
}

/// Writes the derived rows and the tables of pages that are made of results.
fn write_pages(root: &Path, kinds: &Kinds) -> Result<()> {
    steps::derive(root, &steps::configs(root, kinds)?, Profile::Standard)?;
    for page in pages::write(root)? {
        say(&format!("wrote {}", shown(root, &page)));
    }
    Ok(())
}

/// Checks results against their provenance and prints the findings.
fn verify_results(
    root: &Path,
    kinds: &Kinds,
    catalogue: &Catalogue,
    profile: Profile,
    proofs: bool,
) -> Result<()> {
    let configs = steps::configs(root, kinds)?;
    report(&verify::run(root, &configs, &kinds.experiments, catalogue, profile, proofs)?)
}

/// Checks pages and relations between values and prints the findings.
fn verify_pages(root: &Path, kinds: &Kinds) -> Result<()> {
    report(&verify::pages(root, &steps::configs(root, kinds)?))
}

fn report(verified: &Verified) -> Result<()> {
    say(&verified.to_string());
    match verified.findings.len() {
        0 => Ok(()),
        findings => Err(Error::Unverified { findings }),
    }
}

/// Finds or downloads data sets.
///
/// # Errors
/// Returns an error if a named data set is not available. Without names, only required data sets
/// must be available.
fn data(root: &Path, names: &[String]) -> Result<()> {
    let manifest = Manifest::load(root)?;
    let folders = Folders::of_process(root);
    let mut first = None;
    for dataset in manifest.select(names)? {
        if !matches!(locate(dataset, &folders), Ok(Some(_)) | Err(_)) {
            let from = dataset.url.as_deref().unwrap_or(&dataset.source);
            info!("downloading {} ({}) from {from}", dataset.name, dataset.licence);
        }
        match obtain(dataset, &folders) {
            Ok(found) => {
                let source = match &found {
                    Found::User(_) => "in your folder",
                    Found::Committed(_) => "in the project",
                    Found::Downloaded(_) => "downloaded",
                };
                say(&format!("{}: {source}, checked: {}", dataset.name, found.path().display()));
            }
            Err(problem) if names.is_empty() && !dataset.required => {
                warn!("{}: not available, the stand-in is used\n{problem}", dataset.name);
            }
            Err(problem) => {
                first = match first {
                    None => Some(problem),
                    Some(earlier) => {
                        warn!("{}: not available\n{problem}", dataset.name);
                        Some(earlier)
                    }
                };
            }
        }
    }
    first.map_or(Ok(()), Err)
}
