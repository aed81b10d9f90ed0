//! The folder of a release while it is written.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::Error;
use crate::durable;

/// A folder under another name until it is complete: what has the right name is complete and on the
/// disk.
pub(super) struct Folder {
    partial: PathBuf,
    out: PathBuf,
}

impl Folder {
    /// Creates the folder `OUT.partial`, before anything is spent: a place that cannot be written
    /// shows here.
    ///
    /// # Errors
    /// A name that is taken, by a link to nothing too; a parent that is missing or cannot be
    /// written.
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        let Some(name) = out.file_name() else {
            let remedy = "give the name of a folder that does not exist";
            return Err(Error::bad_input(
                out.display().to_string(),
                "the name of a folder",
                "none",
                remedy,
            )
            .into());
        };
        // A link to nothing does not exist for `exists`.
        if std::fs::symlink_metadata(out).is_ok() {
            let remedy = "give the name of a folder that does not exist; a release is never written over another";
            return Err(Error::bad_input(
                out.display().to_string(),
                "no such name yet",
                "one",
                remedy,
            )
            .into());
        }
        let mut partial = name.to_os_string();
        partial.push(".partial");
        let partial = out.with_file_name(partial);
        let remedy = "give a folder in a place that can be written; remove a .partial folder of an interrupted run once its \
                      measurements are no longer needed";
        std::fs::create_dir(&partial)
            .map_err(|e| Error::io(&partial, "creating the folder", e, remedy))?;
        Ok(Folder { partial, out: out.to_path_buf() })
    }

    /// Removes the folder if it is empty; what was measured stays.
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

    /// Gives the folder its name, after everything in it is on the disk.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        durable::sync_folder(&self.partial)
            .with_context(|| format!("writing {}", self.partial.display()))?;
        std::fs::rename(&self.partial, &self.out).with_context(|| {
            format!("giving {} its name; the release is complete there", self.partial.display())
        })?;
        durable::sync_parent(&self.out)
            .with_context(|| format!("writing the name of {}", self.out.display()))
    }
}
