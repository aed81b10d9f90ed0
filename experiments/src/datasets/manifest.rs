//! `data/manifest.toml`: the data sets with source, licence and SHA-256.

use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::config;
use crate::error::{Document, Error, Result};
use crate::layout;

/// A data set: one file, identified by its SHA-256.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Name on the command line.
    pub name: String,
    /// Path relative to the folder of data sets.
    pub file: String,
    /// URL of the download; `None` for a file that exists in the project only.
    pub url: Option<String>,
    /// SHA-256 of the file in hex.
    pub sha256: String,
    /// Licence or terms of use.
    pub licence: String,
    /// Publisher, and how to get the file manually.
    pub source: String,
    /// Whether the reproduction needs it; otherwise a stand-in replaces a missing file.
    pub required: bool,
}

/// The list of data sets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The data sets, in the order of the file.
    #[serde(default)]
    pub dataset: Vec<Dataset>,
}

impl Manifest {
    /// Reads `<root>/data/manifest.toml`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid manifest.
    pub fn load(root: &Path) -> Result<Self> {
        let file = layout::data_manifest(root);
        let text = fs::read_to_string(&file).map_err(|error| {
            Error::config(
                "",
                "the list of data sets",
                error.to_string(),
                "run in the folder that contains data/, or name it with --root",
            )
            .in_document(Document::Manifest, &file)
        })?;
        Self::parse(&text).map_err(|error| error.in_document(Document::Manifest, &file))
    }

    /// Parses the text of a manifest.
    ///
    /// # Errors
    /// Returns an error if a key is unknown, missing or of the wrong type, two data sets have one
    /// name, a file is outside the folder of data sets, or a SHA-256 is invalid.
    pub fn parse(text: &str) -> Result<Self> {
        let manifest: Self = config::read(text)?;
        manifest.check().map_err(|error| error.on_line(|key| config::line_of(text, key)))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        for (index, dataset) in self.dataset.iter().enumerate() {
            let name = &dataset.name;
            let key = |key: &str| format!("dataset[{index}].{key}");
            if self.dataset[..index].iter().any(|earlier| earlier.name == *name) {
                let found = format!("\"{name}\" twice");
                return Err(Error::config(
                    key("name"),
                    "unique names",
                    found,
                    "rename one of the two",
                ));
            }
            let inside = |part| matches!(part, Component::Normal(_));
            if dataset.file.is_empty() || !Path::new(&dataset.file).components().all(inside) {
                return Err(Error::config(
                    key("file"),
                    format!("a file name below the folder of data sets, for {name}"),
                    format!("\"{}\"", dataset.file),
                    "write a relative path without `..`",
                ));
            }
            if dataset.sha256.len() != 64 || !dataset.sha256.chars().all(|c| c.is_ascii_hexdigit())
            {
                return Err(Error::config(
                    key("sha256"),
                    format!("64 hexadecimal digits, for {name}"),
                    format!("\"{}\"", dataset.sha256),
                    "write the output of `sha256sum` for the file",
                ));
            }
        }
        Ok(())
    }

    /// Returns the data sets with these names; all if there are no names.
    ///
    /// # Errors
    /// Returns an error if a name is not in the manifest.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Dataset>> {
        if names.is_empty() {
            return Ok(self.dataset.iter().collect());
        }
        names
            .iter()
            .map(|name| {
                self.dataset.iter().find(|dataset| dataset.name == *name).ok_or_else(|| {
                    let known: Vec<&str> =
                        self.dataset.iter().map(|dataset| dataset.name.as_str()).collect();
                    Error::unknown_name("NAME", "data set", name, &known)
                        .in_document(Document::Manifest, Path::new("data/manifest.toml"))
                })
            })
            .collect()
    }
}
