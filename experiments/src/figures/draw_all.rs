//! The figures of all configs.

use std::path::{Path, PathBuf};

use super::kind::{Figure, FigureKind};
use super::workload_columns::with_workload_columns;
use super::{chart, output};
use crate::config::{Config, FigureSpec, Profile};
use crate::derive;
use crate::error::{Error, FileRole, Result};
use crate::files::write_atomically;
use crate::layout::Results;
use crate::table::Table;

/// Draws every figure of the configs into the folder of the profile and returns the files.
///
/// A figure without rows is omitted under the profile `quick`, and an error otherwise. The same
/// table gives the same bytes. Figures of results on stand-ins have a separate folder.
///
/// # Errors
/// Figures that their kind refuses, result tables that are missing or do not fit their figures: all
/// are reported, after the other figures are drawn. A file that cannot be written.
pub fn draw_all(
    root: &Path,
    configs: &[Config],
    kinds: &[Box<dyn FigureKind>],
    profile: Profile,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for config in configs.iter().filter(|config| !config.figure.is_empty()) {
        let (figures, refused) = Figure::usable(config, kinds);
        errors.extend(refused);
        let results = Results::new(root, profile);
        let mut folders = vec![results, results.on_stand_ins()];
        folders.retain(|folder| folder.table(&config.experiment).is_file());
        if folders.is_empty() {
            folders.push(results);
        }
        for folder in folders {
            let drawing = Drawing { root, config, figures: &figures, profile, folder };
            files.extend(drawing.all(&mut errors)?);
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
        let table = derive::read(self.folder, self.config)
            .and_then(|table| with_workload_columns(table, self.config, self.figures));
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                errors.push(error);
                return Ok(Vec::new());
            }
        };
        let mut files = Vec::new();
        for figure in self.figures {
            let title = self.folder.figure_title(&figure.spec.title);
            let spec = FigureSpec { title, ..figure.spec.clone() };
            let figure = Figure { spec: &spec, ..*figure };
            let chart = chart::chart(self.root, &spec, figure.kind.form(), &table);
            let drawn = chart
                .and_then(|chart| chart.map(|chart| draw(figure, &chart, self.folder)).transpose());
            match drawn {
                Ok(Some(drawn)) => files.extend(drawn),
                Ok(None) if self.profile == Profile::Quick => {}
                Ok(None) => errors.push(no_rows(self.config, figure.spec, &table)),
                Err(error) => errors.push(error),
            }
        }
        Ok(files)
    }
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

/// Draws a figure as SVG and PNG.
fn draw(figure: Figure<'_>, chart: &chart::Chart, folder: Results<'_>) -> Result<[PathBuf; 2]> {
    let svg = output::svg(figure, chart)?;
    let png = output::png(&svg)?;
    let files = ["svg", "png"]
        .map(|extension| folder.figures().join(format!("{}.{extension}", figure.spec.file)));
    for (file, bytes) in files.iter().zip([svg.into_bytes(), png]) {
        write_atomically(file, &bytes)
            .map_err(|error| Error::unwritable(FileRole::Figure, file, &error))?;
    }
    Ok(files)
}
