//! Hashes of files and contents.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of some bytes, in hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The first bytes of the SHA-256 of some bytes; zeros beyond its 32.
#[must_use]
pub fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.iter_mut().zip(Sha256::digest(bytes)).for_each(|(own, byte)| *own = byte);
    first
}

/// SHA-256 of a file in hex, in constant memory.
///
/// # Errors
/// What the file system says.
pub fn sha256_of_file(file: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(file)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_of_the_standard() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
