//! `reproduce list`.

use std::path::Path;

use super::steps;
use super::steps::say;
use crate::config::Profile;
use crate::engine::ExperimentPlan;
use crate::error::Result;
use crate::printed::{duration, memory};
use crate::registry::Kinds;

/// Prints one line per experiment and a total.
pub(super) fn list(root: &Path, kinds: &Kinds, profile: Profile) -> Result<()> {
    let configs = steps::configs(root, kinds)?;
    let plans = steps::plans(&configs, &kinds.experiments, profile)?;
    let header =
        ["experiment", "kind", "cells", "time", "memory", "data", "reproduces"].map(str::to_owned);
    let mut lines = vec![header];
    lines.extend(plans.iter().map(line));
    let mut seconds = 0.0;
    let mut mb: f64 = 0.0;
    for config in &configs {
        let expected = config.expected(profile);
        seconds += expected.0;
        mb = mb.max(expected.1);
    }
    let cells: usize = plans.iter().map(|plan| plan.cells.len()).sum();
    lines.push([
        format!("total ({profile})"),
        String::new(),
        cells.to_string(),
        duration(seconds),
        memory(mb),
        String::new(),
        String::new(),
    ]);
    let widths: Vec<usize> = (0..7)
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    for line in &lines {
        let padded: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (text, &width))| match column {
                2..=4 => format!("{text:>width$}"),
                _ => format!("{text:<width$}"),
            })
            .collect();
        say(padded.join("  ").trim_end());
    }
    Ok(())
}

fn line(plan: &ExperimentPlan<'_>) -> [String; 7] {
    let (seconds, mb) = plan.config.expected(plan.profile);
    [
        plan.config.experiment.clone(),
        plan.config.kind.clone(),
        plan.cells.len().to_string(),
        duration(seconds),
        memory(mb),
        data(plan),
        format!("{}: {}", plan.config.reproduces, plan.config.title),
    ]
}

/// Returns the tables of the cells, each with `real` or `stand-in`.
fn data(plan: &ExperimentPlan<'_>) -> String {
    let tables: Vec<String> =
        plan.data().iter().map(|data| format!("{} ({})", data.name, data.label())).collect();
    if tables.is_empty() { "none".to_owned() } else { tables.join(", ") }
}
