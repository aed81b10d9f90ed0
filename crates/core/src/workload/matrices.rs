//! The matrices that a workload file names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::Array2;

use crate::error::{Error, Result};

/// Matrices by the names that a workload file gives them (`file = "W.npy"`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrices(BTreeMap<String, Arc<Array2<f64>>>);

impl Matrices {
    /// Adds a matrix.
    pub fn insert(&mut self, name: String, matrix: Arc<Array2<f64>>) {
        self.0.insert(name, matrix);
    }

    /// Iterates over names and matrices, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Array2<f64>>)> {
        self.0.iter().map(|(name, matrix)| (name.as_str(), matrix))
    }

    /// Returns whether there is no matrix.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where the matrices of a workload file are.
#[derive(Debug, Clone)]
pub enum MatrixSource<'a> {
    /// In files, with paths relative to a folder.
    Folder(PathBuf),
    /// Stored with a release.
    Stored(&'a Matrices),
}

impl MatrixSource<'_> {
    /// Returns the source of a file in a folder.
    pub fn folder(folder: &Path) -> Self {
        MatrixSource::Folder(folder.to_path_buf())
    }

    /// Returns the matrix with a name.
    ///
    /// # Errors
    /// A file that is not a matrix, or a name without a stored matrix.
    pub(super) fn matrix(&self, name: &str) -> Result<Arc<Array2<f64>>> {
        match self {
            MatrixSource::Folder(folder) => {
                Ok(Arc::new(crate::matrix_file::read(&folder.join(name))?))
            }
            MatrixSource::Stored(matrices) => matrices.0.get(name).cloned().ok_or_else(|| {
                Error::bad_input(
                    format!("matrix `{name}` of the workload"),
                    "a matrix stored with the release",
                    "none",
                    "give the queries with --workload, in the folder of their matrices; releases \
                     before version 0.2.1 do not store them",
                )
            }),
        }
    }
}
