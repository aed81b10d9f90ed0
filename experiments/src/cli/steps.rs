//! Steps that several commands share, and lines of output.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use tracing::warn;

use crate::config::{self, Config, Part, Profile};
use crate::datasets::Catalogue;
use crate::engine::{ExperimentPlan, lacks_data};
use crate::error::{Error, FileRole, Result, near};
use crate::experiment::Experiment;
use crate::figures::Figure;
use crate::layout::Results;
use crate::registry::Kinds;
use crate::{compare as comparison, derive, figures as drawing, pages};

/// Loads every config below the root and checks its figures.
pub(super) fn configs(root: &Path, kinds: &Kinds) -> Result<Vec<Config>> {
    let configs = config::load_all(root)?;
    configs.iter().try_for_each(|config| check_figures(config, kinds))?;
    Ok(configs)
}

/// Loads what can be drawn of every config below the root, and returns the errors of the rest.
pub(super) fn drawable(root: &Path, profile: Profile) -> Result<(Vec<Config>, Vec<Error>)> {
    let (configs, refused) = config::load_usable(root)?;
    Ok((with_results(root, configs, profile), refused))
}

/// Returns the configs without those beyond the papers that have no results, so that the papers can
/// be reproduced alone.
pub(super) fn with_results(root: &Path, configs: Vec<Config>, profile: Profile) -> Vec<Config> {
    let has_table =
        |config: &Config| Results::new(root, profile).table(&config.experiment).is_file();
    configs.into_iter().filter(|c| c.part() == Part::Papers || has_table(c)).collect()
}

/// Loads one config and checks its figures.
pub(super) fn config(root: &Path, name: &str, kinds: &Kinds) -> Result<Config> {
    let config = config::load(&config::find(root, name)?)?;
    check_figures(&config, kinds)?;
    Ok(config)
}

fn check_figures(config: &Config, kinds: &Kinds) -> Result<()> {
    Figure::all_of(config, &kinds.figures).map(|_| ())
}

/// Plans each config.
pub(super) fn plans<'a>(
    configs: &'a [Config],
    experiments: &'a [Box<dyn Experiment>],
    profile: Profile,
) -> Result<Vec<ExperimentPlan<'a>>> {
    configs.iter().map(|config| ExperimentPlan::new(config, experiments, profile)).collect()
}

/// Downloads missing tables, then plans each config.
///
/// Tables that cannot be downloaded are replaced by stand-ins.
pub(super) fn plans_with_data<'a>(
    configs: &'a [Config],
    experiments: &'a [Box<dyn Experiment>],
    catalogue: &Catalogue,
    profile: Profile,
) -> Result<Vec<ExperimentPlan<'a>>> {
    let planned = plans(configs, experiments, profile)?;
    let missing: BTreeSet<String> =
        planned.iter().flat_map(ExperimentPlan::stand_ins).map(|data| data.name.clone()).collect();
    if missing.is_empty() {
        return Ok(planned);
    }
    let (fetched, problem) = catalogue.fetch(&Vec::from_iter(missing));
    if let Some(problem) = problem {
        warn!(
            "a data set is not available; its stand-in is used\n\
             {problem}"
        );
    }
    if fetched { plans(configs, experiments, profile) } else { Ok(planned) }
}

/// Returns the plans on real tables, and an error for each missing table of the others.
pub(super) fn on_real_tables<'a>(
    plans: Vec<ExperimentPlan<'a>>,
    catalogue: &Catalogue,
) -> (Vec<ExperimentPlan<'a>>, Result<()>) {
    let (ready, missing): (Vec<_>, Vec<_>) =
        plans.into_iter().partition(|plan| plan.stand_ins().next().is_none());
    let mut errors = Vec::new();
    for plan in missing {
        for data in plan.stand_ins() {
            let expected =
                format!("the table {} of the experiment {}", data.name, plan.config.experiment);
            let remedy = "put the file there or into the folder MATMECH_DATA (see data/README.md \
                          for its contents), or run without --no-stand-ins";
            errors.push(Error::file(
                FileRole::DataSet,
                catalogue.place_of(&data.name),
                expected,
                "no such file",
                remedy,
            ));
        }
    }
    (ready, Error::all(errors))
}

/// Writes the derived rows of all tables, since a config can have changed after its run.
pub(super) fn derive(root: &Path, configs: &[Config], profile: Profile) -> Result<()> {
    let mut errors = Vec::new();
    for config in configs {
        let results = Results::new(root, profile);
        let folders = [results, results.on_stand_ins()].into_iter();
        let folders = folders.filter(|folder| folder.table(&config.experiment).is_file());
        errors.extend(folders.filter_map(|folder| derive::write(folder, config).err()));
    }
    Error::all(errors)
}

/// Returns the configs with the figures that ids of experiments or figures select; all without ids.
///
/// # Errors
/// An id of neither.
pub(super) fn with_figures(mut configs: Vec<Config>, ids: &[String]) -> Result<Vec<Config>> {
    if ids.is_empty() {
        return Ok(configs);
    }
    let names = |config: &Config| {
        let figures = config.figure.iter().map(|figure| figure.file.clone());
        figures.chain([config.experiment.clone()]).collect::<Vec<String>>()
    };
    let known: Vec<String> = configs.iter().flat_map(names).collect();
    for id in ids {
        if !known.contains(id) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(Error::Usage {
                option: "<ID>",
                expected: "the id of an experiment or of a figure".to_owned(),
                found: format!("\"{id}\""),
                remedy: format!("write one of: {}", near(id, &known, 5).join(", ")),
            });
        }
    }
    for config in &mut configs {
        if !ids.contains(&config.experiment) {
            config.figure.retain(|figure| ids.contains(&figure.file));
        }
    }
    configs.retain(|config| !config.figure.is_empty());
    Ok(configs)
}

/// Compares results with published values and prints the summary.
pub(super) fn compare(
    root: &Path,
    configs: &[Config],
    kinds: &Kinds,
    profile: Profile,
) -> Result<()> {
    let report = comparison::run(root, configs, &kinds.experiments, profile)?;
    let mut summary = Vec::new();
    report
        .write_summary(&mut summary)
        .map_err(|error| Error::bug("the summary of the comparison", "text in memory", error))?;
    say(String::from_utf8_lossy(&summary).trim_end());
    if profile == Profile::Standard {
        pages::write(root)?;
    }
    match report.findings.len() {
        0 => Ok(()),
        failures => Err(Error::Comparison { failures, report: report.markdown }),
    }
}

/// Draws the figures and prints their files.
///
/// Experiments without a table whose data this machine lacks are skipped.
pub(super) fn figures(
    root: &Path,
    configs: &[Config],
    kinds: &Kinds,
    profile: Profile,
) -> Result<()> {
    let on_stand_ins = Results::new(root, profile).on_stand_ins();
    let can_be_drawn = |config: &&Config| {
        on_stand_ins.table(&config.experiment).is_file()
            || !lacks_data(root, config, &kinds.experiments, profile)
    };
    let configs: Vec<Config> = configs.iter().filter(can_be_drawn).cloned().collect();
    for file in drawing::draw_all(root, &configs, &kinds.figures, profile)? {
        say(&format!("drawn {}", file.display()));
    }
    Ok(())
}

/// Prints the error of a command on standard error.
pub fn report_error(error: &Error) {
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(io::stderr(), "error: {error}");
}

/// Prints a line of output. A closed pipe (`| head`) is not an error.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
