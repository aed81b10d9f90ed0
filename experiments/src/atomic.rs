//! Atomic file writes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file atomically, through a temporary file in the same folder.
///
/// The steps are write, fsync, rename and fsync of the folder. Missing folders are created. An
/// interrupted process leaves at most a `.….tmp` file, which git ignores.
///
/// # Errors
/// Returns the error of the file system; the old file is then unchanged.
pub fn write_atomically(file: &Path, content: &[u8]) -> io::Result<()> {
    let dir = match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    fs::create_dir_all(dir)?;
    let mut temporary = temporary_in(dir)?;
    temporary.write_all(content)?;
    temporary.as_file().sync_all()?;
    temporary.persist(file).map_err(|error| error.error)?;
    sync_dir(dir)
}

/// Checks that files can be written in a folder, and creates the folder if it is missing.
///
/// # Errors
/// Returns the error of the file system.
pub fn check_writable(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut probe = temporary_in(dir)?;
    probe.write_all(b"probe")
}

/// Creates a temporary file with default permissions, since those of the crate are private to the
/// user.
fn temporary_in(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-").suffix(".tmp");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666))
    };
    builder.tempfile_in(dir)
}

/// Makes a rename durable. Only Unix can open a folder for this.
fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(dir)?.sync_all()?;
    }
    Ok(())
}
