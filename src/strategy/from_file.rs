//! A strategy matrix of the user's own.

use std::path::Path;

use super::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};
use crate::error::{Error, Result};
use crate::workload::Gram;

/// The strategy whose queries stand in a `.npy` or `.csv` file, one per row: `matrix:FILE.npy`.
#[derive(Debug, Clone)]
pub struct FromFile {
    name: String,
    queries: ndarray::Array2<f64>,
}

impl FromFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file is missing or does not hold a matrix of numbers.
    pub fn read(path: &Path) -> Result<Self> {
        let queries = crate::matrix_file::read(path)?;
        Ok(FromFile { name: format!("matrix:{}", path.display()), queries })
    }
}

impl StrategySelector for FromFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        "a strategy matrix of your own, one query per row"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        if self.queries.ncols() != gram.cells() {
            return Err(Error::bad_input(
                format!("strategy `{}`", self.name),
                format!("{} columns, one per cell of the workload", gram.cells()),
                format!("{} columns", self.queries.ncols()),
                "write a matrix over the workload's cells, in row-major order",
            ));
        }
        let factor = StrategyFactor::from_queries(&gram.shape(), self.queries.clone())?;
        evaluated(Strategy::kronecker(&self.name, vec![factor])?, gram)
    }
}
