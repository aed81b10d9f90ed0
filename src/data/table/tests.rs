//! Equal tables have equal cells from every source, and their neighbours have neighbouring counts.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

use super::*;
use crate::Schema;
use crate::data::{OpenTable, OutOfDomain, PersonLimit, Records, check, draft_schema};
use crate::domain::AttributeSet;
use crate::schema::ColumnType;

/// Every kind of coding.
const SCHEMA: &str = r#"
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
const SCHEMA_OF_ALL_CELLS: &str = r#"
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
type Row = (
    Option<i8>,
    Option<i8>,
    Option<i8>,
    Option<&'static str>,
    Option<bool>,
    Option<i16>,
    Option<u8>,
);

fn row() -> impl Strategy<Value = Row> {
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
fn columns(rows: &[Row], variant: usize) -> Vec<(&'static str, ArrayRef)> {
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

fn batch(columns: &[(&'static str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap()
}

fn parquet(folder: &std::path::Path, batch: &RecordBatch, variant: usize) -> ParquetTable {
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
fn csv(rows: &[Row]) -> CsvTable {
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

fn cells(
    table: Box<dyn TypedTable>,
    schema: &str,
    rule: OutOfDomain,
    limit: Option<u32>,
) -> Vec<Vec<u32>> {
    let schema = Schema::from_toml(schema, "S.toml").unwrap();
    let person = limit.map(|rows| PersonLimit::new("person", rows));
    let kept = AttributeSet::first(schema.attributes().len());
    let table = OpenTable::new(table, &schema, person).unwrap();
    let records: Records = table.read_private(&schema, rule, kept).unwrap();
    (0..schema.attributes().len()).map(|p| records.column(p).unwrap().collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn equal_tables_have_equal_cells_from_every_source(
        rows in prop::collection::vec(row(), 0..40),
        variant in 0usize..60,
        clamp in any::<bool>(),
        limit in prop::option::of(1u32..4),
        schema in prop::sample::select(vec![SCHEMA, SCHEMA_OF_ALL_CELLS]),
    ) {
        let rule = if clamp { OutOfDomain::Clamp } else { OutOfDomain::Drop };
        let expected = cells(Box::new(csv(&rows)), schema, rule, limit);
        let columns = columns(&rows, variant);
        let named = columns.iter().map(|(name, array)| {
            ((*name).to_owned(), MemoryColumn::Array(array.clone()))
        });
        let memory = MemoryTable::new(named.collect()).unwrap();
        prop_assert_eq!(&cells(Box::new(memory.reader()), schema, rule, limit), &expected);
        // Record batches of three records.
        let all = batch(&columns);
        let parts = (0..rows.len()).step_by(3);
        let parts = parts.map(|start| all.slice(start, 3.min(rows.len() - start)));
        let batches = MemoryTable::of_batches(&all.schema(), parts.collect());
        prop_assert_eq!(&cells(Box::new(batches.reader()), schema, rule, limit), &expected);
        let folder = tempfile::tempdir().unwrap();
        let table = parquet(folder.path(), &all, variant);
        prop_assert_eq!(&cells(Box::new(table), schema, rule, limit), &expected);
    }

    /// Tables that differ by one record: the others keep their cells, whatever the record contains:
    /// missing values, values outside, or texts equal to labels.
    #[test]
    fn neighbouring_tables_have_neighbouring_cells(
        rows in prop::collection::vec(row(), 1..20),
        variant in 0usize..60,
        index in any::<prop::sample::Index>(),
        schema in prop::sample::select(vec![SCHEMA, SCHEMA_OF_ALL_CELLS]),
        source in 0usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let read = |rows: &[Row]| {
            let all = batch(&columns(rows, variant));
            let table: Box<dyn TypedTable> = match source {
                0 => Box::new(csv(rows)),
                1 => Box::new(MemoryTable::of_batches(&all.schema(), vec![all]).reader()),
                _ => Box::new(parquet(folder.path(), &all, variant)),
            };
            cells(table, schema, OutOfDomain::Drop, None)
        };
        let index = index.index(rows.len());
        let mut without = rows.clone();
        without.remove(index);
        let (all, kept) = (read(&rows), read(&without));
        let before = read(&rows[..index])[0].len();
        for (all, kept) in all.iter().zip(&kept) {
            let mut all = all.clone();
            if all.len() > kept.len() {
                all.remove(before);
            }
            prop_assert_eq!(&all, kept);
        }
    }
}

/// Bytes that are not UTF-8 equal no value; the other records of the file are read.
#[test]
fn texts_that_are_not_utf_8_are_outside_the_schema() {
    let schema = Schema::from_toml(
        "[[attribute]]\nname = \"text\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"a\", \"b\"]\n",
        "S.toml",
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for bytes in [&b"\xff"[..], b"a\xc3", b"\xed\xa0\x80"] {
        let array: ArrayRef = Arc::new(BinaryArray::from(vec![&b"a"[..], bytes, b"b"]));
        let table = parquet(folder.path(), &batch(&[("text", array)]), 0);
        let open = OpenTable::new(Box::new(table), &schema, None).unwrap();
        let kept = AttributeSet::single(0);
        let records = open.read_private(&schema, OutOfDomain::Drop, kept).unwrap();
        assert_eq!(records.column(0).unwrap().collect::<Vec<_>>(), [0, 1]);
    }
}

/// A damaged file is refused without a word of its records, also if the decoder panics.
#[test]
fn damaged_parquet_files_are_refused() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match is_decoding() {
        true => _ = PANICS.fetch_add(1, Ordering::Relaxed),
        false => hook(panic),
    }));
    let rows: Vec<Row> =
        (0..50).map(|k| (Some(k % 10), None, None, Some("02139"), None, None, None)).collect();
    let folder = tempfile::tempdir().unwrap();
    drop(parquet(folder.path(), &batch(&columns(&rows, 0)), 3));
    let path = folder.path().join("3.data");
    let bytes = std::fs::read(&path).unwrap();
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let mut refused = 0;
    for (position, length) in (0..bytes.len())
        .step_by(bytes.len() / 97)
        .map(|position| (position, bytes.len()))
        .chain((0..bytes.len()).step_by(bytes.len() / 31).map(|length| (0, length)))
    {
        let mut damaged = bytes[..length].to_vec();
        if let Some(byte) = damaged.get_mut(position) {
            *byte ^= 0x55;
        }
        std::fs::write(&path, damaged).unwrap();
        let read = ParquetTable::open(&path).and_then(|table| {
            OpenTable::new(Box::new(table), &schema, None)?.read_private(
                &schema,
                OutOfDomain::Drop,
                AttributeSet::single(0),
            )
        });
        if let Err(error) = read {
            refused += 1;
            let message = error.to_string();
            assert!(message.contains("remedy") && !message.contains("02139"), "{message}");
        }
    }
    assert!(refused > 40, "{refused}");
    assert!(PANICS.load(Ordering::Relaxed) > 0 && !is_decoding());
}

#[test]
fn columns_of_unsupported_types_are_refused_by_their_type_only_if_they_are_used() {
    use arrow_schema::{DataType, Field, TimeUnit};
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    for (kind, words) in [
        (list, "nested"),
        (DataType::Decimal256(40, 0), "more than 38 digits"),
        (DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), "time zone"),
        (DataType::Time64(TimeUnit::Microsecond), "times of day"),
        (DataType::Duration(TimeUnit::Second), "durations"),
    ] {
        let schema = arrow_schema::Schema::new(vec![
            Field::new("a", kind, true),
            Field::new("b", DataType::Int32, true),
        ]);
        let table = MemoryTable::of_batches(&schema, Vec::new());
        let of = |name: &str| {
            let toml =
                format!("[[attribute]]\nname = \"{name}\"\nsize = 2\nkind = \"categorical\"\n");
            Schema::from_toml(&toml, "S.toml").unwrap()
        };
        assert!(OpenTable::new(Box::new(table.reader()), &of("b"), None).is_ok());
        let refused = OpenTable::new(Box::new(table.reader()), &of("a"), None).unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
    }
    let none =
        MemoryTable::new(vec![("a".into(), MemoryColumn::Values(ColumnType::Any, Vec::new()))]);
    assert!(none.is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// A drafted schema has a cell for every value that is not missing, from every source.
    #[test]
    fn drafted_schemas_code_tables_from_every_source(
        rows in prop::collection::vec(row(), 1..40), variant in 0usize..60,
    ) {
        let full = |row: &Row| -> Row {
            (
                row.0.or(Some(3)),
                row.1.or(Some(25)),
                row.2.or(Some(1)),
                row.3.filter(|text| !text.is_empty()).or(Some("a")),
                row.4.or(Some(true)),
                row.5.or(Some(0)),
                row.6.or(Some(2)),
            )
        };
        let rows: Vec<Row> = rows.iter().map(full).collect();
        let columns = columns(&rows, variant);
        let folder = tempfile::tempdir().unwrap();
        let source = |name: &str| -> Box<dyn TypedTable> {
            let batch = batch(&columns);
            match name {
                "csv" => Box::new(csv(&rows)),
                "parquet" => Box::new(parquet(folder.path(), &batch, variant)),
                _ => Box::new(MemoryTable::of_batches(&batch.schema(), vec![batch]).reader()),
            }
        };
        for name in ["csv", "parquet", "arrow"] {
            let text = draft_schema(source(name), 100).unwrap();
            let schema = Schema::from_toml(&text, "S.toml").unwrap();
            let open = OpenTable::new(source(name), &schema, None).unwrap();
            let found = check(open, &schema, OutOfDomain::Drop).unwrap();
            prop_assert_eq!(found.dropped, 0, "{} {}\n{:?}", name, text, found.offences);
        }
    }
}
