//! The placement of results: tables on real data that this machine does not have are kept.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use super::provenance_record::ProvenanceRecord;
use crate::columns;
use crate::config::{Config, Profile};
use crate::datasets::{DataUse, REAL};
use crate::hash::sha256_hex;
use crate::layout::{Results, shown};
use crate::table::Table;

/// A kept table, computed on real data of which this machine has only stand-ins.
///
/// The results of this machine are written to the folder of results on stand-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Path of the kept table below the root.
    pub table: String,
    /// Its real data sets, from its provenance; empty without provenance.
    pub data: Vec<DataUse>,
    /// End of the run that computed it (UTC), from its provenance.
    pub finished: Option<String>,
    /// Names of its real data sets of which this machine has stand-ins.
    pub stand_ins: Vec<String>,
    /// Whether the config has changed since.
    pub other_config: bool,
    /// Path of the table of this machine's results below the root.
    pub local_table: String,
}

/// Where the results of an experiment are.
///
/// Results on stand-ins use the default folders, unless they would replace results on real data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement<'r> {
    /// The default folders.
    pub default: Results<'r>,
    /// The table in the default folder, if results on stand-ins must not replace it.
    pub kept: Option<Kept>,
}

impl<'r> Placement<'r> {
    /// Decides where results on `data` are written.
    pub(super) fn new<'d>(
        root: &'r Path,
        config: &Config,
        profile: Profile,
        data: impl IntoIterator<Item = &'d DataUse>,
    ) -> Self {
        let stand_ins =
            data.into_iter().filter(|data| !data.real).map(|data| data.name.as_str()).collect();
        Self {
            default: Results::new(root, profile),
            kept: Kept::against(root, config, profile, stand_ins),
        }
    }

    /// Returns where the latest run wrote its results, from its record in the folder of results on
    /// stand-ins.
    #[must_use]
    pub fn of_latest_run(root: &'r Path, config: &Config, profile: Profile) -> Self {
        let on_stand_ins = Results::new(root, profile).on_stand_ins();
        let record = ProvenanceRecord::find(&on_stand_ins.provenance(&config.experiment));
        Self::new(root, config, profile, record.iter().flat_map(|record| &record.data))
    }

    /// Returns the folders of this machine's results.
    #[must_use]
    pub fn local(&self) -> Results<'r> {
        if self.kept.is_some() { self.default.on_stand_ins() } else { self.default }
    }

    /// Returns the folders with results: the default folders, and those on stand-ins if used.
    pub fn used(&self) -> impl Iterator<Item = Results<'r>> {
        let on_stand_ins = self.kept.as_ref().map(|_| self.local());
        [Some(self.default), on_stand_ins].into_iter().flatten()
    }

    /// Returns the folders of results on stand-ins if no results belong there.
    #[must_use]
    pub fn unused(&self) -> Option<Results<'r>> {
        self.kept.is_none().then(|| self.default.on_stand_ins())
    }
}

impl Kept {
    /// Returns the table in the default folder, if it has results on real data of `stand_ins`.
    fn against(
        root: &Path,
        config: &Config,
        profile: Profile,
        stand_ins: BTreeSet<&str>,
    ) -> Option<Self> {
        let default = Results::new(root, profile);
        let table = default.table(&config.experiment);
        let content = fs::read(&table).ok().filter(|_| !stand_ins.is_empty())?;
        let record = ProvenanceRecord::find(&default.provenance(&config.experiment))
            .filter(|record| record.table_sha256 == sha256_hex(&content));
        let replaced: Vec<&str> = match &record {
            Some(record) => record
                .real()
                .map(|data| data.name.as_str())
                .filter(|name| stand_ins.contains(name))
                .collect(),
            // Without provenance, every stand-in may replace a real data set.
            None if has_real_rows(&table) => stand_ins.into_iter().collect(),
            None => Vec::new(),
        };
        if replaced.is_empty() {
            return None;
        }
        Some(Self {
            table: shown(root, &table),
            data: record.iter().flat_map(ProvenanceRecord::real).cloned().collect(),
            stand_ins: replaced.into_iter().map(str::to_owned).collect(),
            other_config: record
                .as_ref()
                .is_some_and(|record| !record.matches_config(config, profile)),
            finished: record.map(|record| record.finished),
            local_table: shown(root, &default.on_stand_ins().table(&config.experiment)),
        })
    }
}

/// Returns whether some row of a result table is on real data; false for an unreadable table.
fn has_real_rows(table: &Path) -> bool {
    Table::read(table, "", "")
        .is_ok_and(|table| table.fields(columns::DATA).any(|data| data == REAL))
}

impl fmt::Display for Kept {
    /// States the table, its run and data, why it is kept, and the path of this machine's results.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is kept: ", self.table)?;
        match &self.finished {
            Some(finished) => {
                let data: Vec<String> = self.data.iter().map(described).collect();
                write!(
                    f,
                    "computed on real data ({}) by the run that ended at {finished}",
                    data.join(", ")
                )?;
            }
            None => {
                write!(f, "it has results on real data, and no provenance that names the data")?
            }
        }
        if self.other_config {
            write!(f, ", with an earlier version of its config")?;
        }
        write!(
            f,
            "; this machine has only stand-ins for {}. Results of this machine: {}",
            self.stand_ins.join(", "),
            self.local_table
        )
    }
}

/// Returns the name of a data set with the first digits of its hash.
fn described(data: &DataUse) -> String {
    let digits =
        data.sha256.as_deref().and_then(|hash| hash.get(..12)).unwrap_or("of unknown SHA-256");
    format!("{} {digits}…", data.name)
}
