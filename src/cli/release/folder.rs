//! The output folder of a release.

use std::path::{Path, PathBuf};

use anyhow::Context;

use matmech::Error;
use matmech::durable;

/// A folder that has a temporary name until it is complete and synced to disk.
pub(super) struct Folder {
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
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        let Some(name) = out.file_name() else {
            let remedy = "use the name of a folder that does not exist";
            return Err(Error::bad_input(
                out.display().to_string(),
                "the name of a folder",
                "none",
                remedy,
            )
            .into());
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
            )
            .into());
        }
        let mut partial = name.to_os_string();
        partial.push(".partial");
        let partial = out.with_file_name(partial);
        let remedy = "use a folder that can be written; remove the .partial folder of an \
                      interrupted run once its measurements are no longer needed";
        std::fs::create_dir(&partial)
            .map_err(|e| Error::io(&partial, "creating the folder", e, remedy))?;
        Ok(Folder { partial, out: out.to_path_buf() })
    }

    /// Removes the folder if it is empty; measurements are kept.
    pub(super) fn discard(&self) {
        let _ = std::fs::remove_dir(&self.partial);
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    pub(super) fn subfolder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.file(name);
        std::fs::create_dir(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(path)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.file(name);
        durable::write(&path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Syncs the folder to disk and renames it to its final name.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        durable::sync_folder(&self.partial)
            .with_context(|| format!("writing {}", self.partial.display()))?;
        std::fs::rename(&self.partial, &self.out).with_context(|| {
            format!("renaming {}, which holds the complete release", self.partial.display())
        })?;
        durable::sync_parent(&self.out)
            .with_context(|| format!("syncing the name of {}", self.out.display()))
    }
}
