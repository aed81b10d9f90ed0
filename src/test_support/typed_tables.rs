//! Equal tables from every source, with every type of column.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array,
    Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use crate::access::CountSource;
use crate::data::table::{
    CsvTable, FieldCounts, MemoryColumn, MemoryTable, ParquetTable, TypedTable, is_parquet,
};
use crate::data::{CountedMarginals, CountedRows, MarginalEngine, OpenTable, OutOfDomain, Records};
use crate::domain::{AttributeSet, coordinates};
use crate::schema::Schema;

/// Every kind of coding.
pub(crate) const SCHEMA: &str = r#"
    [[attribute]]
    name = "number"
    size = 6
    kind = "numeric"
    bins = { low = -2, high = 10, count = 6 }
    [[attribute]]
    name = "decimal"
    size = 4
    kind = "numeric"
    bins = { low = 0, high = 1, count = 4 }
    [[attribute]]
    name = "cell"
    size = 5
    kind = "categorical"
    other = 4
    [[attribute]]
    name = "text"
    size = 4
    kind = "categorical"
    values = ["a", "é, \"x\"", "02139", "7"]
    [[attribute]]
    name = "flag"
    size = 2
    kind = "categorical"
    values = [false, true]
    [[attribute]]
    name = "day"
    size = 3
    kind = "categorical"
    values = [2024-02-29, 1969-12-31, 1970-01-01]
"#;

/// The attributes of [`SCHEMA`] with cells for other and missing values, open ends and integers.
pub(crate) const SCHEMA_OF_ALL_CELLS: &str = r#"
    [[attribute]]
    name = "number"
    kind = "integer"
    bins = { low = -2, high = 9, count = 4 }
    below = true
    missing = "7.5"
    [[attribute]]
    name = "decimal"
    kind = "numeric"
    edges = [0, 0.25, 0.3, 1]
    above = true
    other = "negative"
    missing = "unknown"
    [[attribute]]
    name = "cell"
    kind = "categorical"
    size = 4
    missing = "5"
    [[attribute]]
    name = "text"
    kind = "categorical"
    values = ["a", "02139"]
    other = "7"
    missing = "2139"
    [[attribute]]
    name = "flag"
    kind = "categorical"
    values = [false]
    other = "true"
    missing = "true"
    [[attribute]]
    name = "day"
    kind = "categorical"
    values = [2024-02-29]
    missing = "1970-01-01"
    other = 2024-02-29
"#;

/// A record: whole number, hundredths of a decimal, cell, text, flag and day; `None` is missing.
pub(crate) type Row = (
    Option<i8>,
    Option<i8>,
    Option<i8>,
    Option<&'static str>,
    Option<bool>,
    Option<i16>,
    Option<u8>,
);

pub(crate) fn row() -> impl Strategy<Value = Row> {
    let text =
        prop::sample::select(vec!["a", "é, \"x\"", "02139", "7", " a ", "b\r\nc", "2139", ""]);
    let day = prop::sample::select(vec![19_782i16, -1, 0, 5]);
    (
        prop::option::weighted(0.9, -4i8..12),
        prop::option::weighted(0.9, -25i8..126),
        prop::option::weighted(0.9, -1i8..6),
        prop::option::weighted(0.9, text),
        prop::option::weighted(0.9, any::<bool>()),
        prop::option::weighted(0.9, day),
        prop::option::weighted(0.9, 0u8..4),
    )
}

fn collect<T, A: FromIterator<Option<T>> + Array + 'static>(
    rows: &[Row],
    value: impl Fn(&Row) -> Option<T>,
) -> ArrayRef {
    Arc::new(rows.iter().map(value).collect::<A>())
}

/// The columns of rows in some Arrow types, chosen by `variant`.
pub(crate) fn columns(rows: &[Row], variant: usize) -> Vec<(&'static str, ArrayRef)> {
    let number = match variant % 4 {
        0 => collect::<_, Int8Array>(rows, |row| row.0),
        1 => collect::<_, Int16Array>(rows, |row| row.0.map(i16::from)),
        2 => collect::<_, Float32Array>(rows, |row| row.0.map(f32::from)),
        _ => collect::<_, Int64Array>(rows, |row| row.0.map(i64::from)),
    };
    let hundredths = |row: &Row| row.1.map(f64::from);
    let decimal = match variant % 3 {
        0 => collect::<_, Float64Array>(rows, |row| hundredths(row).map(|x| x / 100.0)),
        1 => collect::<_, Float32Array>(rows, |row| hundredths(row).map(|x| (x / 100.0) as f32)),
        _ => {
            let digits = rows.iter().map(|row| row.1.map(i128::from));
            let array = digits.collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(20, 2).unwrap())
        }
    };
    // A negative number has no unsigned type; another number outside the cells replaces it.
    let unsigned = |row: &Row| row.2.map(|cell| if cell < 0 { 200 } else { cell as u8 });
    let cell = match variant % 5 {
        0 => collect::<_, UInt8Array>(rows, unsigned),
        1 => collect::<_, UInt16Array>(rows, |row| unsigned(row).map(u16::from)),
        2 => collect::<_, UInt32Array>(rows, |row| unsigned(row).map(u32::from)),
        3 => collect::<_, UInt64Array>(rows, |row| unsigned(row).map(u64::from)),
        _ => collect::<_, Int32Array>(rows, |row| row.2.map(i32::from)),
    };
    let text: ArrayRef = match variant % 6 {
        0 => collect::<_, StringArray>(rows, |row| row.3),
        1 => collect::<_, LargeStringArray>(rows, |row| row.3),
        2 => collect::<_, StringViewArray>(rows, |row| row.3),
        3 => collect::<_, BinaryArray>(rows, |row| row.3.map(str::as_bytes)),
        4 => collect::<_, BinaryViewArray>(rows, |row| row.3.map(str::as_bytes)),
        _ => {
            let mut builder = StringDictionaryBuilder::<Int16Type>::new();
            rows.iter().for_each(|row| builder.append_option(row.3));
            Arc::new(builder.finish())
        }
    };
    let flag = collect::<_, BooleanArray>(rows, |row| row.4);
    let seconds = |row: &Row| row.5.map(|day| i64::from(day) * 86_400);
    let day = match variant % 4 {
        0 => collect::<_, Date32Array>(rows, |row| row.5.map(i32::from)),
        1 => collect::<_, Date64Array>(rows, |row| seconds(row).map(|time| time * 1_000)),
        2 => collect::<_, TimestampSecondArray>(rows, seconds),
        _ => collect::<_, TimestampMicrosecondArray>(rows, |row| {
            seconds(row).map(|time| time * 1_000_000)
        }),
    };
    let person = match variant % 2 {
        0 => collect::<_, Int32Array>(rows, |row| row.6.map(i32::from)),
        _ => collect::<_, StringArray>(rows, |row| row.6.map(|person| person.to_string())),
    };
    vec![
        ("person", person),
        ("day", day),
        ("number", number),
        ("decimal", decimal),
        ("cell", cell),
        ("text", text),
        ("flag", flag),
    ]
}

