//! The columns `n` and `family` of figures, from workload strings.

use std::collections::BTreeMap;

use matmech::named_file::relative_to;
use matmech::workload::Workload;

use super::kind::Figure;
use crate::columns::{CELLS, FAMILY, WORKLOAD};
use crate::config::{Config, FigureSpec};
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// Adds the number of cells and the family of the column `workload`, each if a figure names the
/// column and the table does not have it.
///
/// # Errors
/// A workload that cannot be parsed, such as one in a file that is gone.
pub(super) fn with_workload_columns(
    table: Table,
    config: &Config,
    figures: &[Figure<'_>],
) -> Result<Table> {
    let columns = table.columns();
    let adds = |column: &str| {
        figures.iter().any(|figure| names(figure.spec, column)) && !columns.contains(&column)
    };
    let (adds_cells, adds_family) = (adds(CELLS), adds(FAMILY));
    if !columns.contains(&WORKLOAD) {
        return Ok(table);
    }
    let workloads: Vec<String> = table.fields(WORKLOAD).map(str::to_owned).collect();
    let mut table = table;
    if adds_cells {
        let cells = cells(table.name(), config, &workloads)?;
        table = table.with_column(CELLS, &cells)?;
    }
    if adds_family {
        let family = |workload: &String| {
            workload.split([':', '(']).next().unwrap_or_default().trim().to_owned()
        };
        table = table.with_column(FAMILY, &workloads.iter().map(family).collect::<Vec<_>>())?;
    }
    Ok(table)
}

/// Returns the number of cells of each workload; every distinct one is parsed once.
fn cells(table: &str, config: &Config, workloads: &[String]) -> Result<Vec<String>> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut cells = Vec::with_capacity(workloads.len());
    for workload in workloads {
        if !known.contains_key(workload.as_str()) {
            let parsed = relative_to(config.folder(), || Workload::parse(workload));
            let parsed = parsed.map_err(|error| {
                let expected = format!("workloads in column \"{WORKLOAD}\", for the column `n`");
                let remedy = "run the experiment again, or remove `n` from the figures";
                Error::file(FileRole::Input, table, expected, error, remedy)
            })?;
            known.insert(workload, parsed.cells().to_string());
        }
        cells.extend(known.get(workload.as_str()).cloned());
    }
    Ok(cells)
}

/// Returns whether a figure names a column.
fn names(spec: &FigureSpec, column: &str) -> bool {
    let named = [Some(&spec.x), spec.series.as_ref(), spec.panel.as_ref(), spec.shade.as_ref()];
    named.into_iter().flatten().any(|name| name == column) || spec.filter.contains_key(column)
}
