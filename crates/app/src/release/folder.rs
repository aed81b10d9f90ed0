//! The output folder of a release.

use std::path::{Path, PathBuf};

use super::outputs::Outputs;
use matmech::durable;
use matmech::error::{Error, Result};
use matmech::hash::{sha256, sha256_of_file};
use matmech::release::records::RecordCount;

/// The remedy after the budget is spent.
const REMEDY: &str = "free disk space; if the measurements are complete, `matmech answer` writes \
                      the answers again at no cost";

/// The checksums, in the format of `sha256sum -c`.
pub(super) const SUMS: &str = "SHA256SUMS";

/// A folder that has a temporary name until it is complete and synced to disk.
pub(crate) struct Folder {
    partial: PathBuf,
    out: PathBuf,
}

impl Folder {
    /// Creates the folder `OUT.partial`, before any budget is spent, so that a path that cannot be
    /// written fails early.
    ///
    /// # Errors
    /// A name that is taken (also by a broken link), or a parent that is missing or cannot be
    /// written.
    pub(crate) fn create(out: &Path) -> Result<Self> {
        let Some(name) = out.file_name() else {
            let remedy = "use the name of a folder that does not exist";
            return Err(Error::bad_input(
                out.display().to_string(),
                "the name of a folder",
                "none",
                remedy,
            ));
        };
        // `exists` is false for a broken symbolic link.
        if std::fs::symlink_metadata(out).is_ok() {
            let remedy = "use the name of a folder that does not exist; \
                          a release never overwrites another";
            return Err(Error::bad_input(
                out.display().to_string(),
                "the name of a new folder",
                "an existing file or folder",
                remedy,
            ));
        }
        let mut partial = name.to_os_string();
        partial.push(".partial");
        // Without a trailing `/` or `/.`, which a folder that does not exist cannot have.
        let out = out.with_file_name(name);
        let partial = out.with_file_name(partial);
        let remedy = "use a folder that can be written; remove the .partial folder of an \
                      interrupted run once its measurements are no longer needed";
        std::fs::create_dir(&partial)
            .map_err(|e| Error::io(&partial, "creating the folder", e, remedy))?;
        Ok(Folder { partial, out })
    }

    /// Removes the folder if it is empty; measurements are kept.
    pub(crate) fn discard(&self) {
        let _ = std::fs::remove_dir(&self.partial);
    }

    /// Returns the path of the folder until it is complete.
    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes a text to a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.file(name);
        durable::write(&path, text).map_err(|e| Error::io(&path, "writing", e, REMEDY))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    pub(super) fn subfolder(&self, name: &str) -> Result<PathBuf> {
        let path = self.file(name);
        std::fs::create_dir(&path)
            .map_err(|e| Error::io(&path, "creating the folder", e, REMEDY))?;
        Ok(path)
    }

    /// Returns the files that a release writes to the folder.
    pub(super) fn outputs(&self, adjust: bool, records: Option<RecordCount>) -> Outputs {
        Outputs {
            answers: self.file("answers.csv"),
            adjusted: adjust.then(|| self.file("adjusted.csv")),
            records: records.map(|count| (self.file("records.csv"), count)),
            statement: Some(["statement.json", "statement.md"].map(|name| self.file(name))),
            report: Some(self.file("report.html")),
            remedy: REMEDY,
        }
    }

    /// Writes the checksums, syncs the folder to disk and renames it to its final name. Returns the
    /// SHA-256 of the checksums.
    pub(crate) fn finish(&self) -> Result<String> {
        let path = self.file(SUMS);
        let sums = checksums(&self.partial)
            .and_then(|sums| durable::write(&path, &sums).map(|()| sums))
            .map_err(|e| Error::io(&path, "writing", e, REMEDY))?;
        durable::sync_folder(&self.partial)
            .map_err(|e| Error::io(&self.partial, "writing", e, REMEDY))?;
        std::fs::rename(&self.partial, &self.out).map_err(|e| {
            let remedy = "rename the folder, which holds the complete release";
            Error::io(&self.partial, "renaming", e, remedy)
        })?;
        durable::sync_parent(&self.out)
            .map_err(|e| Error::io(&self.out, "syncing the name of the folder", e, REMEDY))?;
        Ok(sha256(sums.as_bytes()))
    }
}

/// Returns the SHA-256 of every file of a folder, and of the checksums within its folders, in the
/// order of their names.
fn checksums(folder: &Path) -> std::io::Result<String> {
    let mut sums = String::new();
    let mut pending = vec![String::new()];
    while let Some(within) = pending.pop() {
        let entries =
            std::fs::read_dir(folder.join(&within))?.collect::<std::io::Result<Vec<_>>>()?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        for name in names {
            let path = format!("{within}{name}");
            if folder.join(&path).is_dir() {
                pending.push(format!("{path}/"));
            } else if within.is_empty() || name == SUMS {
                sums += &format!("{}  {path}\n", sha256_of_file(&folder.join(&path))?);
            }
        }
    }
    Ok(sums)
}
