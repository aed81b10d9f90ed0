//! Figures drawn from result tables, as SVG and PNG.
//!
//! ```text
//! results/…/*.csv ─▶ [chart] ─▶ [frame] (sizes, axes) ─▶ [draw] on a [canvas] ─▶ [output]: SVG and PNG
//! ```

mod axis;
mod canvas;
mod chart;
mod draw;
mod frame;
mod marks;
mod output;
mod theme;

use std::path::{Path, PathBuf};

pub use crate::config::{Aggregate, FigureKind, FigureSpec, PublishedOverlay, ReferenceLine};

use crate::compare::tables::Table;
use crate::compare::{InputError, InputErrors};
use crate::config::{Config, Profile};
use crate::datasets::STAND_IN;
use crate::engine::write_atomically;
use crate::layout;

/// Draws every figure of the configs into the folder of the profile and returns the files.
///
/// A figure none of whose rows the profile `quick` computes is left out; under the other profiles that is an error.
/// The same table gives the same bytes.
///
/// # Errors
/// Result tables that are missing or do not fit their figures ([`InputErrors`] has all of them), after everything
/// else has been drawn; a file that cannot be written.
pub fn draw_all(root: &Path, configs: &[Config], profile: Profile) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for config in configs.iter().filter(|config| !config.figure.is_empty()) {
        let table = match results(root, config, profile) {
            Ok(table) => table,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        for spec in &config.figure {
            let spec = &labelled(spec, &table);
            match chart::chart(root, spec, &table) {
                Ok(Some(chart)) => files.extend(draw(root, spec, &chart, profile)?),
                Ok(None) if profile == Profile::Quick => {}
                Ok(None) => errors.push(no_rows(config, spec, &table)),
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(InputErrors(errors).into()) }
}

/// The figure with a word on its data in the heading, if what it draws comes from stand-ins.
fn labelled(spec: &FigureSpec, table: &Table) -> FigureSpec {
    let rows = table.rows_where(&spec.filter, "where").unwrap_or_default();
    let drawn: Vec<bool> = rows
        .into_iter()
        .filter(|&row| table.field("metric", row) == spec.y)
        .map(|row| table.field("data", row) == STAND_IN)
        .collect();
    let note = match (drawn.contains(&true), drawn.contains(&false)) {
        (true, false) => " (stand-in data)",
        (true, true) => " (partly stand-in data)",
        (false, _) => "",
    };
    FigureSpec { title: format!("{}{note}", spec.title), ..spec.clone() }
}

fn results(root: &Path, config: &Config, profile: Profile) -> Result<Table, InputError> {
    let path = layout::results_csv(root, &config.experiment, profile);
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let remedy = format!("run `reproduce run configs/{}.toml --profile {profile}`", config.experiment);
    Table::read(&path, &name, &remedy)
}

fn no_rows(config: &Config, spec: &FigureSpec, table: &Table) -> InputError {
    InputError::new(
        table.file(),
        format!("rows with metric \"{}\" and {:?} for figure \"{}\"", spec.y, spec.filter, spec.file),
        "none",
        format!("correct `y` or `where` in configs/{}.toml, or run the experiment again", config.experiment),
    )
}

fn draw(root: &Path, spec: &FigureSpec, chart: &chart::Chart, profile: Profile) -> anyhow::Result<[PathBuf; 2]> {
    let folder = layout::figures_dir(root, profile);
    let files = ["svg", "png"].map(|extension| folder.join(format!("{}.{extension}", spec.file)));
    for (file, bytes) in files.iter().zip([output::svg(spec, chart)?.into_bytes(), output::png(spec, chart)?]) {
        write_atomically(file, &bytes).map_err(|error| {
            let remedy = "check the folder's permissions and the free space";
            InputError::new(file.display().to_string(), "a file that can be written", error.to_string(), remedy)
        })?;
    }
    Ok(files)
}
