//! The stored rows of selected cells, as a table.

use std::path::Path;

use super::experiment_plan::ExperimentPlan;
use super::results::table;
use super::store::{CellRecord, Store};
use crate::error::{Error, Result};
use crate::table::Table;

/// Returns the rows of the stored cells whose address contains one of the keys.
///
/// # Errors
/// A damaged stored cell.
pub fn selected_rows(root: &Path, plan: ExperimentPlan<'_>, only: &[String]) -> Result<Table> {
    let name = plan.config.experiment.clone();
    let store = Store::new(root, &name);
    let mut records: Vec<CellRecord> = Vec::new();
    let mut cells = Vec::new();
    let ExperimentPlan { config, experiment, profile, cells: all } = plan;
    let is_selected = |address: &str| only.iter().any(|key| address.contains(key));
    for cell in all.into_iter().filter(|cell| is_selected(&cell.address)) {
        if let Some(record) = store.read(&cell)? {
            records.push(record);
            cells.push(cell);
        }
    }
    let plan = ExperimentPlan { config, experiment, profile, cells };
    let records: Vec<&CellRecord> = records.iter().collect();
    let text = table(&plan, &records)
        .map_err(|error| Error::bug("rows of cells", "text in memory", error))?;
    Table::of_csv(&text, &name)
}
