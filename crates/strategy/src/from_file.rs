//! Strategy matrices from files.

use std::path::Path;

use ndarray::Array2;

use super::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};
use crate::counted::counted;
use crate::error::{Error, Result};
use crate::workload::{Gram, check_dense_size, format_shape};

/// The noun of columns in messages.
const COLUMNS: [&str; 2] = ["column", "columns"];

/// The strategy with queries from a `.npy` or `.csv` file, one per row: `matrix:FILE.npy`.
#[derive(Debug, Clone)]
pub struct FromFile {
    name: String,
    queries: Array2<f64>,
}

impl FromFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file is missing or does not contain a matrix of numbers.
    pub fn read(path: &Path) -> Result<Self> {
        let queries = crate::matrix_file::read(&crate::named_file::resolved(path))?;
        Ok(FromFile { name: format!("matrix:{}", path.display()), queries })
    }
}

/// Reads the Kronecker factors of a strategy over a box from files, in the order of the attributes.
///
/// The number of columns of a file determines how many attributes its factor has; the last file has
/// all remaining attributes.
///
/// # Errors
/// There is no file, a file does not contain a matrix, its columns are not the cells of the next
/// attributes, or its sensitivity is zero or not finite.
pub fn read_kronecker(paths: &[&Path], shape: &[usize]) -> Result<Strategy> {
    let read = |path: &&Path| Ok((path.display().to_string(), crate::matrix_file::read(path)?));
    kronecker_of(paths.iter().map(read).collect::<Result<_>>()?, shape)
}

/// [`read_kronecker`] with matrices that have names.
///
/// # Errors
/// As [`read_kronecker`].
pub fn kronecker_of(matrices: Vec<(String, Array2<f64>)>, shape: &[usize]) -> Result<Strategy> {
    let names: Vec<&str> = matrices.iter().map(|(name, _)| name.as_str()).collect();
    let (name, count) = (names.join(" ⊗ "), matrices.len());
    let mut rest = shape;
    let mut factors = Vec::with_capacity(count);
    for (k, (file, queries)) in matrices.into_iter().enumerate() {
        let last = k + 1 == count;
        let (attributes, others) =
            rest.split_at(if last { rest.len() } else { attributes_of(rest, queries.ncols()) });
        let cells: usize = attributes.iter().product();
        if queries.ncols() != cells || attributes.is_empty() {
            return Err(Error::bad_input(
                format!("strategy `{file}`"),
                match attributes {
                    [] => format!("at most one file per attribute of {}", format_shape(shape)),
                    _ => format!(
                        "{}, one per cell of {}",
                        counted(cells, COLUMNS),
                        format_shape(attributes)
                    ),
                },
                format!(
                    "a matrix of {} and {}",
                    counted(queries.nrows(), ["row", "rows"]),
                    counted(queries.ncols(), COLUMNS)
                ),
                remedy(count, queries.nrows() == cells),
            ));
        }
        rest = others;
        check_dense_size(&format!("strategy `{file}`"), cells)?;
        let factor = StrategyFactor::from_queries(attributes, queries)?;
        let squared = factor.sensitivity_squared();
        if !(squared > 0.0 && squared.is_finite()) {
            return Err(Error::bad_input(
                format!("strategy `{file}`"),
                "a positive and finite sensitivity",
                format!("{squared}, as the largest squared column norm"),
                "give a matrix with at least one non-zero entry, and scale it to entries around 1",
            ));
        }
        factors.push(factor);
    }
    Strategy::kronecker(&name, factors)
}

/// Returns the remedy for a matrix of the wrong shape.
fn remedy(files: usize, transposed: bool) -> String {
    match (files, transposed) {
        (_, true) => "save the transpose: the matrix has one row per cell".to_owned(),
        (1, _) => {
            "write one query per row over the workload's cells, the last attribute varying fastest"
                .to_owned()
        }
        _ => format!("give the {files} files in the order of the attributes of their factors"),
    }
}

/// Returns how many of the first attributes are needed for at least `columns` cells.
fn attributes_of(shape: &[usize], columns: usize) -> usize {
    let mut cells = 1;
    for (k, size) in shape.iter().enumerate() {
        if cells >= columns && k > 0 {
            return k;
        }
        cells *= size;
    }
    shape.len()
}

impl StrategySelector for FromFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        "a strategy matrix from a file, one query per row"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        if self.queries.ncols() != gram.cells() {
            return Err(Error::bad_input(
                format!("strategy `{}`", self.name),
                format!("{}, one per cell of the workload", counted(gram.cells(), COLUMNS)),
                counted(self.queries.ncols(), COLUMNS),
                "write a matrix over the workload's cells, in row-major order",
            ));
        }
        let factor = StrategyFactor::from_queries(&gram.shape(), self.queries.clone())?;
        evaluated(Strategy::kronecker(&self.name, vec![factor])?, gram)
    }
}
