//! Expected times of cells, by which the longest start first.

use std::collections::HashMap;
use std::path::Path;

use super::experiment_plan::ExperimentPlan;
use crate::columns;
use crate::config::Profile;
use crate::layout::Results;
use crate::table::Table;

/// Number of cores for which configs state their expected time.
const CORES: f64 = 2.0;

/// Returns the expected time of every cell in seconds, in grid order.
///
/// It is the largest time in the rows of the cell in the result table of the last run, the mean of
/// that table for a new cell, and without a table an equal share of the expected time of the config.
pub(super) fn cell_costs(root: &Path, plan: &ExperimentPlan<'_>) -> Vec<f64> {
    let experiment = &plan.config.experiment;
    let mut known: HashMap<String, f64> = HashMap::new();
    let files = [Results::new(root, Profile::Standard), plan.results(root)]
        .map(|folder| folder.table(experiment));
    for file in files {
        let Ok(table) = Table::read(&file, experiment, "run the experiment") else { continue };
        let mut of_table: HashMap<String, f64> = HashMap::new();
        for row in 0..table.len() {
            if let Some(seconds) = table.number(columns::SECONDS, row) {
                let cost = of_table.entry(table.field(columns::CELL, row).to_owned()).or_default();
                *cost = cost.max(seconds);
            }
        }
        known.extend(of_table);
    }
    let other = if known.is_empty() {
        CORES * plan.config.expected(plan.profile).0 / plan.cells.len().max(1) as f64
    } else {
        known.values().sum::<f64>() / known.len() as f64
    };
    plan.cells.iter().map(|cell| known.get(&cell.address).copied().unwrap_or(other)).collect()
}
