//! The tables that experiments can name, and the files of the real ones.
//!
//! A new table is an entry here.

use std::path::PathBuf;

use matmech::data::{Records, read_csv};
use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;

use super::adult::read_adult;
use super::adult_cells::read_adult_cells;
use super::coded_file::read_inferring_domain;
use super::nist_acs::{read_nist_acs, read_nist_demographic};
use super::stand_in::StandIn;

/// A table by its name in configs.
pub(super) struct NamedTable {
    pub(super) name: &'static str,
    /// The origins of the real table, the preferred one first.
    origins: &'static [Origin],
    /// The number of records of the real table and its stand-in.
    records: usize,
    /// The attribute sizes of the real table and its stand-in.
    sizes: &'static [usize],
}

/// An origin of a real table: its files and their reader.
pub(super) struct Origin {
    pub(super) files: &'static [File],
    pub(super) read: Read,
}

/// A file in a folder of data sets.
pub(super) struct File {
    pub(super) name: &'static str,
    /// The entry of the manifest, which determines the SHA-256; `None` for a file of the user, with
    /// any contents.
    pub(super) in_manifest: Option<&'static str>,
}

/// Reads a table from its files.
pub(super) type Read = fn(&[PathBuf]) -> matmech::Result<(Schema, Records)>;

/// All tables, in the order of messages.
pub(super) const TABLES: [NamedTable; 16] = [
    NamedTable {
        name: "adult",
        origins: &[
            Origin { files: &[public("adult15.csv", "adult15")], read: coded },
            Origin {
                files: &[public("adult.data", "adult.data"), public("adult.test", "adult.test")],
                read: |files| read_adult(&files[0], &files[1]),
            },
        ],
        records: 48_842,
        sizes: &[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2],
    },
    NamedTable {
        name: "loans",
        origins: &[Origin { files: &[of_user("loans.csv")], read: coded }],
        records: 42_535,
        sizes: &[
            2, 2, 2, 2, 3, 4, 5, 5, 5, 7, 11, 12, 21, 23, 28, 45, 47, 47, 52, 54, 57, 60, 63, 63,
            66, 67, 68, 70, 70, 71, 75, 75, 76, 78, 78, 79, 81, 90, 93, 93, 100, 100, 100,
        ],
    },
    NamedTable {
        name: "acs",
        origins: &[Origin { files: &[of_user("acs.csv")], read: coded }],
        records: 378_817,
        sizes: &[
            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
            2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6,
            6, 8, 8, 10, 10, 13, 19, 29,
        ],
    },
    NamedTable {
        name: "nltcs",
        origins: &[Origin { files: &[public("nltcs.csv", "nltcs")], read: coded }],
        records: 21_574,
        sizes: &[2; 16],
    },
    NamedTable {
        name: "salary",
        origins: &[Origin { files: &[public("salary.csv", "salary")], read: coded }],
        records: 135_727,
        sizes: &[501, 75, 33, 3, 3, 20, 15, 33, 33],
    },
    NamedTable {
        name: "titanic",
        origins: &[Origin { files: &[public("titanic.csv", "titanic")], read: coded }],
        records: 1_304,
        sizes: &[3, 2, 74, 7, 7, 15, 9, 3, 3],
    },
    NamedTable {
        name: "nist-acs",
        origins: &[Origin {
            files: &[
                public("nist-acs/national2019.csv", "nist-acs"),
                public("nist-acs/national2019.json", "nist-acs-schema"),
            ],
            read: |files| read_nist_acs(&files[0], &files[1]),
        }],
        records: 27_253,
        sizes: &[
            20, 25, 2, 7, 5, 9, 10, 12, 3, 3, 25, 264, 20, 13, 26, 11, 26, 7, 3, 3, 2, 2, 25, 25,
        ],
    },
    NamedTable {
        name: "nist-demographic",
        origins: &[Origin {
            files: &[
                public("nist-acs/national2019.csv", "nist-acs"),
                public("nist-acs/national2019.json", "nist-acs-schema"),
            ],
            read: |files| read_nist_demographic(&files[0], &files[1]),
        }],
        records: 27_253,
        sizes: &[96, 2, 7, 9, 3, 3, 13, 11, 7, 2],
    },
    NamedTable {
        name: "adult-cells",
        origins: &[
            Origin { files: &[public("adult-cells.csv", "adult-cells")], read: coded },
            Origin {
                files: &[public("adult.data", "adult.data")],
                read: |files| read_adult_cells(&files[0]),
            },
        ],
        records: 32_561,
        sizes: &[8, 8, 16, 2],
    },
    NamedTable {
        name: "census",
        origins: &[Origin { files: &[of_user("census.csv")], read: census }],
        records: 15_000_000,
        sizes: &[8, 16, 16],
    },
    // Generated tables for design choices. They have no origin, and no reported result uses them.
    synthetic("synthetic-binary", 20_000, &[2; 14]),
    synthetic("synthetic-small", 5_000, &[2, 2, 3, 3, 4, 4, 5, 6, 7, 8]),
    synthetic("synthetic-mixed", 50_000, &[2, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40]),
    synthetic("synthetic-wide", 100_000, &[10, 15, 20, 30, 50, 80, 120, 200]),
    synthetic("synthetic-few", 1_000, &[2, 2, 3, 3, 5, 8, 12, 20]),
    synthetic(
        "synthetic-many",
        30_000,
        &[2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 8],
    ),
];

