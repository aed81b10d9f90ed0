//! What every parser must do with any text: read it or refuse it, and read again what it writes.
//!
//! Each function is the body of a fuzz target, and is called with seeded mutations by
//! `tests/library/mutations.rs`. It returns the error of a text that is refused, and panics if a
//! text that is read does not have the properties it should.

use std::path::Path;

use matmech::data::{Column, read_csv, write_csv};
use matmech::release::{Ledger, LockWait, Measurements};
use matmech::{Error, GroupedWorkload, Records, Result, Rho, Schema, Workload};
use matmech::{hash, mechanism, planner, strategy};

/// The schema of the tables and of the workload files.
pub const SCHEMA: &str = include_str!("../seeds/schema.toml");

/// A ledger with a completed and an open reservation.
pub const LEDGER: &str = include_str!("../seeds/ledger.jsonl");

/// The files of a release by name, without their checksums; the first is that of the noisy answers.
pub const MEASUREMENTS: [(&str, &str); 4] = [
    ("noisy.csv", include_str!("../seeds/noisy.csv")),
    ("strategies.json", include_str!("../seeds/strategies.json")),
    ("statement.json", include_str!("../seeds/statement.json")),
    ("schema.toml", SCHEMA),
];

/// Maximum number of values of an attribute that are written and read again.
const MAX_VALUES: usize = 100;

/// Reads a text and then the text that it writes, and compares what the two write.
fn same_again<T: PartialEq + std::fmt::Debug>(
    text: &str,
    read: impl Fn(&str) -> Result<(String, T)>,
) -> Result<()> {
    let (written, first) = read(text)?;
    let again = read(&written);
    assert!(again.is_ok(), "{text:?} is written {written:?}, which is refused: {again:?}");
    again.map(|again| assert_eq!((written, first), again, "{text:?}"))
}

/// Reads the call of a strategy; its name is a call of the same strategy.
///
/// # Errors
/// The text is refused.
pub fn strategy(text: &str) -> Result<()> {
    same_again(text, |text| Ok((strategy::by_name(text)?.name().to_owned(), ())))
}

/// Reads the call of a planner; its name is a call of the same planner.
///
/// # Errors
/// The text is refused.
pub fn planner(text: &str) -> Result<()> {
    same_again(text, |text| Ok((planner::by_name(text)?.name().to_owned(), ())))
}

/// Reads the call of a mechanism; its name is a call of the same mechanism.
///
/// # Errors
/// The text is refused.
pub fn mechanism(text: &str) -> Result<()> {
    same_again(text, |text| Ok((mechanism::by_name(text)?.name().to_owned(), ())))
}

/// Reads a workload string; its name is a workload with the same domain and as many queries.
///
/// # Errors
/// The text is refused.
pub fn workload(text: &str) -> Result<()> {
    same_again(text, |text| {
        let workload = Workload::parse(text)?;
        let facts = (workload.shape().to_vec(), workload.count().to_string());
        Ok((workload.name().to_owned(), facts))
    })
}

/// Reads a schema; its values, written to a table, are read as the same cells.
///
/// # Errors
/// The text is refused.
pub fn schema(text: &str) -> Result<()> {
    let schema = Schema::from_toml(text, "S.toml")?;
    let sizes = schema.sizes();
    let records = sizes.iter().copied().max().unwrap_or(0).min(MAX_VALUES);
    let cell = |record: usize, size: usize| u32::try_from(record % size).unwrap_or(0);
    let columns = sizes.iter().map(|&size| {
        let mut column = Column::for_size(size);
        (0..records).for_each(|record| column.push(cell(record, size)));
        column
    });
    // Attributes of more than 2³² values have no columns.
    let Ok(records) = Records::new(&schema, columns.collect()) else { return Ok(()) };
    assert_same_records(&schema, &records)
}

/// Reads a table with [`SCHEMA`]; its records, written to a table, are read as the same cells.
///
/// # Errors
/// The text is refused.
pub fn csv(text: &[u8]) -> Result<()> {
    let schema = Schema::from_toml(SCHEMA, "S.toml")?;
    let folder = folder()?;
    let path = folder.path().join("X.csv");
    write(&path, text)?;
    assert_same_records(&schema, &read_csv(&path, &schema, None)?.records)
}

