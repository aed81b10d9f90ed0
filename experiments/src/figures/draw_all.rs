//! The figures of all configs.

use std::path::{Path, PathBuf};

use super::kind::{Figure, FigureKind};
use super::{chart, output};
use crate::atomic::write_atomically;
use crate::columns;
use crate::config::{Config, FigureSpec, Profile};
use crate::datasets::STAND_IN;
use crate::derive;
use crate::engine::Placement;
use crate::error::{Error, FileRole, Result};
use crate::layout::Results;
use crate::table::Table;

/// Draws every figure of the configs into the folder of the profile and returns the files.
///
/// A figure without rows is omitted under the profile `quick`, and an error otherwise. The same
/// table gives the same bytes. If a table on real data was kept, its figures are drawn as usual,
/// and the figures of this machine's results go to the folder of results on stand-ins.
///
/// # Errors
/// Figures that their kind refuses; result tables that are missing or do not fit their figures (all
/// are reported, after the other figures are drawn); a file that cannot be written.
pub fn draw_all(
    root: &Path,
    configs: &[Config],
    kinds: &[Box<dyn FigureKind>],
    profile: Profile,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for config in configs.iter().filter(|config| !config.figure.is_empty()) {
        let figures = Figure::all_of(config, kinds)?;
        let placement = Placement::of_latest_run(root, config, profile);
        for folder in placement.used() {
            let drawing = Drawing { root, config, figures: &figures, profile, folder };
            files.extend(drawing.all(&mut errors)?);
        }
        if let Some(unused) = placement.unused() {
            remove(config, unused)?;
        }
    }
    Error::all(errors)?;
    Ok(files)
}

/// Draws the figures of one table.
struct Drawing<'d> {
    root: &'d Path,
    config: &'d Config,
    figures: &'d [Figure<'d>],
    profile: Profile,
    folder: Results<'d>,
}

impl Drawing<'_> {
    /// Draws the figures and returns their files; problems of the table are added to `errors`.
    fn all(&self, errors: &mut Vec<Error>) -> Result<Vec<PathBuf>> {
        let table = match derive::read(self.folder, self.config) {
            Ok(table) => table,
            Err(error) => {
                errors.push(error);
                return Ok(Vec::new());
            }
        };
        let mut files = Vec::new();
        for figure in self.figures {
            let chart = labelled(figure.spec, &table).and_then(|spec| {
                let figure = Figure { spec: &spec, ..*figure };
                let chart = chart::chart(self.root, &spec, figure.kind.form(), &table)?;
                chart.map(|chart| draw(figure, &chart, self.folder)).transpose()
            });
            match chart {
                Ok(Some(drawn)) => files.extend(drawn),
                Ok(None) if self.profile == Profile::Quick => {}
                Ok(None) => errors.push(no_rows(self.config, figure.spec, &table)),
                Err(error) => errors.push(error),
            }
        }
        Ok(files)
    }
}

/// Removes the figures of a config from a folder.
fn remove(config: &Config, folder: Results<'_>) -> Result<()> {
    for file in
        config.figure.iter().flat_map(|spec| files(spec, folder)).filter(|file| file.exists())
    {
        std::fs::remove_file(&file).map_err(|error| {
            let remedy = "check the folder's permissions, or remove the file manually";
            Error::file(FileRole::Figure, &file, "a file that can be removed", error, remedy)
        })?;
    }
    Ok(())
}

/// Adds a note to the title if the drawn rows are on stand-ins.
fn labelled(spec: &FigureSpec, table: &Table) -> Result<FigureSpec> {
    let drawn = table.filtered(&spec.filter, "where")?.with(columns::METRIC, &spec.y)?;
    let on_stand_ins = drawn.with(columns::DATA, STAND_IN)?;
    let note = match (on_stand_ins.len(), drawn.len()) {
        (0, _) => "",
        (some, all) if some < all && chart::panels_are_labelled(spec, &drawn) => "",
        (some, all) if some < all => " (partly stand-in data)",
        _ => " (stand-in data)",
    };
    Ok(FigureSpec { title: format!("{}{note}", spec.title), ..spec.clone() })
}

fn no_rows(config: &Config, spec: &FigureSpec, table: &Table) -> Error {
    Error::file(
        FileRole::Input,
        table.name(),
        format!(
            "rows with metric \"{}\" and {:?} for figure \"{}\"",
            spec.y, spec.filter, spec.file
        ),
        "none",
        format!(
            "correct `y` or `where` in configs/{}.toml, or run the experiment again",
            config.experiment
        ),
    )
}

/// Returns the SVG and PNG files of a figure.
fn files(spec: &FigureSpec, folder: Results<'_>) -> [PathBuf; 2] {
    ["svg", "png"].map(|extension| folder.figures().join(format!("{}.{extension}", spec.file)))
}

/// Draws a figure as SVG and PNG.
fn draw(figure: Figure<'_>, chart: &chart::Chart, folder: Results<'_>) -> Result<[PathBuf; 2]> {
    let files = files(figure.spec, folder);
    for (file, bytes) in
        files.iter().zip([output::svg(figure, chart)?.into_bytes(), output::png(figure, chart)?])
    {
        write_atomically(file, &bytes)
            .map_err(|error| Error::unwritable(FileRole::Figure, file, &error))?;
    }
    Ok(files)
}
