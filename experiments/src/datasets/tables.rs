//! The tables that experiments can name, and the ways to the real ones. A new table is an entry here.

use std::path::PathBuf;

use matmech::data::{Records, read_adult, read_inferring_domain};
use matmech::schema::Schema;

/// A table by its name in configs.
pub(super) struct NamedTable {
    pub(super) name: &'static str,
    /// The ways to the real table, the preferred one first. Without any of them there is the stand-in of the same name.
    origins: &'static [Origin],
}

/// A way to a real table: its files, and how they are read.
pub(super) struct Origin {
    pub(super) files: &'static [File],
    pub(super) read: Read,
}

/// A file in a folder of data sets.
pub(super) struct File {
    pub(super) name: &'static str,
    /// The entry of the manifest that it must be. Without one it is the user's own, and whatever she puts there is taken.
    pub(super) in_manifest: Option<&'static str>,
}

/// Makes a table of its files.
pub(super) type Read = fn(&[PathBuf]) -> matmech::Result<(Schema, Records)>;

/// All tables, in the order in which messages list them.
pub(super) const TABLES: [NamedTable; 6] = [
    NamedTable {
        name: "adult",
        origins: &[
            Origin { files: &[public("adult15.csv", "adult15")], read: coded },
            Origin {
                files: &[public("adult.data", "adult.data"), public("adult.test", "adult.test")],
                read: |files| read_adult(&files[0], &files[1]),
            },
        ],
    },
    NamedTable { name: "loans", origins: &[Origin { files: &[own("loans.csv")], read: coded }] },
    NamedTable { name: "acs", origins: &[Origin { files: &[own("acs.csv")], read: coded }] },
    NamedTable { name: "nltcs", origins: &[Origin { files: &[public("nltcs.csv", "nltcs")], read: coded }] },
    NamedTable { name: "salary", origins: &[Origin { files: &[public("salary.csv", "salary")], read: coded }] },
    NamedTable { name: "titanic", origins: &[Origin { files: &[public("titanic.csv", "titanic")], read: coded }] },
];

/// The ways to a table; none to one that is not listed.
pub(super) fn origins(name: &str) -> &'static [Origin] {
    TABLES.iter().find(|table| table.name == name).map_or(&[], |table| table.origins)
}

const fn public(name: &'static str, entry: &'static str) -> File {
    File { name, in_manifest: Some(entry) }
}

const fn own(name: &'static str) -> File {
    File { name, in_manifest: None }
}

/// A file of values that are numbered in their order.
fn coded(files: &[PathBuf]) -> matmech::Result<(Schema, Records)> {
    read_inferring_domain(&files[0])
}

#[cfg(test)]
mod tests {
    use matmech::data::stand_in::StandIn;

    use super::*;

    #[test]
    fn every_table_has_a_stand_in_of_its_name() {
        for table in &TABLES {
            assert_eq!(StandIn::named(table.name).unwrap().name, table.name);
        }
    }
}
