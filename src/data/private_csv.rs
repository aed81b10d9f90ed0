//! CSV files whose records nobody may learn anything of: no message, no count and no failure depends on them.

use std::io::Read;
use std::path::Path;

use super::Records;
use super::column::Column;
use super::csv_file::{Coded, Coder, place};
use crate::error::{Error, Result};
use crate::schema::Schema;

/// What a release does with a value outside the schema. The rule looks at nothing but the record at hand, so one record more or
/// less in the file is at most one record more or less in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfDomainRule {
    /// The record is left out.
    Drop,
    /// A number outside the range of a numeric attribute gets the nearest cell; where there is none the record is left out.
    Clamp,
}

/// Reads a CSV file for a release: columns by the names of the schema's attributes, others ignored, spaces around values too.
///
/// A record that is too short, or whose bytes are no UTF-8 where the schema looks, is outside the schema like any other; a table
/// without records is a table. Only the header, which is public, and the file as such can be at fault.
/// *Memory*: the table's. *Time*: O(values · log size).
///
/// # Errors
/// A file that cannot be read to its end, or a header without one column per attribute. More than 2³² − 1 records.
pub fn read_private_csv(path: &Path, schema: &Schema, rule: OutOfDomainRule) -> Result<Records> {
    let origin = path.display().to_string();
    let remedy = "give the path of a CSV file with a header line";
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, "opening", e, remedy))?;
    read_private_csv_from(file, &origin, schema, rule)
}

/// [`read_private_csv`] from any source of bytes; `origin` (the file name) goes into messages.
///
/// # Errors
/// As [`read_private_csv`].
pub fn read_private_csv_from(
    source: impl Read,
    origin: &str,
    schema: &Schema,
    rule: OutOfDomainRule,
) -> Result<Records> {
    let unreadable = |e: csv::Error| match e.into_kind() {
        csv::ErrorKind::Io(source) => Error::io(Path::new(origin), "reading", source, "make the whole file readable"),
        // What else the reader says would quote the file.
        _ => Error::bad_input(origin, "a CSV file with a header line", "another", "check the header of the file"),
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(source);
    let mut header = reader.headers().map_err(unreadable)?.clone();
    header.trim();
    let attributes = schema.attributes();
    let places: Vec<usize> = attributes.iter().map(|a| place(&header, &a.name, origin)).collect::<Result<_>>()?;
    let coders: Vec<Coder<'_>> = (0..attributes.len()).map(|p| Coder::new(schema, p)).collect();
    let mut table = vec![Column::default(); attributes.len()];
    let mut kept = 0u64;
    let mut line = csv::ByteRecord::new();
    let mut cells = vec![0; attributes.len()];
    while reader.read_byte_record(&mut line).map_err(unreadable)? {
        let inside = coders.iter().zip(&places).zip(&mut cells).all(|((coder, &place), cell)| {
            let value = line.get(place).and_then(|bytes| std::str::from_utf8(bytes).ok());
            *cell = match (value.map(|value| coder.code(value.trim())), rule) {
                (Some(Coded::Cell(cell)), _) => cell,
                (Some(Coded::Nearest(cell)), OutOfDomainRule::Clamp) => cell,
                _ => return false,
            };
            true
        });
        if inside {
            kept += 1;
            if kept > u64::from(u32::MAX) {
                let remedy = "release parts of the table one by one";
                return Err(Error::too_large("table", "records", u32::MAX.into(), kept as f64, remedy));
            }
            table.iter_mut().zip(&cells).for_each(|(column, &cell)| column.push(cell));
        }
    }
    Records::new(schema, table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "[[attribute]]\nname = \"age\"\nsize = 4\nkind = \"numeric\"\nbins = { low = 0, high = 40, count = 4 }\n\
                          [[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"clerk\", \"baker\"]\n";

    fn read(bytes: &[u8], rule: OutOfDomainRule) -> Result<Vec<Vec<u32>>> {
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        let records = read_private_csv_from(bytes, "X.csv", &schema, rule)?;
        Ok((0..2).map(|p| records.column(p).unwrap().collect()).collect())
    }

    #[test]
    fn records_outside_the_schema_change_nothing_else() {
        let text = b"age,job,id\n5,clerk,1\n, ,\n15\n35,baker,7,8,9\n99,clerk,2\n\xff\xfe,clerk,3\n25,\xff,3\n20,cook,1\n 25 , baker ,4\n";
        assert_eq!(read(text, OutOfDomainRule::Drop).unwrap(), [[0, 3, 2], [0, 1, 1]]);
        assert_eq!(read(text, OutOfDomainRule::Clamp).unwrap(), [[0, 3, 3, 2], [0, 1, 0, 1]]);
        let none: [Vec<u32>; 2] = [vec![], vec![]];
        for empty in [&b"age,job\n"[..], b"age,job", b"job,age\nx,y\n"] {
            assert_eq!(read(empty, OutOfDomainRule::Drop).unwrap(), none);
        }
    }

    #[test]
    fn only_the_header_can_be_wrong() {
        for text in [&b""[..], b"age\n5\n", b"age,job,age\n5,clerk,5\n"] {
            assert!(read(text, OutOfDomainRule::Drop).unwrap_err().to_string().contains("X.csv"));
        }
        let message = read(b"a\xffge,job\nsecret,clerk\n", OutOfDomainRule::Drop).unwrap_err().to_string();
        assert!(!message.contains("secret"), "{message}");
    }
}
