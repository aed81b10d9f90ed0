//! The folders in which data sets are looked for, and the check that a file is the right one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::manifest::Dataset;
use crate::error::{Error, FileRole, Result};
use crate::hash::sha256_of_file;
use crate::layout;

/// Name of the environment variable with the user's own folder of data sets.
pub const DATA_VARIABLE: &str = "MATMECH_DATA";

/// Folders in which data sets are looked for.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The user's own folder; never written.
    pub own: Option<PathBuf>,
    /// Where downloads go.
    pub downloads: PathBuf,
}

impl Folders {
    /// The folders of this process: `MATMECH_DATA` and `<root>/data/downloads`.
    #[must_use]
    pub fn of_process(root: &Path) -> Self {
        let own = env::var_os(DATA_VARIABLE).filter(|value| *value != OsString::new());
        Self { own: own.map(PathBuf::from), downloads: layout::downloads_dir(root) }
    }
}

/// Where a data set was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the user's own folder.
    Own(PathBuf),
    /// Among the downloads.
    Downloaded(PathBuf),
}

impl Found {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Own(path) | Self::Downloaded(path) => path,
        }
    }
}

/// Looks for a data set on this machine and checks it.
///
/// # Errors
/// A file of that name that cannot be read or has another SHA-256.
pub fn locate(dataset: &Dataset, folders: &Folders) -> Result<Option<Found>> {
    if let Some(own) = &folders.own {
        let file = own.join(&dataset.file);
        if file.exists() {
            let remedy =
                format!("put the file from {} there, or unset {DATA_VARIABLE}", dataset.source);
            check(dataset, &file, &remedy)?;
            return Ok(Some(Found::Own(file)));
        }
    }
    let file = folders.downloads.join(&dataset.file);
    if file.exists() {
        let remedy = format!("delete this file and run `reproduce data {}`", dataset.name);
        check(dataset, &file, &remedy)?;
        return Ok(Some(Found::Downloaded(file)));
    }
    Ok(None)
}

/// Compares a file with the manifest.
pub(super) fn check(dataset: &Dataset, file: &Path, remedy: &str) -> Result<()> {
    let found = sha256_of_file(file).map_err(|error| {
        Error::file(FileRole::DataSet, file, "a file that can be read", error, remedy)
    })?;
    if found == dataset.sha256.to_ascii_lowercase() {
        return Ok(());
    }
    Err(Error::file(
        FileRole::DataSet,
        file,
        format!("SHA-256 {} (data/manifest.toml, data set {})", dataset.sha256, dataset.name),
        format!("SHA-256 {found}"),
        remedy,
    ))
}
