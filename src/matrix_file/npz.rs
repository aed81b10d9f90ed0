//! NumPy's `.npz`: a ZIP archive without compression, one `.npy` per name.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::{ArrayD, ArrayViewD};
use ndarray_npy::{ReadNpyExt, WriteNpyError, WriteNpyExt};

use super::not_written;
use crate::error::{Error, Result};

/// Signature of a file in the archive.
const FILE: &[u8] = b"PK\x03\x04";

/// Signature of an entry of the directory.
const ENTRY: &[u8] = b"PK\x01\x02";

/// Signature of the end of the directory.
const END: &[u8] = b"PK\x05\x06";

/// Writes arrays as `.npz`.
///
/// # Errors
/// The file cannot be written, or the archive takes 4 GiB or more.
pub fn write_npz(path: &Path, arrays: &[(&str, ArrayViewD<'_, f64>)]) -> Result<()> {
    let refused = |e: std::io::Error| not_written(path, WriteNpyError::Io(e));
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, array) in arrays {
        let name = format!("{name}.npy");
        let mut data = Vec::new();
        array.as_standard_layout().write_npy(&mut data).map_err(|e| not_written(path, e))?;
        let short = |length: usize| {
            u32::try_from(length)
                .map_err(|_| refused(std::io::Error::other("the arrays take 4 GiB or more")))
        };
        let (size, offset) = (short(data.len())?.to_le_bytes(), short(archive.len())?);
        short(archive.len() + data.len())?;
        // Version 2.0, no flags, stored, midnight of 1 January 1980.
        let mut entry = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        entry.extend(crc32(&data).to_le_bytes());
        entry.extend(size);
        entry.extend(size);
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0, 0]);
        archive.extend(FILE);
        archive.extend(&entry);
        archive.extend(name.as_bytes());
        archive.extend(data);
        directory.extend(ENTRY);
        directory.extend([20, 0]);
        directory.extend(&entry);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = archive.len() as u32;
    let count = (arrays.len() as u16).to_le_bytes();
    archive.extend(&directory);
    archive.extend(END);
    archive.extend([0; 4]);
    archive.extend([count, count].concat());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    std::fs::write(path, archive).map_err(refused)
}

/// Reads all arrays of an `.npz` of float64 arrays, by name.
///
/// # Errors
/// The file cannot be read, is no archive, is compressed or damaged, or has an array of another
/// type.
pub fn read_npz(path: &Path) -> Result<BTreeMap<String, ArrayD<f64>>> {
    const REMEDY: &str = "write it with matmech stream, or with numpy.savez(file, rates=…)";
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, "reading", e, REMEDY))?;
    entries(&bytes).map_err(|found| Error::Parse {
        origin: path.display().to_string(),
        place: None,
        expected: "an .npz archive of float64 arrays, without compression".into(),
        found,
        remedy: REMEDY.into(),
    })
}

/// Returns the arrays of an archive, or what is wrong with it.
fn entries(bytes: &[u8]) -> std::result::Result<BTreeMap<String, ArrayD<f64>>, String> {
    let damaged = || "a damaged archive".to_owned();
    let number = |at: usize, length: usize| -> std::result::Result<usize, String> {
        let field =
            at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or_else(damaged)?;
        Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
    };
    let slice = |at: usize, length: usize| {
        at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or_else(damaged)
    };
    let end = (bytes.windows(END.len()).rposition(|w| w == END))
        .ok_or_else(|| "no archive".to_owned())?;
    slice(end, 22)?;
    let (count, mut at) = (number(end + 10, 2)?, number(end + 16, 4)?);
    let mut arrays = BTreeMap::new();
    for _ in 0..count {
        if slice(at, 4)? != ENTRY {
            return Err(damaged());
        }
        let (method, checksum, size) =
            (number(at + 10, 2)?, number(at + 16, 4)?, number(at + 24, 4)?);
        let (name_length, extra, comment) =
            (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?);
        let offset = number(at + 42, 4)?;
        let name = String::from_utf8_lossy(slice(at + 46, name_length)?).into_owned();
        at += 46 + name_length + extra + comment;
        if method != 0 {
            return Err(format!("the compressed array `{name}`"));
        }
        if slice(offset, 4)? != FILE {
            return Err(damaged());
        }
        let header = 30 + number(offset + 26, 2)? + number(offset + 28, 2)?;
        let data = slice(offset + header, size)?;
        if crc32(data) as usize != checksum {
            return Err(format!("a wrong checksum of `{name}`"));
        }
        let array = ArrayD::<f64>::read_npy(data).map_err(|e| format!("`{name}`: {e}"))?;
        arrays.insert(name.trim_end_matches(".npy").to_owned(), array);
    }
    Ok(arrays)
}

/// Returns the checksum of ZIP archives (polynomial 0xEDB88320).
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
    let table: Vec<u32> = (0..256u32).map(|byte| (0..8).fold(byte, step)).collect();
    let crc = data
        .iter()
        .fold(u32::MAX, |crc, &byte| table[((crc ^ u32::from(byte)) & 0xFF) as usize] ^ (crc >> 8));
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{arr1, arr2};

    /// The published check value of the checksum.
    #[test]
    fn checksums_of_archives_match_their_check_value() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn arrays_survive_a_round_trip_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let (first, second) = (arr1(&[1.0, -2.5]), arr2(&[[0.5], [1e-300], [3.0]]));
        let arrays = [("first", first.view().into_dyn()), ("second", second.view().into_dyn())];
        write_npz(&path, &arrays).unwrap();
        let read = read_npz(&path).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read["first"], first.into_dyn());
        assert_eq!(read["second"], second.into_dyn());
        let bytes = std::fs::read(&path).unwrap();
        for (position, part) in [(bytes.len() / 4, "checksum"), (bytes.len() - 22, "no archive")] {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            std::fs::write(&path, changed).unwrap();
            let message = read_npz(&path).unwrap_err().to_string();
            assert!(message.contains(part), "{position}: {message}");
        }
        for length in 0..bytes.len() {
            assert!(entries(&bytes[..length]).is_err(), "{length}");
        }
    }
}
