//! Records: a table as cell numbers, counted into marginals when they are needed.

use rand::{Rng, RngExt};

use crate::error::{Error, Result};
use crate::schema::Schema;

/// A table of records, one column of cell numbers per attribute. 4 bytes per record and attribute.
#[derive(Debug, Clone)]
pub struct Records {
    sizes: Vec<usize>,
    columns: Vec<Vec<u32>>,
}

impl Records {
    /// Records from columns of cell numbers, in the order of the schema.
    ///
    /// # Errors
    /// A column too many or too few, columns of different lengths, or a cell number outside its attribute.
    pub fn new(schema: &Schema, columns: Vec<Vec<u32>>) -> Result<Self> {
        let attributes = schema.attributes();
        let refuse = |what: String, expected: String, found: String| {
            Err(Error::invalid(what, expected, found, "code every value as a cell number 0 to size − 1"))
        };
        let count = columns.first().map_or(0, Vec::len);
        if columns.len() != attributes.len() {
            let expected = format!("{} columns, one per attribute", attributes.len());
            return refuse("records".into(), expected, columns.len().to_string());
        }
        for (attribute, column) in attributes.iter().zip(&columns) {
            let what = format!("records, column `{}`", attribute.name);
            if column.len() != count {
                return refuse(what, format!("{count} values, as in the first column"), column.len().to_string());
            }
            if let Some(row) = column.iter().position(|&cell| cell as usize >= attribute.size) {
                let found = format!("{} in record {}", column[row], row + 1);
                return refuse(what, format!("cell numbers below {}", attribute.size), found);
            }
        }
        Ok(Records { sizes: attributes.iter().map(|a| a.size).collect(), columns })
    }

    /// `count` records, every value uniform and independent: synthetic data for timing and tests.
    ///
    /// # Errors
    /// Attributes with more values than 32 bits count.
    pub fn uniform(schema: &Schema, count: usize, rng: &mut dyn Rng) -> Result<Self> {
        let columns = schema
            .attributes()
            .iter()
            .map(|attribute| (0..count).map(|_| rng.random_range(0..attribute.size) as u32).collect())
            .collect();
        Self::new(schema, columns)
    }

    /// The cell numbers of one attribute.
    pub fn column(&self, position: usize) -> Option<&[u32]> {
        self.columns.get(position).map(Vec::as_slice)
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The marginal on some attributes, row-major in their order. O(records · attributes + cells).
    ///
    /// # Errors
    /// A position that the schema lacks.
    pub fn marginal(&self, positions: &[usize]) -> Result<Vec<f64>> {
        if let Some(p) = positions.iter().find(|&&p| p >= self.sizes.len()) {
            return Err(Error::invalid(
                "marginal",
                format!("positions below {}", self.sizes.len()),
                p.to_string(),
                "use positions of the schema the records were made for",
            ));
        }
        let mut cells = vec![0usize; self.len()];
        for &p in positions {
            for (cell, &value) in cells.iter_mut().zip(&self.columns[p]) {
                *cell = *cell * self.sizes[p] + value as usize;
            }
        }
        let mut counts = vec![0.0; positions.iter().map(|&p| self.sizes[p]).product()];
        for cell in cells {
            counts[cell] += 1.0;
        }
        Ok(counts)
    }
}
