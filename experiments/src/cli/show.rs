//! Single values on the terminal: `reproduce show`, and the cells of `reproduce run --only`.

use std::path::Path;

use super::steps::{self, say};
use crate::columns;
use crate::compare::report::Line;
use crate::compare::{self, Shown};
use crate::config::{Config, Profile};
use crate::datasets::Catalogue;
use crate::engine::selected_rows;
use crate::error::Result;
use crate::registry::Kinds;

/// Prints the value of an id.
pub(super) fn show(root: &Path, kinds: &Kinds, profile: Profile, id: &str) -> Result<()> {
    let configs = steps::with_results(root, steps::configs(root, kinds)?, profile);
    for Shown { experiment, line, explanation } in
        compare::show(root, &configs, &kinds.experiments, profile, id)?
    {
        say(&format!("{} ({}, {})", line.id, line.source, experiment));
        value(&line);
        if !line.lower_bound.is_empty() {
            say(&format!("  any matrix mechanism  {}", line.lower_bound));
        }
        say(&format!("  table        results/{experiment}.csv"));
        let only = if line.cell.is_empty() { String::new() } else { only(&line.cell) };
        say(&format!("  compute      reproduce run {experiment}{only}"));
        if let Some(explanation) = explanation {
            say(&format!("\n{explanation}"));
        }
    }
    Ok(())
}

/// Returns the option that selects a cell.
fn only(cell: &str) -> String {
    format!(" --only '{}'", cell.replace('\'', r"'\''"))
}

/// Prints the values of the cells that `--only` selects, with the known values of each.
pub(super) fn cells(
    root: &Path,
    kinds: &Kinds,
    catalogue: &Catalogue,
    profile: Profile,
    configs: &[Config],
    keys: &[String],
) -> Result<()> {
    let plans = steps::plans_with_data(configs, &kinds.experiments, catalogue, profile)?;
    for (plan, config) in plans.into_iter().zip(configs) {
        let table = selected_rows(root, plan, keys)?;
        let lines = compare::of_cells(root, config, &kinds.experiments, profile, &table)?;
        let mut cell = String::new();
        for row in 0..table.len() {
            let address = table.field(columns::CELL, row);
            if address != cell {
                address.clone_into(&mut cell);
                say(&cell);
                let prefix = format!("{}/", config.experiment);
                let of_cell = cell.strip_prefix(&prefix).unwrap_or(&cell);
                for line in lines.iter().filter(|line| line.cell == of_cell) {
                    say(&format!("  {} ({})", line.id, line.source));
                    value(line);
                }
            }
            let value = [columns::VALUE, columns::TEXT].map(|column| table.field(column, row));
            let bound = table.field(columns::LOWER_BOUND, row);
            let bound = if bound.is_empty() { "" } else { &format!("  (≥ {bound})") };
            say(&format!("    {} = {}{bound}", table.field(columns::METRIC, row), value.concat()));
        }
    }
    Ok(())
}

/// Prints both values and the verdict.
fn value(line: &Line) {
    let certificate = match line.certificate.as_str() {
        "" => String::new(),
        certificate => format!("  ({certificate})"),
    };
    say(&format!("  metric       {} of {}", line.metric, line.cell));
    say(&format!("  {:<12} {}", line.kind.name(), line.published));
    say(&format!("  here         {}{certificate}", line.ours));
    let reason = if line.reason.is_empty() { String::new() } else { format!(": {}", line.reason) };
    say(&format!("  verdict      {}{reason}", line.verdict.name()));
}