pub(crate) fn batch(columns: &[(&'static str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap()
}

pub(crate) fn parquet(
    folder: &std::path::Path,
    batch: &RecordBatch,
    variant: usize,
) -> ParquetTable {
    let codec = match variant % 4 {
        0 => Compression::SNAPPY,
        1 => Compression::ZSTD(ZstdLevel::default()),
        2 => Compression::GZIP(GzipLevel::default()),
        _ => Compression::UNCOMPRESSED,
    };
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(variant.is_multiple_of(2))
        .set_max_row_group_row_count(Some(7))
        .build();
    let path = folder.join(format!("{variant}.data"));
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties))
            .unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    assert!(is_parquet(&path));
    ParquetTable::open(&path).unwrap()
}

/// The rows as CSV text with the given spelling of booleans and numbers.
pub(crate) fn csv(rows: &[Row]) -> CsvTable {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["person", "day", "number", "decimal", "cell", "text", "flag"]).unwrap();
    let days = |day: i16| match day {
        19_782 => "2024-02-29",
        -1 => "1969-12-31",
        0 => "1970-01-01",
        _ => "1970-01-06",
    };
    for row in rows {
        let or_empty = |text: Option<String>| text.unwrap_or_default();
        writer
            .write_record([
                or_empty(row.6.map(|person| person.to_string())),
                or_empty(row.5.map(|day| days(day).to_owned())),
                or_empty(row.0.map(|number| number.to_string())),
                or_empty(row.1.map(|hundredths| (f64::from(hundredths) / 100.0).to_string())),
                or_empty(row.2.map(|cell| cell.to_string())),
                or_empty(row.3.map(str::to_owned)),
                or_empty(row.4.map(|flag| flag.to_string())),
            ])
            .unwrap();
    }
    let bytes = writer.into_inner().unwrap();
    CsvTable::from_source(Box::new(std::io::Cursor::new(bytes)), "X.csv", FieldCounts::Any).unwrap()
}

/// Returns the rows as a table of every kind: CSV, columns in memory, record batches of three
/// records, and Parquet.
pub(crate) fn tables(
    rows: &[Row],
    variant: usize,
    folder: &std::path::Path,
) -> [Box<dyn TypedTable>; 4] {
    let columns = columns(rows, variant);
    let all = batch(&columns);
    let parts = (0..rows.len()).step_by(3);
    let parts = parts.map(|start| all.slice(start, 3.min(rows.len() - start)));
    let batches = MemoryTable::of_batches(&all.schema(), parts.collect());
    let parquet = parquet(folder, &all, variant);
    let named = columns.into_iter().map(|(name, array)| (name.to_owned(), array));
    let named = named.map(|(name, array)| (name, MemoryColumn::Array(array)));
    let memory = MemoryTable::new(named.collect()).unwrap();
    [Box::new(csv(rows)), Box::new(memory.reader()), Box::new(batches.reader()), Box::new(parquet)]
}

/// An engine that counts records.
struct RecordEngine(Records);

impl MarginalEngine for RecordEngine {
    fn count(&self, attributes: AttributeSet) -> crate::error::Result<CountedRows> {
        let sizes = attributes.select(self.0.sizes());
        let counts = self.0.marginal(attributes)?.into_iter().enumerate();
        let row = |(cell, count): (usize, f64)| {
            let cell = coordinates(&sizes, cell).into_iter().map(|x| x as i128);
            cell.chain([count as i128]).collect()
        };
        Ok(counts.filter(|(_, count)| *count > 0.0).map(row).collect())
    }
}

/// Returns the records of [`tables`], and an engine that counts those of the first.
pub(crate) fn count_sources(
    rows: &[Row],
    variant: usize,
    folder: &std::path::Path,
    schema: &Schema,
) -> Vec<Box<dyn CountSource>> {
    let kept = AttributeSet::first(schema.attributes().len());
    let records = |table: Box<dyn TypedTable>| {
        let table = OpenTable::new(table, schema, None).unwrap();
        table.read_private(schema, OutOfDomain::Drop, kept).unwrap()
    };
    let engine = Arc::new(RecordEngine(records(Box::new(csv(rows)))));
    let counted = CountedMarginals::new(schema, Some(engine));
    let mut sources: Vec<Box<dyn CountSource>> = vec![Box::new(counted)];
    sources.extend(tables(rows, variant, folder).map(|table| Box::new(records(table)) as _));
    sources
}
