//! The folders of data sets, and the check of a file's SHA-256.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::manifest::Dataset;
use crate::error::{Error, FileRole, Result};
use crate::layout;
use matmech::hash::sha256_of_file;

/// The environment variable with the user's folder of data sets.
pub const DATA_VARIABLE: &str = "MATMECH_DATA";

/// The folders that are searched for data sets.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The user's folder, which is never written.
    pub user: Option<PathBuf>,
    /// The folder of the files that are part of the project.
    pub tables: PathBuf,
    /// The folder of downloads.
    pub downloads: PathBuf,
}

impl Folders {
    /// Returns the folders of this process: `MATMECH_DATA`, `<root>/data/tables` and
    /// `<root>/data/downloads`.
    #[must_use]
    pub fn of_process(root: &Path) -> Self {
        let folder = env::var_os(DATA_VARIABLE).filter(|value| *value != OsString::new());
        Self {
            user: folder.map(PathBuf::from),
            tables: layout::tables_dir(root),
            downloads: layout::downloads_dir(root),
        }
    }
}

/// The location of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the user's folder.
    User(PathBuf),
    /// In the project.
    Committed(PathBuf),
    /// Among the downloads.
    Downloaded(PathBuf),
}

impl Found {
    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::User(path) | Self::Committed(path) | Self::Downloaded(path) => path,
        }
    }
}

/// Searches a data set on this machine and checks its SHA-256.
///
/// # Errors
/// Returns an error if a file of that name cannot be read or has a different SHA-256.
pub fn locate(dataset: &Dataset, folders: &Folders) -> Result<Option<Found>> {
    if let Some(folder) = &folders.user {
        let file = folder.join(&dataset.file);
        if file.exists() {
            let remedy =
                format!("put the file from {} there, or unset {DATA_VARIABLE}", dataset.source);
            check(dataset, &file, &remedy)?;
            return Ok(Some(Found::User(file)));
        }
    }
    let file = folders.tables.join(&dataset.file);
    if file.exists() {
        let remedy = "restore the file of the project: git checkout data/tables";
        check(dataset, &file, remedy)?;
        return Ok(Some(Found::Committed(file)));
    }
    let file = folders.downloads.join(&dataset.file);
    if file.exists() {
        let remedy = format!("delete this file and run `reproduce data {}`", dataset.name);
        check(dataset, &file, &remedy)?;
        return Ok(Some(Found::Downloaded(file)));
    }
    Ok(None)
}

/// Checks that the SHA-256 of a file is that of the manifest.
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
