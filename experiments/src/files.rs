//! Files: hashes of their contents, and atomic writes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of bytes in hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Returns the first `N` bytes of the SHA-256 of bytes, padded with zeros beyond 32.
#[must_use]
pub fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.iter_mut().zip(Sha256::digest(bytes)).for_each(|(target, byte)| *target = byte);
    first
}

/// Returns the SHA-256 of a list of texts, each preceded by its length.
///
/// The lengths give different lists different bytes.
#[must_use]
pub fn sha256_of_fields(fields: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field.as_bytes());
    }
    hash.finalize().into()
}

/// Formats bytes in hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats JSON with sorted keys, whatever their order in the value.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        scalar => scalar.to_string(),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_matches_the_example_of_fips_180() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
