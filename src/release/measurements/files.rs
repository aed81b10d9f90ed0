//! Folders of files with checksums.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::hash::{Hashed, sha256};

/// The text of the schema.
pub(in crate::release) const SCHEMA: &str = "schema.toml";
/// The statement of the release.
pub(in crate::release) const STATEMENT: &str = "statement.json";
/// Integer rows, reference measures and deviations.
pub(in crate::release) const STRATEGIES: &str = "strategies.json";
/// The noisy integers, one per line.
pub(in crate::release) const NOISY: &str = "noisy.csv";

/// The remedy for files that cannot be read.
pub(in crate::release) const REMEDY: &str =
    "give the folder `measurements` of a release of this version, as it was written";

/// The remedy for files that cannot be written.
const DISK: &str = "free disk space; the cost of the measurements is spent";

/// The checksums, in the format of `sha256sum -c`.
const SUMS: &str = "SHA256SUMS";

/// Writes the contents of a file.
pub(in crate::release) type WriteFile<'a> = &'a dyn Fn(&mut dyn Write) -> std::io::Result<()>;

/// Writes files, some of them given by their bytes, to an existing folder and syncs them to the disk.
///
/// The checksums are written last: a folder with checksums is complete.
///
/// # Errors
/// A file cannot be written.
pub(in crate::release) fn write(
    folder: &Path,
    files: &[(&str, WriteFile<'_>)],
    more: &[(String, Vec<u8>)],
) -> Result<()> {
    let io = |name: &str| {
        let path = folder.join(name);
        move |e| Error::io(&path, "writing", e, DISK)
    };
    let mut sums = String::new();
    let mut save = |name: &str, write: WriteFile<'_>| -> Result<()> {
        let file = std::fs::File::create(folder.join(name)).map_err(io(name))?;
        let mut out = Hashed::new(BufWriter::new(file));
        write(&mut out).map_err(io(name))?;
        let (out, sum) = out.finish();
        let file = out.into_inner().map_err(|e| io(name)(e.into_error()))?;
        sums.push_str(&format!("{sum}  {name}\n"));
        file.sync_all().map_err(io(name))
    };
    for &(name, write) in files {
        save(name, write)?;
    }
    for (name, bytes) in more {
        save(name, &|out| out.write_all(bytes))?;
    }
    crate::durable::write(&folder.join(SUMS), &sums).map_err(io(SUMS))?;
    crate::durable::sync_folder(folder).map_err(io(SUMS))
}

/// Writes files to a new folder and syncs it and its parent to the disk.
///
/// # Errors
/// As [`write`]; or the name of the folder is taken.
pub(in crate::release) fn write_new(
    parent: &Path,
    name: &str,
    files: &[(&str, WriteFile<'_>)],
) -> Result<()> {
    let folder = parent.join(name);
    std::fs::create_dir(&folder).map_err(|e| Error::io(&folder, "creating the folder", e, DISK))?;
    write(&folder, files, &[])?;
    crate::durable::sync_folder(parent).map_err(|e| Error::io(parent, "writing", e, DISK))
}

/// Returns whether a folder of files is complete.
pub(in crate::release) fn is_complete(folder: &Path) -> bool {
    folder.join(SUMS).is_file()
}

fn bytes_of(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let path = folder.join(name);
    std::fs::read(&path).map_err(|e| Error::io(&path, "reading", e, REMEDY))
}

/// Returns the error of a file with other contents than a release writes.
pub(in crate::release) fn refuse(
    folder: &Path,
    name: &str,
    expected: &str,
    found: impl Into<String>,
) -> Error {
    Error::bad_input(folder.join(name).display().to_string(), expected, found.into(), REMEDY)
}

/// The files of a folder, checked against their checksums.
pub(in crate::release) struct Files {
    origin: String,
    sums: String,
    files: HashMap<&'static str, Vec<u8>>,
}

impl Files {
    /// Reads files that [`write`] wrote.
    ///
    /// # Errors
    /// Files that cannot be read or were edited.
    pub(in crate::release) fn read(folder: &Path, names: &[&'static str]) -> Result<Self> {
        let origin = folder.display().to_string();
        let mut read = Files { origin, sums: String::new(), files: HashMap::new() };
        read.files.insert(SUMS, bytes_of(folder, SUMS)?);
        read.sums = read.text(SUMS)?;
        for name in names {
            let bytes = read.more(folder, name)?;
            read.files.insert(name, bytes);
        }
        Ok(read)
    }

    /// Returns whether there is a checksum of a file.
    pub(in crate::release) fn names(&self, name: &str) -> bool {
        self.sums.lines().any(|line| line.split_once("  ").is_some_and(|(_, known)| known == name))
    }

    /// Returns the bytes of another file of the folder.
    ///
    /// # Errors
    /// A file that cannot be read or was edited.
    pub(in crate::release) fn more(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let bytes = bytes_of(folder, name)?;
        let sum = sha256(&bytes);
        if self.sums.lines().any(|line| line.split_once("  ") == Some((&sum, name))) {
            return Ok(bytes);
        }
        Err(Error::bad_input(
            folder.join(name).display().to_string(),
            format!("the file whose SHA-256 {SUMS} names"),
            format!("one with the SHA-256 {sum}: it was edited or damaged"),
            REMEDY,
        ))
    }

    /// Returns and removes the bytes of a file.
    pub(in crate::release) fn bytes(&mut self, name: &str) -> Vec<u8> {
        self.files.remove(name).unwrap_or_default()
    }

    /// Returns and removes the text of a file.
    ///
    /// # Errors
    /// Bytes that are not UTF-8.
    pub(in crate::release) fn text(&mut self, name: &str) -> Result<String> {
        String::from_utf8(self.bytes(name)).map_err(|_| {
            let path = format!("{}/{name}", self.origin);
            Error::bad_input(path, "a text in UTF-8", "other bytes", REMEDY)
        })
    }

    /// Returns the path of the folder.
    pub(in crate::release) fn origin(&self) -> &str {
        &self.origin
    }
}
