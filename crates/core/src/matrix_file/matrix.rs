//! Matrices in `.npy` and `.csv` files.

use std::io::ErrorKind;
use std::path::Path;

use ndarray::{Array1, Array2};
use ndarray_npy::{ReadNpyError, ReadNpyExt, WriteNpyError, WriteNpyExt};

use crate::counted::counted;
use crate::error::{Error, Place, Result};

const REMEDY: &str = "give a .npy file with a two-dimensional float64 array, or a .csv file of \
                      numbers without a header";

fn not_a_matrix(path: &Path, place: Option<Place>, found: impl Into<String>) -> Error {
    Error::Parse {
        origin: path.display().to_string(),
        place,
        expected: "a matrix of numbers".into(),
        found: found.into(),
        remedy: REMEDY.into(),
    }
}

/// Reads a matrix in the format of the file's extension.
///
/// # Errors
/// The file is missing, has another format, type or number of dimensions, is ragged or empty, or
/// contains a number that is not finite.
pub fn read(path: &Path) -> Result<Array2<f64>> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => read_npy(path),
        Some("csv") => read_csv(path),
        other => Err(not_a_matrix(path, None, format!("the unknown extension {other:?}"))),
    }
}

/// Reads a row-major or column-major ("Fortran") file into a row-major matrix.
fn read_npy(path: &Path) -> Result<Array2<f64>> {
    npy_of_bytes(&std::fs::read(path).map_err(|e| Error::io(path, "reading", e, REMEDY))?, path)
}

/// Reads the bytes of a `.npy` file; messages name `path`.
///
/// # Errors
/// As [`read`].
pub fn npy_of_bytes(bytes: &[u8], path: &Path) -> Result<Array2<f64>> {
    let matrix = Array2::<f64>::read_npy(bytes).map_err(|e| match e {
        ReadNpyError::Io(source) if source.kind() != ErrorKind::UnexpectedEof => {
            Error::io(path, "reading", source, REMEDY)
        }
        ReadNpyError::WrongDescriptor(dtype) => {
            wrong_array(path, format!("an array of dtype {dtype}"), AS_FLOAT)
        }
        ReadNpyError::WrongNdim(_, dimensions) => wrong_array(
            path,
            format!("an array with {}", counted(dimensions, ["dimension", "dimensions"])),
            AS_MATRIX,
        ),
        ReadNpyError::MissingData => {
            wrong_array(path, "fewer numbers than its header announces", CUT_OFF)
        }
        ReadNpyError::ExtraBytes(bytes) => wrong_array(
            path,
            format!("{bytes} bytes after the numbers that its header announces"),
            CUT_OFF,
        ),
        // Not a .npy file, such as a renamed text file.
        ReadNpyError::ParseHeader(_) if !bytes.starts_with(b"\x93NUMPY") => {
            wrong_array(path, "no .npy header at the start of the file", AS_FLOAT)
        }
        other => not_a_matrix(path, None, other.to_string()),
    })?;
    if matrix.is_empty() {
        return Err(wrong_array(
            path,
            format!("an empty array of shape {:?}", matrix.dim()),
            AS_MATRIX,
        ));
    }
    if let Some(((row, column), x)) = matrix.indexed_iter().find(|(_, x)| !x.is_finite()) {
        let found = format!("{x} at [{row}, {column}], row and column counted from 0");
        return Err(not_a_matrix(path, None, found));
    }
    Ok(if matrix.is_standard_layout() { matrix } else { matrix.as_standard_layout().into_owned() })
}

const AS_FLOAT: &str = "save it with numpy.save(file, A.astype(numpy.float64))";
const AS_MATRIX: &str =
    "save it with one query per row and one column per cell; a single query as A.reshape(1, -1)";
const CUT_OFF: &str = "write the file again; it was changed or cut off after it was saved";

fn wrong_array(path: &Path, found: impl Into<String>, remedy: &str) -> Error {
    Error::Parse {
        origin: path.display().to_string(),
        place: None,
        expected: "a two-dimensional float64 array".into(),
        found: found.into(),
        remedy: remedy.into(),
    }
}

fn read_csv(path: &Path) -> Result<Array2<f64>> {
    let failed = |e: csv::Error| Error::csv(path, e, REMEDY);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(failed)?;
    let (mut values, mut rows, mut cols) = (Vec::new(), 0, 0);
    for record in reader.records() {
        let record = record.map_err(failed)?;
        rows += 1;
        cols = record.len();
        for (column, field) in record.iter().enumerate() {
            let value = field.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| {
                let line = record.position().map_or(rows, |p| p.line() as usize);
                let place = Place { line, column: column + 1 };
                not_a_matrix(path, Some(place), format!("`{field}`, which is not a finite number"))
            })?;
            values.push(value);
        }
    }
    if rows == 0 {
        return Err(not_a_matrix(path, None, "no rows"));
    }
    Array2::from_shape_vec((rows, cols), values)
        .map_err(|e| not_a_matrix(path, None, e.to_string()))
}

/// Writes a matrix as `.npy` (row-major float64).
///
/// # Errors
/// The file cannot be written.
pub fn write_npy(path: &Path, matrix: &Array2<f64>) -> Result<()> {
    ndarray_npy::write_npy(path, &matrix.as_standard_layout()).map_err(|e| not_written(path, e))
}

/// Returns a matrix as the bytes of a `.npy` file (row-major float64).
///
/// # Errors
/// None for a matrix in memory.
pub fn npy_bytes(matrix: &Array2<f64>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let written = matrix.as_standard_layout().write_npy(&mut bytes);
    written.map_err(|e| Error::bug("matrix file", "bytes of an array", e))?;
    Ok(bytes)
}

/// Writes a vector as `.npy` (one-dimensional float64).
///
/// # Errors
/// The file cannot be written.
pub fn write_npy_vector(path: &Path, vector: &Array1<f64>) -> Result<()> {
    ndarray_npy::write_npy(path, vector).map_err(|e| not_written(path, e))
}

pub(super) fn not_written(path: &Path, error: WriteNpyError) -> Error {
    let source = match error {
        WriteNpyError::Io(source) => source,
        other => std::io::Error::other(other),
    };
    Error::io(path, "writing", source, "name a file in a folder that exists and can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_survive_a_round_trip_and_bad_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = ndarray::array![[1.0, -2.5], [0.0, 1e-17]];
        let npy = folder.path().join("a.npy");
        write_npy(&npy, &matrix.t().to_owned()).unwrap();
        assert_eq!(read(&npy).unwrap(), matrix.t());
        let csv = folder.path().join("a.csv");
        std::fs::write(&csv, "1, -2.5\n0, 1e-17\n").unwrap();
        assert_eq!(read(&csv).unwrap(), matrix);
        std::fs::write(&csv, "1,2\n3,x\n").unwrap();
        let message = read(&csv).unwrap_err().to_string();
        assert!(message.contains("a.csv, line 2, column 2"), "{message}");
        assert!(matches!(read(&folder.path().join("missing.npy")), Err(Error::Io { .. })));
        assert!(matches!(
            read(&folder.path().join("a.txt")),
            Err(Error::Parse { place: None, .. })
        ));
        std::fs::write(&npy, "not a matrix").unwrap();
        let message = read(&npy).unwrap_err().to_string();
        assert!(message.contains("found no .npy header"), "{message}");
        std::fs::write(&npy, "").unwrap();
        assert!(matches!(read(&npy), Err(Error::Parse { .. })));
    }
}
