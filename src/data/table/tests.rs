//! Equal tables have equal cells from every source, and their neighbours have neighbouring counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, BinaryArray};
use proptest::prelude::*;

use super::*;
use crate::Schema;
use crate::data::{OpenTable, OutOfDomain, PersonLimit, Records, check, draft_schema};
use crate::domain::AttributeSet;
use crate::schema::ColumnType;
use crate::test_support::typed_tables::{
    Row, SCHEMA, SCHEMA_OF_ALL_CELLS, batch, columns, csv, parquet, row, tables,
};

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
        let folder = tempfile::tempdir().unwrap();
        let [csv, others @ ..] = tables(&rows, variant, folder.path());
        let expected = cells(csv, schema, rule, limit);
        for table in others {
            prop_assert_eq!(&cells(table, schema, rule, limit), &expected);
        }
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
