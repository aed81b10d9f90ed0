//! The steps that several commands share.

use std::collections::BTreeSet;
use std::path::Path;

use tracing::warn;

use super::say;
use crate::config::{self, Config, ConfigError, Profile};
use crate::datasets::Catalogue;
use crate::engine::Plan;
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::{compare as comparison, figures as drawing};

/// Every config below the root.
pub(super) fn configs(root: &Path) -> Result<Vec<Config>, Failure> {
    Ok(config::load_all(root)?)
}

/// A plan for each config.
pub(super) fn plans<'a>(
    configs: &'a [Config],
    experiments: &'a [Box<dyn Experiment>],
    profile: Profile,
) -> Result<Vec<Plan<'a>>, ConfigError> {
    configs.iter().map(|config| Plan::new(config, experiments, profile)).collect()
}

/// The kinds of experiments, and the tables that they run on.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    pub(super) experiments: &'a [Box<dyn Experiment>],
    pub(super) catalogue: &'a Catalogue,
}

/// A plan for each config, after an attempt to download the tables that they need and that are not here. Without network
/// the stand-ins are used.
pub(super) fn plans_with_data<'a>(
    configs: &'a [Config],
    kinds: Kinds<'a>,
    profile: Profile,
) -> Result<Vec<Plan<'a>>, ConfigError> {
    let planned = plans(configs, kinds.experiments, profile)?;
    let missing: BTreeSet<String> =
        planned.iter().flat_map(Plan::data).filter(|data| !data.real).map(|data| data.name.clone()).collect();
    if missing.is_empty() {
        return Ok(planned);
    }
    let (fetched, problem) = kinds.catalogue.fetch(&Vec::from_iter(missing));
    if let Some(problem) = problem {
        warn!("a data set is not available; its stand-in is used, and the results are labelled\n{problem}");
    }
    if fetched { plans(configs, kinds.experiments, profile) } else { Ok(planned) }
}

/// Compares and prints the summary.
pub(super) fn compare(root: &Path, configs: &[Config], profile: Profile) -> Result<(), Failure> {
    let report = comparison::run(root, configs, profile).map_err(Failure::Other)?;
    let mut summary = Vec::new();
    report.write_summary(&mut summary).map_err(|error| Failure::Other(error.into()))?;
    say(String::from_utf8_lossy(&summary).trim_end());
    match report.failures() {
        0 => Ok(()),
        failures => Err(Failure::Comparison(format!(
            "{failures} things to put right; all of them are in {}",
            report.markdown.display()
        ))),
    }
}

/// Draws and prints the files.
pub(super) fn figures(root: &Path, configs: &[Config], profile: Profile) -> Result<(), Failure> {
    for file in drawing::draw_all(root, configs, profile).map_err(Failure::Other)? {
        say(&format!("drawn {}", file.display()));
    }
    Ok(())
}
