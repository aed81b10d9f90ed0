//! Records and tables of tests.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use crate::data::table::{CsvTable, FieldCounts};
use crate::data::{Column, OpenTable, OutOfDomain, PersonLimit, Records};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::privacy::Rho;
use crate::schema::Schema;

pub(crate) fn rho(x: f64) -> Rho {
    Rho::new(x).unwrap()
}

/// Returns a CSV text as a table of a schema.
pub(crate) fn open_csv(
    bytes: impl Into<Vec<u8>>,
    schema: &Schema,
    person: Option<PersonLimit>,
) -> Result<OpenTable> {
    let source = Box::new(std::io::Cursor::new(bytes.into()));
    let table = CsvTable::from_source(source, "X.csv", FieldCounts::Any)?;
    OpenTable::new(Box::new(table), schema, person)
}

/// Returns the records of a CSV text as a release reads them.
pub(crate) fn read_csv(
    bytes: impl Into<Vec<u8>>,
    schema: &Schema,
    rule: OutOfDomain,
    person: Option<PersonLimit>,
) -> Result<Records> {
    let kept = AttributeSet::first(schema.attributes().len());
    open_csv(bytes, schema, person)?.read_private(schema, rule, kept)
}

/// Records with dependent attributes: each value is the previous one, or uniformly random.
pub(crate) fn dependent(schema: &Schema, count: usize, rng: &mut ChaCha20Rng) -> Records {
    let mut columns = vec![Column::default(); schema.attributes().len()];
    for _ in 0..count {
        let mut previous = 0;
        for (column, attribute) in columns.iter_mut().zip(schema.attributes()) {
            let size = attribute.size as u32;
            let copied = rng.random::<f64>() < 0.6;
            previous = if copied { previous % size } else { rng.random_range(0..size) };
            column.push(previous);
        }
    }
    Records::new(schema, columns).unwrap()
}
