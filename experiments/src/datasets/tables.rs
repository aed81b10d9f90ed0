//! The tables that experiments can name, and the files of the real ones.
//!
//! A new table is an entry here.

use std::path::PathBuf;

use matmech::data::{Records, read_csv};
use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;

use super::adult::read_adult;
use super::adult_cells::read_adult_cells;
use super::bif;
use super::coded_file::read_inferring_domain;
use super::generated::{self, Generator, Structure};
use super::nist_acs::{read_nist_acs, read_nist_demographic};
use super::stand_in::{self, StandIn};

/// A table by its name in configs.
pub(super) struct NamedTable {
    pub(super) name: &'static str,
    /// The origins of the real table, the preferred one first.
    origins: &'static [Origin],
    /// The records that are drawn without a file.
    pub(super) definition: Definition,
    /// Whether it has no real counterpart.
    is_synthetic: bool,
}

/// The definition of records that are drawn without a file.
#[derive(Clone, Copy)]
pub(super) enum Definition {
    /// A stand-in, by the number of records and the attribute sizes of the real table.
    StandIn(usize, &'static [usize]),
    /// A generated table.
    Generated(Generator),
}

impl Definition {
    /// Returns the revision of the definition.
    pub(super) fn revision(&self) -> u32 {
        match self {
            Definition::StandIn(..) => stand_in::REVISION,
            Definition::Generated(_) => generated::REVISION,
        }
    }

