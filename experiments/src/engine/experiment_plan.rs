//! Expands a config into its list of cells.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use matmech::named_file::relative_to;

use super::address::{cell_address, inputs_hash};
use crate::columns;
use crate::config::{Config, Profile};
use crate::datasets::DataUse;
use crate::error::{Error, Result};
use crate::experiment::{Cell, Experiment, kind_of};
use crate::layout::Results;

/// A cell with its address and the hash of its inputs.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// The cell.
    pub cell: Cell,
    /// Unique address, see [`cell_address`].
    pub address: String,
    /// Hash of the inputs, see [`inputs_hash`].
    pub inputs: String,
    /// The data set of the cell, if it needs one.
    pub data: Option<DataUse>,
}

/// A config under one profile, with its kind and its expanded grid.
#[derive(Debug)]
pub struct ExperimentPlan<'a> {
    /// The config.
    pub config: &'a Config,
    /// The experiment's kind.
    pub experiment: &'a dyn Experiment,
    /// The profile.
    pub profile: Profile,
    /// All cells in grid order, with distinct addresses.
    pub cells: Vec<PlannedCell>,
}

impl<'a> ExperimentPlan<'a> {
    /// Finds the kind and expands the grid of `profile`.
    ///
    /// The grids of the other profiles are checked too.
    ///
    /// # Errors
    /// An unknown kind, a grid that the kind refuses, an empty grid, duplicate addresses, or a
    /// value that cannot be part of an address.
    pub fn new(
        config: &'a Config,
        experiments: &'a [Box<dyn Experiment>],
        profile: Profile,
    ) -> Result<Self> {
        let experiment = kind_of(config, experiments)?;
        // The standard grid first: the other grids inherit its errors.
        let mut cells = expand(config, experiment, Profile::Standard)?;
        for other in [Profile::Quick, Profile::Paper] {
            let expanded = expand(config, experiment, other)?;
            if other == profile {
                cells = expanded;
            }
        }
        Ok(Self { config, experiment, profile, cells })
    }

    /// Returns the data sets of the cells, by name.
    #[must_use]
    pub fn data(&self) -> Vec<&DataUse> {
        let by_name: BTreeMap<&str, &DataUse> = self
            .cells
            .iter()
            .filter_map(|cell| cell.data.as_ref())
            .map(|data| (data.name.as_str(), data))
            .collect();
        by_name.into_values().collect()
    }

    /// Returns the data sets that are stand-ins, by name.
    pub fn stand_ins(&self) -> impl Iterator<Item = &DataUse> {
        self.data().into_iter().filter(|data| data.is_stand_in())
    }

    /// Returns where a run writes its results: the default folders, or those of results on
    /// stand-ins.
    #[must_use]
    pub fn results<'r>(&self, root: &'r Path) -> Results<'r> {
        let results = Results::new(root, self.profile);
        if self.stand_ins().next().is_some() { results.on_stand_ins() } else { results }
    }
}

/// Returns whether an experiment has no result table and this machine lacks its data.
#[must_use]
pub fn lacks_data(
    root: &Path,
    config: &Config,
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
) -> bool {
    !Results::new(root, profile).table(&config.experiment).is_file()
        && ExperimentPlan::new(config, experiments, profile)
            .is_ok_and(|plan| plan.stand_ins().next().is_some())
}

/// Expands and checks the grid of a profile.
fn expand(
    config: &Config,
    experiment: &dyn Experiment,
    profile: Profile,
) -> Result<Vec<PlannedCell>> {
    let complete = |error| config.grid_error(profile, error);
    let cells = relative_to(config.folder(), || experiment.cells(&config.grid(profile)));
    let cells = cells.map_err(complete)?;
    if cells.is_empty() {
        return Err(complete(Error::config(
            "",
            "a grid with at least one cell",
            "an empty grid",
            "add at least one entry to every list of the grid",
        )));
    }
    let mut addresses = HashSet::new();
    let mut planned = Vec::with_capacity(cells.len());
    for cell in cells {
        check_columns(experiment, &cell).map_err(complete)?;
        let address = cell_address(&config.experiment, &cell);
        if !addresses.insert(address.clone()) {
            return Err(complete(Error::config(
                "",
                "cells with distinct addresses",
                format!("two cells {address}"),
                "remove the value that is listed twice",
            )));
        }
        let texts = serde_json::json!([cell.key, cell.method, cell.params]);
        let inputs = inputs_hash(
            &config.experiment,
            experiment.kind(),
            experiment.revision(),
            &address,
            &cell.params,
            config.seed,
            &config.named_files(&texts),
        );
        let data = check_data(&cell).map_err(complete)?;
        planned.push(PlannedCell { cell, address, inputs, data });
    }
    Ok(planned)
}

/// Checks that a cell fills the key columns of its kind with values that are valid in an address.
fn check_columns(experiment: &dyn Experiment, cell: &Cell) -> Result<()> {
    let declared = experiment.key_columns();
    let filled: Vec<&str> = cell.key.iter().map(|(column, _)| column.as_str()).collect();
    if filled != declared || declared.iter().any(|column| columns::is_fixed(column)) {
        return Err(Error::config(
            "",
            format!(
                "cells that fill the columns {declared:?} of kind \"{}\", none of them a fixed \
                 column",
                experiment.kind()
            ),
            format!("a cell with {filled:?}"),
            "fix `cells` or `key_columns` of this kind; the config is correct",
        ));
    }
    let values = cell.key.iter().map(|(column, value)| (column.as_str(), value));
    for (column, value) in values.chain([(columns::METHOD, &cell.method)]) {
        if value.is_empty() || value.contains('/') || value.chars().any(char::is_control) {
            return Err(Error::config(
                "",
                format!(
                    "a value of {column} that is valid in a cell's address: not empty, without '/' \
                     or control characters"
                ),
                format!("{value:?}"),
                "use other characters",
            ));
        }
    }
    Ok(())
}

/// Checks that the key column `data` of a cell is the label of its data set, real or stand-in.
fn check_data(cell: &Cell) -> Result<Option<DataUse>> {
    let column = cell
        .key
        .iter()
        .find(|(column, _)| column == columns::DATA)
        .map(|(_, value)| value.as_str());
    let data = cell.data().map_err(|error| error.to_string());
    match (&data, column) {
        (Ok(Some(data)), Some(label)) if label == data.label() => {}
        (Ok(None), None) => {}
        _ => {
            return Err(Error::config(
                "",
                "cells whose params have their data set as `data`, and whose key column `data` is \
                 its label",
                format!("the table {data:?} and the column {column:?}"),
                "fix `cells` of this kind; the config is correct",
            ));
        }
    }
    Ok(data.unwrap_or_default())
}
