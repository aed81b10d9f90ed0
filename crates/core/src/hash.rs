//! SHA-256 hashes of files.

use std::io::{Result, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of a file. O(1) memory.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of_file(path: &Path) -> Result<String> {
    let mut hash = Hashed::new(std::io::sink());
    std::io::copy(&mut std::fs::File::open(path)?, &mut hash)?;
    Ok(hash.finish().1)
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A writer that hashes the bytes written through it.
#[derive(Debug)]
pub struct Hashed<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Hashed<W> {
    /// Returns a writer to another one.
    pub fn new(out: W) -> Self {
        Hashed { out, hash: Sha256::new() }
    }

    /// Returns the writer and the SHA-256 of the bytes written.
    pub fn finish(self) -> (W, String) {
        let sum = hexadecimal(&self.hash.finalize());
        (self.out, sum)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.out.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the example of FIPS 180-2.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
        let mut out = Hashed::new(Vec::new());
        out.write_all(b"a").unwrap();
        out.write_all(b"bc").unwrap();
        assert_eq!(out.finish(), (b"abc".to_vec(), expected.to_owned()));
    }
}