    /// Returns the schema and the records of the table of a name, which is the seed.
    pub(super) fn generate(&self, name: &str) -> matmech::Result<(Schema, Records)> {
        match *self {
            Definition::StandIn(records, sizes) => StandIn { name, records, sizes }.generate(),
            Definition::Generated(generator) => generator.generate(name),
        }
    }
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
pub(super) const TABLES: &[NamedTable] = &[
    NamedTable {
        name: "adult",
        origins: &[
            Origin { files: &[public("adult15.csv", "adult15")], read: coded },
            Origin {
                files: &[public("adult.data", "adult.data"), public("adult.test", "adult.test")],
                read: |files| read_adult(&files[0], &files[1]),
            },
        ],
        is_synthetic: false,
        definition: Definition::StandIn(
            48_842,
            &[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2],
        ),
    },
    NamedTable {
        name: "loans",
        origins: &[Origin { files: &[of_user("loans.csv")], read: coded }],
        is_synthetic: false,
        definition: Definition::StandIn(
            42_535,
            &[
                2, 2, 2, 2, 3, 4, 5, 5, 5, 7, 11, 12, 21, 23, 28, 45, 47, 47, 52, 54, 57, 60, 63,
                63, 66, 67, 68, 70, 70, 71, 75, 75, 76, 78, 78, 79, 81, 90, 93, 93, 100, 100, 100,
            ],
        ),
    },
    NamedTable {
        name: "acs",
        origins: &[Origin { files: &[of_user("acs.csv")], read: coded }],
        is_synthetic: false,
        definition: Definition::StandIn(
            378_817,
            &[
                2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5,
                6, 6, 6, 8, 8, 10, 10, 13, 19, 29,
            ],
        ),
    },
    NamedTable {
        name: "nltcs",
        origins: &[Origin { files: &[public("nltcs.csv", "nltcs")], read: coded }],
        is_synthetic: false,
        definition: Definition::StandIn(21_574, &[2; 16]),
    },
    NamedTable {
        name: "salary",
        origins: &[Origin { files: &[public("salary.csv", "salary")], read: coded }],
        is_synthetic: false,
        definition: Definition::StandIn(135_727, &[501, 75, 33, 3, 3, 20, 15, 33, 33]),
    },
    NamedTable {
        name: "titanic",
        origins: &[Origin { files: &[public("titanic.csv", "titanic")], read: coded }],
        is_synthetic: false,
        definition: Definition::StandIn(1_304, &[3, 2, 74, 7, 7, 15, 9, 3, 3]),
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
        is_synthetic: false,
        definition: Definition::StandIn(
            27_253,
            &[20, 25, 2, 7, 5, 9, 10, 12, 3, 3, 25, 264, 20, 13, 26, 11, 26, 7, 3, 3, 2, 2, 25, 25],
        ),
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
        is_synthetic: false,
        definition: Definition::StandIn(27_253, &[96, 2, 7, 9, 3, 3, 13, 11, 7, 2]),
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
        is_synthetic: false,
        definition: Definition::StandIn(32_561, &[8, 8, 16, 2]),
    },
    NamedTable {
        name: "census",
        origins: &[Origin { files: &[of_user("census.csv")], read: census }],
        is_synthetic: false,
        definition: Definition::StandIn(15_000_000, &[8, 16, 16]),
    },
    // Published networks.
    from_network(
        "network-child",
        &[Origin {
            files: &[public("networks/child.bif", "network-child")],
            read: |files| bif::sample_file(&files[0], "network-child", 20_000),
        }],
        &[2, 2, 3, 3, 5, 2, 2, 3, 3, 2, 5, 6, 2, 3, 2, 3, 4, 3, 3, 2],
    ),
    from_network(
        "network-alarm",
        &[Origin {
            files: &[public("networks/alarm.bif", "network-alarm")],
            read: |files| bif::sample_file(&files[0], "network-alarm", 20_000),
        }],
        &[
            2, 3, 3, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 2, 3, 4, 2, 4, 2, 3, 3, 3, 2, 2, 3, 4, 2, 3, 4,
            4, 4, 4, 3, 2, 3, 3, 3,
        ],
    ),
    from_network(
        "network-insurance",
        &[Origin {
            files: &[public("networks/insurance.bif", "network-insurance")],
            read: |files| bif::sample_file(&files[0], "network-insurance", 20_000),
        }],
        &[2, 3, 4, 4, 2, 4, 3, 4, 5, 3, 4, 2, 3, 2, 4, 2, 5, 4, 2, 4, 4, 2, 4, 4, 2, 4, 3],
    ),
    // Tables for design choices. They have no origin.
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
    // Records, attributes, sizes, colliders, structure.
    generated("generated-01", 20_000, 8, (2, 4), 0, network(1, 8, 2.0)),
    generated("generated-02", 20_000, 12, (2, 12), 0, network(2, 6, 5.0)),
    generated("generated-03", 20_000, 20, (2, 5), 0, network(3, 10, 3.0)),
    generated("generated-04", 20_000, 40, (2, 3), 0, network(2, 12, 2.0)),
    generated("generated-05", 500_000, 15, (2, 8), 0, network(2, 15, 30.0)),
    generated("generated-06", 20_000, 16, (2, 6), 0, classes(4, 3.0)),
    generated("generated-07", 20_000, 30, (2, 3), 0, classes(8, 2.0)),
    generated("generated-08", 20_000, 12, (5, 12), 0, ordinal(3, 0.9)),
    generated("generated-09", 20_000, 16, (2, 2), 4, network(0, 0, 1.0)),
    generated("generated-10", 5_000, 18, (2, 5), 2, network(2, 8, 3.0)),
    // No constant of a mechanism is chosen on these.
    generated("held-out-01", 20_000, 10, (3, 6), 0, network(2, 5, 1.0)),
    generated("held-out-02", 20_000, 25, (2, 4), 0, network(1, 25, 1.5)),
    generated("held-out-03", 20_000, 18, (2, 3), 0, network(4, 8, 4.0)),
    generated("held-out-04", 100_000, 35, (2, 6), 0, network(2, 10, 8.0)),
    generated("held-out-05", 5_000, 9, (2, 12), 0, network(2, 9, 2.0)),
    generated("held-out-06", 20_000, 20, (2, 4), 0, classes(3, 6.0)),
    generated("held-out-07", 200_000, 12, (4, 10), 0, classes(10, 2.0)),
    generated("held-out-08", 20_000, 24, (2, 7), 0, ordinal(4, 0.8)),
    generated("held-out-09", 50_000, 12, (2, 2), 3, network(0, 0, 1.0)),
    generated("held-out-10", 20_000, 18, (3, 8), 3, ordinal(2, 0.9)),
];

/// Returns the origins of a table; none if it is unknown.
pub(super) fn origins(name: &str) -> &'static [Origin] {
    TABLES.iter().find(|table| table.name == name).map_or(&[], |table| table.origins)
}

/// Returns whether a table has no real counterpart.
pub(super) fn is_synthetic(name: &str) -> bool {
    TABLES.iter().any(|table| table.name == name && table.is_synthetic)
}

/// Returns the definition of the records of a table without a file, if the table is known.
pub(super) fn definition(name: &str) -> Option<Definition> {
    TABLES.iter().find(|table| table.name == name).map(|table| table.definition)
}

/// Returns the revision of the sampler of a table that is drawn from a file.
pub(super) fn revision_of_sampler(name: &str) -> Option<u32> {
    is_synthetic(name).then_some(generated::REVISION)
}

const fn public(name: &'static str, entry: &'static str) -> File {
    File { name, in_manifest: Some(entry) }
}

const fn synthetic(name: &'static str, records: usize, sizes: &'static [usize]) -> NamedTable {
    let definition = Definition::StandIn(records, sizes);
    NamedTable { name, origins: &[], definition, is_synthetic: true }
}

/// Returns a table of 20,000 records that are drawn from a network; `sizes` are for the stand-in.
const fn from_network(
    name: &'static str,
    origins: &'static [Origin],
    sizes: &'static [usize],
) -> NamedTable {
    NamedTable { name, origins, definition: Definition::StandIn(20_000, sizes), is_synthetic: true }
}

const fn generated(
    name: &'static str,
    records: usize,
    attributes: usize,
    sizes: (usize, usize),
    colliders: usize,
    structure: Structure,
) -> NamedTable {
    let generator = Generator { records, attributes, sizes, colliders, structure };
    let definition = Definition::Generated(generator);
    NamedTable { name, origins: &[], definition, is_synthetic: true }
}

const fn network(parents: usize, window: usize, concentration: f64) -> Structure {
    Structure::Network { parents, window, concentration }
}

const fn classes(classes: usize, concentration: f64) -> Structure {
    Structure::Classes { classes, concentration }
}

const fn ordinal(factors: usize, share: f64) -> Structure {
    Structure::Ordinal { factors, share }
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
