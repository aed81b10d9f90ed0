//! Output of records as a CSV file.

use std::fs::File;
use std::path::Path;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::records::Records;
use crate::error::{Error, Result};
use crate::schema::{Coding, Schema};

/// The seed of the integers drawn from bins: equal records are written as equal files.
const SEED: u64 = 1;

const REMEDY: &str = "choose a file in a folder that can be written, and free disk space";

/// Writes records with the names and values of the schema, and syncs the file to the disk.
///
/// A bin is written as its midpoint, a bin of integers as one of them, drawn uniformly with a fixed
/// seed, the cell of other or missing values as its label, and a cell of an attribute without values
/// or bins as its number. [`read_csv`](super::read_csv) reads the file with the same schema as the
/// same cells.
///
/// # Errors
/// A file that cannot be written.
pub fn write_csv(path: &Path, schema: &Schema, records: &Records) -> Result<()> {
    let io = |e| Error::io(path, "writing", e, REMEDY);
    let refuse = |error: csv::Error| io(error.into());
    let mut file = csv::Writer::from_writer(File::create(path).map_err(io)?);
    file.write_record(schema.attributes().iter().map(|a| a.name.as_str())).map_err(refuse)?;
    let mut columns: Vec<_> =
        (0..schema.attributes().len()).filter_map(|p| records.column(p)).collect();
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    for _ in 0..records.len() {
        let cells = columns.iter_mut().enumerate();
        let line: Vec<String> = cells
            .map(|(p, c)| value(schema, p, c.next().unwrap_or(0) as usize, &mut rng))
            .collect();
        file.write_record(&line).map_err(refuse)?;
    }
    file.flush().map_err(io)?;
    file.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)
}

/// Returns the text of a cell of an attribute in a CSV file.
fn value(schema: &Schema, position: usize, cell: usize, rng: &mut impl Rng) -> String {
    if let Some(label) = schema.label(position, cell) {
        return label.to_string();
    }
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell).map(ToString::to_string).unwrap_or_default()
        }
        Some(Coding::Bins(bins)) => match bins.integers(cell) {
            Some((first, last)) => rng.random_range(first..=last).to_string(),
            None => bins.midpoint(cell).to_string(),
        },
        _ => cell.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, read_csv};

    /// Records of every cell are read back as the same cells.
    #[test]
    fn written_records_are_read_as_the_same_cells() {
        let schema = Schema::from_toml(
            "[[attribute]]\nname = \"a\"\nkind = \"numeric\"\nbelow = true\nabove = true\n\
             other = \"else\"\nmissing = \"unknown\"\nedges = [0, 0.1, 7]\n\
             [[attribute]]\nname = \"b\"\nkind = \"integer\"\nbelow = true\nabove = true\n\
             missing = \"none\"\nbins = { low = 0, high = 25, count = 3 }\n\
             [[attribute]]\nname = \"c\"\nkind = \"integer\"\nabove = true\nedges = [1, 2, 3.5]\n\
             [[attribute]]\nname = \"d\"\nkind = \"categorical\"\nvalues = [1, \"x\"]\nother = \"y\"\n\
             [[attribute]]\nname = \"e\"\nkind = \"numeric\"\nsize = 2\nmissing = \"none\"\n",
            "S.toml",
        )
        .unwrap();
        assert_eq!(schema.sizes(), [6, 6, 3, 3, 3]);
        let columns: Vec<Column> =
            schema.sizes().iter().map(|&n| (0..600).map(|k| (k % n) as u32).collect()).collect();
        let records = Records::new(&schema, columns).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("X.csv");
        write_csv(&path, &schema, &records).unwrap();
        let again = read_csv(&path, &schema, None).unwrap().records;
        for position in 0..schema.attributes().len() {
            let cells = |records: &Records| records.column(position).unwrap().collect::<Vec<_>>();
            assert_eq!(cells(&again), cells(&records), "{position}");
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let integers: std::collections::BTreeSet<&str> =
            text.lines().skip(2).step_by(6).map(|line| line.split(',').nth(1).unwrap()).collect();
        assert_eq!(integers.len(), 9, "0 to 8: {integers:?}");
        write_csv(&path, &schema, &records).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
