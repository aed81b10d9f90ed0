//! Durable writes: files are on the disk when a call returns.

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// Writes a file and syncs it to the disk.
///
/// # Errors
/// The file cannot be created or written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Syncs the entries of a folder to the disk.
///
/// Does nothing on systems that cannot open folders; these keep the order of entries themselves.
///
/// # Errors
/// The folder cannot be synced.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Syncs the folder entry of a file to the disk.
///
/// # Errors
/// As [`sync_folder`].
pub fn sync_parent(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new(".")))
}
