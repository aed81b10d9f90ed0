//! Tables in memory.

use std::fmt;
use std::sync::Arc;

use super::owned_value::OwnedValue;
use super::typed::{Batch, ColumnHeader, ReadError, TypedTable, Values};
use crate::error::{Error, Result};
use crate::schema::ColumnType;

/// Records per batch.
const BATCH: usize = 4096;

/// A column in memory. `Debug` shows its type only.
#[derive(Clone)]
pub enum MemoryColumn {
    /// Integers.
    Integer(Vec<i64>),
    /// Integers without a sign.
    Unsigned(Vec<u64>),
    /// Doubles; NaN is a missing value.
    Float(Vec<f64>),
    /// Single-precision numbers; each stands for its shortest decimal, as a double.
    Single(Vec<f32>),
    /// Booleans.
    Boolean(Vec<bool>),
    /// Times as multiples of a number of nanoseconds; the smallest integer is a missing value.
    Time {
        /// The times.
        values: Vec<i64>,
        /// Nanoseconds per unit.
        unit: i64,
    },
    /// Values of a type, also missing ones.
    Values(ColumnType, Vec<OwnedValue>),
}

impl MemoryColumn {
    fn kind(&self) -> ColumnType {
        match self {
            MemoryColumn::Integer(_) | MemoryColumn::Unsigned(_) => ColumnType::Integer,
            MemoryColumn::Float(_) | MemoryColumn::Single(_) => ColumnType::Float,
            MemoryColumn::Boolean(_) => ColumnType::Boolean,
            MemoryColumn::Time { .. } => ColumnType::Time,
            MemoryColumn::Values(kind, _) => *kind,
        }
    }

    fn len(&self) -> usize {
        match self {
            MemoryColumn::Integer(values) => values.len(),
            MemoryColumn::Unsigned(values) => values.len(),
            MemoryColumn::Float(values) => values.len(),
            MemoryColumn::Single(values) => values.len(),
            MemoryColumn::Boolean(values) => values.len(),
            MemoryColumn::Time { values, .. } => values.len(),
            MemoryColumn::Values(_, values) => values.len(),
        }
    }

    fn values(&self, start: usize, end: usize) -> Values<'_> {
        match self {
            MemoryColumn::Integer(values) => Values::Integer(&values[start..end]),
            MemoryColumn::Unsigned(values) => Values::Unsigned(&values[start..end]),
            MemoryColumn::Float(values) => Values::Float(&values[start..end]),
            MemoryColumn::Single(values) => Values::Single(&values[start..end]),
            MemoryColumn::Boolean(values) => Values::Boolean(&values[start..end]),
            MemoryColumn::Time { values, unit } => Values::Time(&values[start..end], *unit),
            MemoryColumn::Values(_, values) => Values::Any(&values[start..end]),
        }
    }
}

impl fmt::Debug for MemoryColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// Columns of equal length, shared by its readers. `Debug` shows names and types only.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    headers: Arc<[ColumnHeader]>,
    columns: Arc<[MemoryColumn]>,
}

impl MemoryTable {
    /// Returns a table with the given columns.
    ///
    /// # Errors
    /// Columns of different lengths. The message has no length.
    pub fn new(columns: Vec<(String, MemoryColumn)>) -> Result<Self> {
        let lengths = columns.iter().map(|(_, column)| column.len());
        if lengths.clone().max() != lengths.clone().min() {
            return Err(Error::bad_input(
                "data",
                "columns of equal length",
                "columns of different lengths",
                "give one value per record in every column",
            ));
        }
        let header = |(name, column): &(String, MemoryColumn)| ColumnHeader {
            name: Some(name.trim().to_owned()),
            kind: column.kind(),
        };
        let headers = columns.iter().map(header).collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(MemoryTable { headers, columns })
    }

    /// Returns a reader that starts at the first record.
    pub fn reader(&self) -> MemoryReader {
        MemoryReader { table: self.clone(), next: 0 }
    }
}

/// Reads a table in memory.
#[derive(Debug)]
pub struct MemoryReader {
    table: MemoryTable,
    next: usize,
}

impl TypedTable for MemoryReader {
    fn origin(&self) -> &str {
        "data"
    }

    fn columns(&self) -> &[ColumnHeader] {
        &self.table.headers
    }

    fn next_batch(
        &mut self,
        columns: &[usize],
    ) -> std::result::Result<Option<Batch<'_>>, ReadError> {
        let count = self.table.columns.first().map_or(0, MemoryColumn::len);
        let (start, end) = (self.next, count.min(self.next + BATCH));
        self.next = end;
        if start == end {
            return Ok(None);
        }
        let columns =
            columns.iter().map(|&column| self.table.columns[column].values(start, end)).collect();
        Ok(Some(Batch { rows: end - start, columns, lines: &[] }))
    }
}
