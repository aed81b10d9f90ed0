//! NumPy's `.npz`: a ZIP archive without compression, one `.npy` per name.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::{Array1, ArrayD, ArrayView1, ArrayViewD};
use ndarray_npy::{ReadNpyExt, WriteNpyError, WriteNpyExt};

use super::matrix::not_written;
use crate::error::{Error, Result};

const REMEDY: &str = "write it with matmech stream, or with numpy.savez(file, rates=…)";

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
    let bytes = npz_of(arrays).map_err(|e| not_written(path, WriteNpyError::Io(e)))?;
    std::fs::write(path, bytes).map_err(|e| not_written(path, WriteNpyError::Io(e)))
}

/// Returns the bytes of an `.npz` of float64 arrays.
///
/// # Errors
/// The archive takes 4 GiB or more.
pub fn npz_of(arrays: &[(&str, ArrayViewD<'_, f64>)]) -> std::io::Result<Vec<u8>> {
    let npy = |array: &ArrayViewD<'_, f64>| {
        let mut data = Vec::new();
        let written = array.as_standard_layout().write_npy(&mut data);
        written.map(|()| data).map_err(std::io::Error::other)
    };
    let members = arrays.iter().map(|(name, array)| Ok(((*name).to_owned(), npy(array)?)));
    archive(&members.collect::<std::io::Result<Vec<_>>>()?)
}

/// A one-dimensional array of an archive.
#[derive(Debug, Clone, PartialEq)]
pub enum NpzArray {
    /// 32-bit numbers.
    Numbers(Vec<f32>),
    /// Bytes, such as a text in UTF-8.
    Bytes(Vec<u8>),
}

/// Returns the bytes of an `.npz` of 32-bit numbers and bytes.
///
/// # Errors
/// The archive takes 4 GiB or more, or has more than 65,535 arrays.
pub fn npz_bytes(arrays: &[(String, NpzArray)]) -> std::io::Result<Vec<u8>> {
    let npy = |array: &NpzArray| -> std::io::Result<Vec<u8>> {
        let mut data = Vec::new();
        match array {
            NpzArray::Numbers(x) => ArrayView1::from(x.as_slice()).write_npy(&mut data),
            NpzArray::Bytes(x) => ArrayView1::from(x.as_slice()).write_npy(&mut data),
        }
        .map_err(std::io::Error::other)?;
        Ok(data)
    };
    let members = arrays.iter().map(|(name, array)| Ok((name.clone(), npy(array)?)));
    archive(&members.collect::<std::io::Result<Vec<_>>>()?)
}

/// Returns the arrays of [`npz_bytes`], by name.
///
/// # Errors
/// Says what is wrong with the archive.
pub fn npz_arrays(bytes: &[u8]) -> std::result::Result<BTreeMap<String, NpzArray>, String> {
    let array = |data: &[u8]| match Array1::<f32>::read_npy(data) {
        Ok(numbers) => Ok(NpzArray::Numbers(numbers.to_vec())),
        Err(_) => Array1::<u8>::read_npy(data).map(|x| NpzArray::Bytes(x.to_vec())),
    };
    let named = |(name, data): (String, &[u8])| {
        let array = array(data).map_err(|e| format!("`{name}`: {e}"))?;
        Ok((name, array))
    };
    members(bytes)?.into_iter().map(named).collect()
}

/// Returns a ZIP archive of `.npy` files.
fn archive(members: &[(String, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let too_large = |limit: &str| std::io::Error::other(format!("the arrays exceed {limit}"));
    let short = |length: usize| u32::try_from(length).map_err(|_| too_large("4 GiB"));
    let count = u16::try_from(members.len()).map_err(|_| too_large("65,535 names"))?.to_le_bytes();
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in members {
        let name = format!("{name}.npy");
        let (size, offset) = (short(data.len())?.to_le_bytes(), short(archive.len())?);
        short(archive.len() + data.len())?;
        // Version 2.0, no flags, stored, midnight of 1 January 1980.
        let mut entry = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        entry.extend(crc32(data).to_le_bytes());
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
    let start = short(archive.len())?;
    archive.extend(&directory);
    archive.extend(END);
    archive.extend([0; 4]);
    archive.extend([count, count].concat());
    archive.extend(short(directory.len())?.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    Ok(archive)
}

/// Reads all arrays of an `.npz` of float64 arrays, by name.
///
/// # Errors
/// The file cannot be read, is no archive, is compressed or damaged, or has an array of another
/// type.
pub fn read_npz(path: &Path) -> Result<BTreeMap<String, ArrayD<f64>>> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, "reading", e, REMEDY))?;
    float_arrays(&bytes, &path.display().to_string())
}

/// Returns all arrays of an `.npz` of float64 arrays, by name; messages name the origin.
///
/// # Errors
/// As [`read_npz`].
pub fn float_arrays(bytes: &[u8], origin: &str) -> Result<BTreeMap<String, ArrayD<f64>>> {
    entries(bytes).map_err(|found| Error::Parse {
        origin: origin.to_owned(),
        place: None,
        expected: "an .npz archive of float64 arrays, without compression".into(),
        found,
        remedy: REMEDY.into(),
    })
}

/// Returns the arrays of an archive, or what is wrong with it.
fn entries(bytes: &[u8]) -> std::result::Result<BTreeMap<String, ArrayD<f64>>, String> {
    let named = |(name, data): (String, &[u8])| {
        let array = ArrayD::<f64>::read_npy(data).map_err(|e| format!("`{name}`: {e}"))?;
        Ok((name, array))
    };
    members(bytes)?.into_iter().map(named).collect()
}

/// Returns the names and the contents of the `.npy` files of an archive, or what is wrong with it.
fn members(bytes: &[u8]) -> std::result::Result<Vec<(String, &[u8])>, String> {
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
    let mut arrays = Vec::new();
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
        arrays.push((name.trim_end_matches(".npy").to_owned(), data));
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
    fn numbers_and_texts_survive_a_round_trip() {
        let arrays = [
            ("a0".to_owned(), NpzArray::Numbers(vec![1.5, -0.25])),
            ("manifest".to_owned(), NpzArray::Bytes(b"{}".to_vec())),
        ];
        let read = npz_arrays(&npz_bytes(&arrays).unwrap()).unwrap();
        assert_eq!(read, BTreeMap::from(arrays));
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
