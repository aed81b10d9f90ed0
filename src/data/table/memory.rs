//! Tables in memory.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;

use super::arrow_values::column_type;
use super::typed::{Batch, ColumnHeader, OwnedValue, ReadError, TypedTable, Values};
use crate::error::{Error, Result};
use crate::schema::ColumnType;

/// Records per batch.
const BATCH: usize = 4096;

/// A column in memory. `Debug` shows its type only.
#[derive(Clone)]
pub enum MemoryColumn {
    /// An Arrow array; NaN is a missing value.
    Array(ArrayRef),
    /// Values of a type, also missing ones.
    Values(ColumnType, Vec<OwnedValue>),
}

impl MemoryColumn {
    fn kind(&self) -> ColumnType {
        match self {
            MemoryColumn::Array(array) => column_type(array.data_type()),
            MemoryColumn::Values(kind, _) => *kind,
        }
    }

    fn len(&self) -> usize {
        match self {
            MemoryColumn::Array(array) => array.len(),
            MemoryColumn::Values(_, values) => values.len(),
        }
    }
}

impl fmt::Debug for MemoryColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// A table in memory, shared by its readers. `Debug` shows names and types only.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    headers: Arc<[ColumnHeader]>,
    /// The columns of consecutive records.
    batches: Arc<[Vec<MemoryColumn>]>,
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
        let columns: Vec<_> = columns.into_iter().map(|(_, column)| column).collect();
        Ok(MemoryTable { headers, batches: Arc::new([columns]) })
    }

    /// Returns the table of Arrow record batches, whose values are not copied.
    pub fn of_batches(schema: &Schema, batches: Vec<RecordBatch>) -> Self {
        let columns = |batch: RecordBatch| {
            batch.columns().iter().cloned().map(MemoryColumn::Array).collect::<Vec<_>>()
        };
        MemoryTable {
            headers: headers_of(schema).into(),
            batches: batches.into_iter().map(columns).collect(),
        }
    }

    /// Returns a reader that starts at the first record.
    pub fn reader(&self) -> MemoryReader {
        MemoryReader { table: self.clone(), batch: 0, next: 0, arrays: Vec::new() }
    }
}

/// Returns the columns of an Arrow schema.
pub(super) fn headers_of(schema: &Schema) -> Vec<ColumnHeader> {
    let fields = schema.fields().iter();
    let header = |name: &str, kind| ColumnHeader { name: Some(name.trim().to_owned()), kind };
    fields.map(|field| header(field.name(), column_type(field.data_type()))).collect()
}

/// Reads a table in memory.
#[derive(Debug)]
pub struct MemoryReader {
    table: MemoryTable,
    batch: usize,
    /// The next record of the batch.
    next: usize,
    /// The arrays of the last records read, or `None` for other values.
    arrays: Vec<Option<ArrayRef>>,
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
        let (batch, start, end) = loop {
            let Some(batch) = self.table.batches.get(self.batch) else { return Ok(None) };
            let count = batch.first().map_or(0, MemoryColumn::len);
            let (start, end) = (self.next, count.min(self.next + BATCH));
            if start < end {
                break (batch, start, end);
            }
            (self.batch, self.next) = (self.batch + 1, 0);
        };
        self.next = end;
        self.arrays.clear();
        self.arrays.extend(columns.iter().map(|&column| match &batch[column] {
            MemoryColumn::Array(array) => Some(array.slice(start, end - start)),
            MemoryColumn::Values(..) => None,
        }));
        let values = columns.iter().zip(&self.arrays).map(|(&column, array)| {
            match (array, &batch[column]) {
                (Some(array), _) => Values::Array(array.as_ref()),
                (None, MemoryColumn::Values(_, values)) => Values::Any(&values[start..end]),
                (None, MemoryColumn::Array(_)) => Values::Any(&[]),
            }
        });
        Ok(Some(Batch { rows: end - start, columns: values.collect(), lines: &[] }))
    }
}