fn assert_same_records(schema: &Schema, records: &Records) -> Result<()> {
    let folder = folder()?;
    let path = folder.path().join("again.csv");
    let again = write_csv(&path, schema, records).and_then(|()| read_csv(&path, schema, None));
    assert!(again.is_ok(), "{schema:?}: {again:?}");
    let again = again?;
    assert_eq!((again.dropped, again.clamped), (0, 0));
    for position in 0..schema.attributes().len() {
        let cells = |records: &Records| records.column(position).map(Iterator::collect::<Vec<u32>>);
        assert_eq!(cells(records), cells(&again.records), "attribute {position} of {schema:?}");
    }
    Ok(())
}

/// Reads a workload file for [`SCHEMA`]; its groups have the sizes of the schema and valid weights.
///
/// # Errors
/// The text is refused.
pub fn workload_file(text: &str) -> Result<()> {
    let schema = Schema::from_toml(SCHEMA, "S.toml")?;
    let workload = GroupedWorkload::from_toml(&schema, text, "W.toml", Path::new("."))?;
    assert!(!workload.groups().is_empty());
    for group in workload.groups() {
        assert_eq!(group.sizes(), schema.shape_of(group.attributes())?);
        assert!(group.weight() > 0.0 && group.weight().is_finite());
    }
    Ok(())
}

/// Reads a ledger, and reserves what is left: nothing remains, and lines are only added.
///
/// # Errors
/// The text is refused.
pub fn ledger(text: &[u8]) -> Result<()> {
    let folder = folder()?;
    let path = folder.path().join("L.jsonl");
    write(&path, text)?;
    let ledger = Ledger::open(&path, LockWait::default())?;
    let before = ledger.balance()?;
    assert!((0.0..=before.total.get()).contains(&before.left), "{before:?}");
    assert!(before.unsettled <= before.reservations);
    let Ok(left) = Rho::new(before.left) else { return Ok(()) };
    let reservation = ledger.reserve(left, before.unit, before.person.as_deref(), "a test")?;
    assert_eq!(reservation.rho(), left);
    let after = ledger.balance()?;
    assert!(after.spent >= before.spent && after.left < before.total.get() * 1e-15, "{after:?}");
    assert_eq!(after.reservations, before.reservations + 1);
    ledger.settle(reservation)?;
    assert_eq!(ledger.balance()?.unsettled, before.unsettled);
    // The first line, of fixed length, counts the lines.
    let written = read(&path)?;
    let first = text.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    assert!(written[first..].starts_with(&text[first..]));
    Ok(())
}

/// Reads a release of which one file is another text; what is written is read, and written again as it was.
///
/// # Errors
/// The text is refused.
pub fn measurements(file: &str, text: &[u8]) -> Result<()> {
    let folder = folder()?;
    let folder = folder.path();
    let files =
        MEASUREMENTS.map(|(name, seed)| (name, if name == file { text } else { seed.as_bytes() }));
    let mut sums = String::new();
    for (name, bytes) in files {
        write(&folder.join(name), bytes)?;
        sums.push_str(&format!("{}  {name}\n", hash::sha256(bytes)));
    }
    write(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    let rewritten = || -> Result<Vec<Vec<u8>>> {
        Measurements::read(folder)?.write(folder)?;
        files.iter().map(|(name, _)| read(&folder.join(name))).collect()
    };
    let first = rewritten()?;
    let again = rewritten();
    assert!(again.is_ok(), "{file} is written so that it is refused: {again:?}");
    assert_eq!(first, again?, "{file}");
    Ok(())
}

fn folder() -> Result<tempfile::TempDir> {
    let refuse = |e| Error::io(&std::env::temp_dir(), "creating a folder in", e, "free disk space");
    tempfile::tempdir().map_err(refuse)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io(path, "reading", e, "run the test again"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io(path, "writing", e, "free disk space"))
}
