//! Single values: that of an id, and those of some cells.

use std::path::Path;

use super::assemble::{self, Known};
use super::bands::Bands;
use super::deviations::Deviations;
use super::known;
use super::report::Line;
use crate::config::{Config, Profile};
use crate::derive;
use crate::error::{Error, Result, near};
use crate::experiment::Experiment;
use crate::layout::Results;
use crate::table::Table;

/// A known value with its experiment and explanation.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Experiment id.
    pub experiment: String,
    /// The judged value.
    pub line: Line,
    /// The section of `docs/deviations.md`, if it has one.
    pub explanation: Option<String>,
}

/// Returns the values with an id, one per experiment and metric that compares it.
///
/// Only the configs that select the id are compared.
///
/// # Errors
/// An unknown id (the message lists similar ones), or unusable files.
pub fn show(
    root: &Path,
    configs: &[Config],
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
    id: &str,
) -> Result<Vec<Shown>> {
    let deviations = Deviations::read(root)?;
    let bands = Bands::read(root)?;
    let known = Known { deviations: &deviations, bands: &bands };
    let (mut shown, mut ids) = (Vec::new(), Vec::new());
    for config in configs {
        let name = format!("configs/{}.toml", config.experiment);
        let mut selecting = config.clone();
        selecting.compare.clear();
        selecting.figure.clear();
        for spec in &config.compare {
            let (_, values) = known::read(root, spec, &name)?;
            if values.iter().any(|value| value.id == id) {
                selecting.compare.push(spec.clone());
            }
            ids.extend(values.into_iter().map(|value| value.id));
        }
        if selecting.compare.is_empty() {
            continue;
        }
        let results = Results::new(root, profile);
        if results.table(&config.experiment).is_file() {
            derive::write(results, config)?;
        }
        let lines = assemble::assemble(root, &[selecting], experiments, profile, known)?;
        let lines = lines.sections.into_iter().flat_map(|section| section.lines);
        shown.extend(lines.filter(|line| line.id == id).map(|line| Shown {
            experiment: config.experiment.clone(),
            explanation: deviations.explanation(&line.id),
            line,
        }));
    }
    if shown.is_empty() {
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let near = near(id, &names, 5);
        return Err(Error::Usage {
            option: "<ID>",
            expected: format!("the id of one of the {} known values", names.len()),
            found: format!("\"{id}\""),
            remedy: format!(
                "write an id of results/COMPARISON.md; similar ids are\n            {}",
                near.join("\n            ")
            ),
        });
    }
    Ok(shown)
}

/// Returns the known values of the cells in a table.
///
/// # Errors
/// Unusable files.
pub fn of_cells(
    root: &Path,
    config: &Config,
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
    table: &Table,
) -> Result<Vec<Line>> {
    let deviations = Deviations::read(root)?;
    let bands = Bands::read(root)?;
    let known = Known { deviations: &deviations, bands: &bands };
    // Values of derived rows, with columns of their own, need the whole table.
    let columns = table.columns();
    let mut config = config.clone();
    config.compare.retain(|spec| {
        let mut named = spec.rows.join.iter().chain(spec.rows.ours.keys());
        named.all(|column| columns.contains(&column.as_str()))
    });
    assemble::assemble_on(root, &config, experiments, profile, known, table)
}
