//! Files that are either the old ones or the new ones, never something between.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file by way of a temporary one in the same folder: write, fsync, rename, fsync of the
/// folder.
///
/// Missing folders are made. A process that is killed leaves at most a `.….tmp` file, which git
/// ignores.
///
/// # Errors
/// What the file system says; the old file is then still there.
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

/// Makes sure that files can be written in a folder, which is made if it is missing.
///
/// # Errors
/// What the file system says.
pub fn check_writable(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut probe = temporary_in(dir)?;
    probe.write_all(b"probe")
}

/// A temporary file with the permissions of an ordinary one (the crate's default is private to the
/// user).
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

/// Makes a rename durable; only Unix can open a folder for that.
fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(dir)?.sync_all()?;
    }
    Ok(())
}
