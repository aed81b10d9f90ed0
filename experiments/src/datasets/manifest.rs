//! `data/manifest.toml`: which data sets there are, where they come from, and how their files are
//! recognised.

use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::config;
use crate::error::{Document, Error, Result};
use crate::layout;

/// One data set: a file that is recognised by its SHA-256.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Name on the command line.
    pub name: String,
    /// File name in the folder of data sets, possibly with folders.
    pub file: String,
    /// Where it is fetched from.
    pub url: String,
    /// SHA-256 of the file in hex.
    pub sha256: String,
    /// Licence or terms of use.
    pub licence: String,
    /// Who published it and how to get it by hand.
    pub source: String,
    /// Whether something cannot be reproduced without it; otherwise a stand-in takes its place.
    pub required: bool,
}

/// All data sets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// In the order of the file.
    #[serde(default)]
    pub dataset: Vec<Dataset>,
}

impl Manifest {
    /// Reads `<root>/data/manifest.toml`.
    ///
    /// # Errors
    /// A file that cannot be read or is not a manifest.
    pub fn load(root: &Path) -> Result<Self> {
        let file = layout::data_manifest(root);
        let text = fs::read_to_string(&file).map_err(|error| {
            Error::config(
                "",
                "the list of data sets",
                error.to_string(),
                "run in the folder that holds data/, or name it with --root",
            )
            .in_document(Document::Manifest, &file)
        })?;
        Self::parse(&text).map_err(|error| error.in_document(Document::Manifest, &file))
    }

    /// Reads a manifest whose text is at hand.
    ///
    /// # Errors
    /// Unknown, missing or mistyped keys; two data sets of one name; a file outside the folder of
    /// data sets; what is not a SHA-256.
    pub fn parse(text: &str) -> Result<Self> {
        let manifest: Self = config::read(text)?;
        manifest.check().map_err(|error| error.on_line(|key| config::line_of(text, key)))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        for (place, dataset) in self.dataset.iter().enumerate() {
            let name = &dataset.name;
            let key = |key: &str| format!("dataset[{place}].{key}");
            if self.dataset[..place].iter().any(|earlier| earlier.name == *name) {
                let found = format!("\"{name}\" twice");
                return Err(Error::config(
                    key("name"),
                    "names that differ",
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
                    "write what `sha256sum` prints for the file",
                ));
            }
        }
        Ok(())
    }

    /// The data sets of these names, or all for no name.
    ///
    /// # Errors
    /// A name that is not in the manifest.
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
