//! Parquet files.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::memory::headers_of;
use super::typed::{Batch, ColumnHeader, ReadError, TypedTable, Values};
use crate::error::Error;

/// Records per batch.
const BATCH: usize = 8192;

/// The first bytes of a Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";

/// A Parquet file of which only the schema, which is public, has been read.
///
/// Columns of text are read as dictionaries, so that a repeated value is coded once per batch.
/// `Debug` shows the path only.
pub struct ParquetTable {
    origin: String,
    file: File,
    metadata: ArrowReaderMetadata,
    headers: Vec<ColumnHeader>,
    /// The reader, after the first batch has been asked for.
    reader: Option<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
}

impl fmt::Debug for ParquetTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetTable").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Returns whether a path is a file that can be read and starts as Parquet files do.
///
/// Pipes and devices are not: what is read from them cannot be read again.
pub fn is_parquet(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file
        && File::open(path)
            .is_ok_and(|mut file| file.read_exact(&mut first).is_ok() && first == *MAGIC)
}

impl ParquetTable {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// The file cannot be opened, or it has no readable schema. No message quotes the file.
    pub fn open(path: &Path) -> crate::error::Result<Self> {
        let origin = path.display().to_string();
        let remedy = "give the path of a Parquet file that this user can read";
        let file = File::open(path).map_err(|e| Error::io(path, "opening", e, remedy))?;
        let metadata = without_panics(|| read_metadata(&file)).map_err(|_| {
            Error::bad_input(
                &origin,
                "a Parquet file with a schema",
                "a damaged, encrypted or truncated file",
                "write the file again without encryption",
            )
        })?;
        let headers = headers_of(metadata.schema());
        Ok(ParquetTable { origin, file, metadata, headers, reader: None, batch: None })
    }

    /// Starts reading some columns.
    fn start(&self, columns: &[usize]) -> parquet::errors::Result<ParquetRecordBatchReader> {
        let file = self.file.try_clone()?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        builder.with_projection(mask).with_batch_size(BATCH).build()
    }
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread decodes a Parquet file.
///
/// The decoder panics for some damaged files, which is caught and becomes an error. A panic hook
/// prints nothing of such a panic: its text may hold a value of a record.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Calls the decoder, and returns its panics as errors.
fn without_panics<T, E>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, Damaged> {
    DECODING.set(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    decoded.map_err(|_| Damaged)?.map_err(|_| Damaged)
}

/// The decoder failed. Its messages may quote values.
struct Damaged;

/// Reads the schema of a file. Its texts become dictionaries of bytes: reading does not fail for a
/// text that is not UTF-8.
fn read_metadata(file: &File) -> parquet::errors::Result<ArrowReaderMetadata> {
    // A schema of Arrow in the file declares types that Parquet does not have.
    let plain = ArrowReaderMetadata::load(file, ArrowReaderOptions::new())?;
    let bytes = Arc::new(without_texts(plain.parquet_schema())?);
    let field = |field: &Arc<Field>| match is_text(field.data_type()) {
        true => {
            let dictionary =
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Binary));
            Arc::new(field.as_ref().clone().with_data_type(dictionary))
        }
        false => field.clone(),
    };
    let schema = Schema::new(plain.schema().fields().iter().map(field).collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_parquet_schema(bytes);
    ArrowReaderMetadata::load(file, options.with_schema(Arc::new(schema)))
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        _ => false,
    }
}

/// Returns a schema in which columns of text are columns of bytes.
fn without_texts(schema: &SchemaDescriptor) -> parquet::errors::Result<SchemaDescriptor> {
    let root = schema.root_schema();
    let column = |column: &Arc<Type>| {
        let information = column.get_basic_info();
        let is_bytes =
            column.is_primitive() && column.get_physical_type() == PhysicalType::BYTE_ARRAY;
        if !is_bytes || information.converted_type() == ConvertedType::DECIMAL {
            return Ok(column.clone());
        }
        let bytes = Type::primitive_type_builder(column.name(), PhysicalType::BYTE_ARRAY)
            .with_repetition(information.repetition());
        bytes.build().map(Arc::new)
    };
    let columns = root.get_fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(columns).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

impl TypedTable for ParquetTable {
    fn origin(&self) -> &str {
        &self.origin
    }

    fn columns(&self) -> &[ColumnHeader] {
        &self.headers
    }

    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch<'_>>, ReadError> {
        const DAMAGED: ReadError = ReadError::Undecodable("Parquet");
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => without_panics(|| self.start(columns)).map_err(|_| DAMAGED)?,
        };
        self.batch = without_panics(|| reader.next().transpose()).map_err(|_| DAMAGED)?;
        self.reader = Some(reader);
        let Some(batch) = &self.batch else { return Ok(None) };
        // The batch has the columns in the order of the file.
        let mut read: Vec<usize> = columns.to_vec();
        read.sort_unstable();
        read.dedup();
        let values = columns.iter().filter_map(|column| {
            let index = read.binary_search(column).ok()?;
            Some(Values::Array(batch.columns().get(index)?.as_ref() as &dyn Array))
        });
        Ok(Some(Batch { rows: batch.num_rows(), columns: values.collect(), lines: &[] }))
    }
}