/// Returns the origins of a table; none if it is unknown.
pub(super) fn origins(name: &str) -> &'static [Origin] {
    TABLES.iter().find(|table| table.name == name).map_or(&[], |table| table.origins)
}

/// Returns whether a table has no real counterpart.
pub(super) fn is_synthetic(name: &str) -> bool {
    TABLES.iter().any(|table| table.name == name && table.origins.is_empty())
}

/// Returns the stand-in of a table, if it is known.
pub(super) fn stand_in(name: &str) -> Option<StandIn> {
    TABLES.iter().find(|table| table.name == name).map(NamedTable::stand_in)
}

impl NamedTable {
    /// Returns the stand-in.
    pub(super) fn stand_in(&self) -> StandIn {
        StandIn { name: self.name, records: self.records, sizes: self.sizes }
    }
}

const fn public(name: &'static str, entry: &'static str) -> File {
    File { name, in_manifest: Some(entry) }
}

const fn synthetic(name: &'static str, records: usize, sizes: &'static [usize]) -> NamedTable {
    NamedTable { name, origins: &[], records, sizes }
}

const fn of_user(name: &'static str) -> File {
    File { name, in_manifest: None }
}

/// Reads a discretised file.
fn coded(files: &[PathBuf]) -> matmech::Result<(Schema, Records)> {
    read_inferring_domain(&files[0])
}

/// Reads an extract of the census over the cells of S2.
///
/// The CSV file has a header and one record per line, with the cell numbers 0–7 of `age`, 0–15 of
/// `occupation` and 0–15 of `income`. Other columns are ignored.
fn census(files: &[PathBuf]) -> matmech::Result<(Schema, Records)> {
    let attribute = |(name, size)| Attribute::new(name, size, AttributeKind::Numeric);
    let schema =
        Schema::new([("age", 8), ("occupation", 16), ("income", 16)].map(attribute).to_vec())?;
    let records = read_csv(&files[0], &schema, None)?.records;
    Ok((schema, records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_extract_holds_cell_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("census.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            census(std::slice::from_ref(&path))
        };
        let (schema, records) =
            read("year,income,age,occupation\n2010,15,0,3\n2011,0,7,15\n").unwrap();
        assert_eq!((schema.sizes(), records.len()), (vec![8, 16, 16], 2));
        assert_eq!(records.column(2).unwrap().collect::<Vec<_>>(), [15, 0]);
        let message = read("age,occupation,income\n1,2,3\n8,2,3\n").unwrap_err().to_string();
        assert!(message.contains("census.csv, line 3") && message.contains("age"), "{message}");
        assert!(read("age,occupation\n1,2\n").unwrap_err().to_string().contains("income"));
    }
}
