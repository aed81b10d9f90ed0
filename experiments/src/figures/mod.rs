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
use crate::engine::{Kept, write_atomically};
use crate::layout::{Results, shown};

/// Draws every figure of the configs into the folder of the profile and returns the files.
///
/// A figure none of whose rows the profile `quick` computes is left out; under the other profiles that is an error.
/// The same table gives the same bytes. Where a table on real data was kept, its figures are drawn as always, and those of this
/// machine's own results beside them.
///
/// # Errors
/// Result tables that are missing or do not fit their figures ([`InputErrors`] has all of them), after everything
/// else has been drawn; a file that cannot be written.
pub fn draw_all(root: &Path, configs: &[Config], profile: Profile) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    let usual = Results::new(root, profile);
    for config in configs.iter().filter(|config| !config.figure.is_empty()) {
        let kept = Kept::by_an_earlier_run(root, config, profile);
        let places = [Some(usual), kept.map(|_| usual.on_stand_ins())];
        for place in places.into_iter().flatten() {
            let drawing = Drawing { root, config, profile, place };
            files.extend(drawing.all(&mut errors)?);
        }
        if places[1].is_none() {
            remove(config, usual.on_stand_ins())?;
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(InputErrors(errors).into()) }
}

/// The drawing of the figures of one table.
struct Drawing<'d> {
    root: &'d Path,
    config: &'d Config,
    profile: Profile,
    place: Results<'d>,
}

impl Drawing<'_> {
    /// Draws what can be drawn; what is wrong with the table is added to `errors`.
    fn all(&self, errors: &mut Vec<InputError>) -> anyhow::Result<Vec<PathBuf>> {
        let Self { root, config, profile, place } = *self;
        let table = match self.table() {
            Ok(table) => table,
            Err(error) => {
                errors.push(error);
                return Ok(Vec::new());
            }
        };
        let mut files = Vec::new();
        for spec in &config.figure {
            let spec = &labelled(spec, &table);
            match chart::chart(root, spec, &table) {
                Ok(Some(chart)) => files.extend(draw(spec, &chart, place)?),
                Ok(None) if profile == Profile::Quick => {}
                Ok(None) => errors.push(no_rows(config, spec, &table)),
                Err(error) => errors.push(error),
            }
        }
        Ok(files)
    }

    fn table(&self) -> Result<Table, InputError> {
        let path = self.place.table(&self.config.experiment);
        let remedy = format!("run `reproduce run configs/{}.toml --profile {}`", self.config.experiment, self.profile);
        Table::read(&path, &shown(self.root, &path), &remedy)
    }
}

/// Removes the figures of results that are no longer there.
fn remove(config: &Config, place: Results<'_>) -> anyhow::Result<()> {
    for file in config.figure.iter().flat_map(|spec| files(spec, place)).filter(|file| file.exists()) {
        std::fs::remove_file(&file).map_err(|error| {
            let remedy = "check the folder's permissions, or remove the file by hand";
            InputError::new(file.display().to_string(), "a file that can be removed", error.to_string(), remedy)
        })?;
    }
    Ok(())
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

fn no_rows(config: &Config, spec: &FigureSpec, table: &Table) -> InputError {
    InputError::new(
        table.file(),
        format!("rows with metric \"{}\" and {:?} for figure \"{}\"", spec.y, spec.filter, spec.file),
        "none",
        format!("correct `y` or `where` in configs/{}.toml, or run the experiment again", config.experiment),
    )
}

/// The two files of a figure.
fn files(spec: &FigureSpec, place: Results<'_>) -> [PathBuf; 2] {
    ["svg", "png"].map(|extension| place.figures().join(format!("{}.{extension}", spec.file)))
}

fn draw(spec: &FigureSpec, chart: &chart::Chart, place: Results<'_>) -> anyhow::Result<[PathBuf; 2]> {
    let files = files(spec, place);
    for (file, bytes) in files.iter().zip([output::svg(spec, chart)?.into_bytes(), output::png(spec, chart)?]) {
        write_atomically(file, &bytes).map_err(|error| {
            let remedy = "check the folder's permissions and the free space";
            InputError::new(file.display().to_string(), "a file that can be written", error.to_string(), remedy)
        })?;
    }
    Ok(files)
}
