//! Coding and counting of records: `cargo bench --bench tables`.
//!
//! The throughput of coding is in values, that of counting in records times marginals.

use std::io::Write;
use std::time::Duration;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use matmech::Schema;
use matmech::data::table::{CsvTable, FieldCounts, MemoryTable, ParquetTable, TypedTable};
use matmech::data::{OpenTable, OutOfDomain, Records};
use matmech::domain::AttributeSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Records of the table.
const RECORDS: usize = 200_000;

/// Cell numbers of the other attributes.
const SIZES: [usize; 11] = [2, 3, 4, 5, 7, 9, 12, 16, 20, 30, 50];

const REGIONS: [&str; 5] = ["North", "South", "East", "West", "Central"];

type Failure = Box<dyn std::error::Error>;

/// Returns a schema of 15 attributes: two with bins, two with listed texts, eleven of cell numbers.
fn schema() -> Result<Schema, Failure> {
    let mut toml = String::from(
        "[[attribute]]\nname = \"age\"\nsize = 10\nkind = \"numeric\"\n\
         bins = { low = 0, high = 100, count = 10 }\n\
         [[attribute]]\nname = \"income\"\nsize = 20\nkind = \"numeric\"\n\
         bins = { low = 0, high = 200000, count = 20 }\n\
         [[attribute]]\nname = \"sex\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"F\", \"M\"]\n\
         [[attribute]]\nname = \"region\"\nsize = 5\nkind = \"categorical\"\n\
         values = [\"North\", \"South\", \"East\", \"West\", \"Central\"]\n",
    );
    for (k, size) in SIZES.iter().enumerate() {
        toml += &format!("[[attribute]]\nname = \"c{k}\"\nsize = {size}\nkind = \"categorical\"\n");
    }
    Ok(Schema::from_toml(&toml, "S.toml")?)
}

fn batch() -> Result<RecordBatch, Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut numbers = |size: i32| -> ArrayRef {
        std::sync::Arc::new(Int32Array::from_iter_values(
            (0..RECORDS).map(|_| rng.random_range(0..size)),
        ))
    };
    let mut columns =
        vec![("age".to_owned(), numbers(100)), ("income".to_owned(), numbers(199_999))];
    columns
        .extend(SIZES.iter().enumerate().map(|(k, &size)| (format!("c{k}"), numbers(size as i32))));
    let mut texts = |values: &[&str]| -> ArrayRef {
        std::sync::Arc::new(StringArray::from_iter_values(
            (0..RECORDS).map(|_| values[rng.random_range(0..values.len())]),
        ))
    };
    columns.push(("sex".to_owned(), texts(&["F", "M"])));
    columns.push(("region".to_owned(), texts(&REGIONS)));
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn csv(batch: &RecordBatch) -> Result<Vec<u8>, Failure> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    let mut text = Vec::new();
    let names: Vec<&str> =
        batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    writeln!(text, "{}", names.join(","))?;
    for row in 0..batch.num_rows() {
        for (index, column) in batch.columns().iter().enumerate() {
            let end = if index + 1 == batch.num_columns() { '\n' } else { ',' };
            match column.as_primitive_opt::<Int32Type>() {
                Some(numbers) => write!(text, "{}{end}", numbers.value(row))?,
                None => write!(text, "{}{end}", column.as_string::<i32>().value(row))?,
            }
        }
    }
    Ok(text)
}

fn read(table: Box<dyn TypedTable>, schema: &Schema) -> Result<Records, Failure> {
    let kept = AttributeSet::first(schema.attributes().len());
    let open = OpenTable::new(table, schema, None)?;
    Ok(open.read_private(schema, OutOfDomain::Drop, kept)?)
}

fn benchmarks(criterion: &mut Criterion) -> Result<(), Failure> {
    let (schema, batch) = (schema()?, batch()?);
    let text = csv(&batch)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("records.parquet");
    let file = std::fs::File::create(&path)?;
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    let memory = MemoryTable::of_batches(&batch.schema(), vec![batch]);
    let mut group = criterion.benchmark_group("coding");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    group.throughput(Throughput::Elements((RECORDS * schema.attributes().len()) as u64));
    group.bench_function("csv", |b| {
        b.iter(|| {
            let source = Box::new(std::io::Cursor::new(text.clone()));
            let table = CsvTable::from_source(source, "records.csv", FieldCounts::Any);
            table.map_err(Failure::from).and_then(|table| read(Box::new(table), &schema))
        });
    });
    group.bench_function("parquet", |b| {
        b.iter(|| {
            let table = ParquetTable::open(&path).map_err(Failure::from);
            table.and_then(|table| read(Box::new(table), &schema))
        });
    });
    group.bench_function("arrow", |b| b.iter(|| read(Box::new(memory.reader()), &schema)));
    group.finish();

    let records = read(Box::new(memory.reader()), &schema)?;
    let all = AttributeSet::first(schema.attributes().len());
    let mut group = criterion.benchmark_group("counting");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for size in [2, 3] {
        let sets: Vec<AttributeSet> = all.of_size(size).collect();
        group.throughput(Throughput::Elements((RECORDS * sets.len()) as u64));
        group.bench_function(format!("{size}-way"), |b| b.iter(|| records.marginals(&sets)));
    }
    group.finish();
    Ok(())
}

fn tables(criterion: &mut Criterion) {
    if let Err(error) = benchmarks(criterion) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

criterion_group!(benches, tables);
criterion_main!(benches);
