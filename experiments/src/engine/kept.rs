//! Result tables on real data that this machine does not have: they are kept and reported.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use super::experiment_plan::ExperimentPlan;
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
    /// Experiment id.
    pub experiment: String,
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

impl Kept {
    /// Returns the table at the usual path, if a run of the plan would replace its results on real
    /// data by results on stand-ins.
    #[must_use]
    pub fn by(root: &Path, plan: &ExperimentPlan<'_>) -> Option<Self> {
        Self::against(root, plan.config, plan.profile, plan.data().into_iter())
    }

    /// Returns the table that an earlier run kept, if any.
    ///
    /// That run's own table is then in the folder of results on stand-ins.
    #[must_use]
    pub fn by_an_earlier_run(root: &Path, config: &Config, profile: Profile) -> Option<Self> {
        let record =
            read(&Results::new(root, profile).on_stand_ins().provenance(&config.experiment))?;
        Self::against(root, config, profile, record.data.iter())
    }

    fn against<'d>(
        root: &Path,
        config: &Config,
        profile: Profile,
        data: impl Iterator<Item = &'d DataUse>,
    ) -> Option<Self> {
        let stand_ins: BTreeSet<&str> =
            data.filter(|data| !data.real).map(|data| data.name.as_str()).collect();
        let usual = Results::new(root, profile);
        let table = usual.table(&config.experiment);
        let content = fs::read(&table).ok().filter(|_| !stand_ins.is_empty())?;
        let record = read(&usual.provenance(&config.experiment))
            .filter(|record| record.table_sha256 == sha256_hex(&content));
        let missing: Vec<&str> = match &record {
            Some(record) => record
                .real()
                .map(|data| data.name.as_str())
                .filter(|name| stand_ins.contains(name))
                .collect(),
            // Without provenance, every stand-in may replace a real data set.
            None if has_real_rows(&table) => stand_ins.into_iter().collect(),
            None => Vec::new(),
        };
        if missing.is_empty() {
            return None;
        }
        Some(Self {
            experiment: config.experiment.clone(),
            table: shown(root, &table),
            data: record.iter().flat_map(ProvenanceRecord::real).cloned().collect(),
            stand_ins: missing.into_iter().map(str::to_owned).collect(),
            other_config: record
                .as_ref()
                .is_some_and(|record| !record.matches_config(config, profile)),
            finished: record.map(|record| record.finished),
            local_table: shown(root, &usual.on_stand_ins().table(&config.experiment)),
        })
    }
}

/// Reads a provenance record; `None` if it is absent or unreadable.
fn read(provenance: &Path) -> Option<ProvenanceRecord> {
    ProvenanceRecord::read(provenance).ok().flatten()
}

/// Whether some row of a result table is on real data; false for an unreadable table.
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
