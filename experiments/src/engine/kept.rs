//! Result tables on real data that this machine cannot compute again: they are kept, and said to be
//! kept.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use super::experiment_plan::ExperimentPlan;
use super::recorded::Recorded;
use crate::columns;
use crate::config::{Config, Profile};
use crate::datasets::{DataUse, REAL};
use crate::hash::sha256_hex;
use crate::layout::{Results, shown};
use crate::table::Table;

/// A table that was computed on real data of which this machine has stand-ins only. It stays where
/// it is; the machine's own results are beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Experiment id.
    pub experiment: String,
    /// The table that is kept, below the root.
    pub table: String,
    /// The real data that it was computed on, as its provenance names them; empty if it has none.
    pub data: Vec<DataUse>,
    /// End of the run that computed it (UTC), as its provenance says.
    pub finished: Option<String>,
    /// Names of the tables that this machine has stand-ins of where the kept results are on real
    /// ones.
    pub missing: Vec<String>,
    /// Whether the config has changed since.
    pub other_config: bool,
    /// The table of this machine's own results, below the root.
    pub own: String,
}

impl Kept {
    /// The table at the usual place, if it has results on real data that a run of the plan would
    /// replace by results on stand-ins.
    #[must_use]
    pub fn by(root: &Path, plan: &ExperimentPlan<'_>) -> Option<Self> {
        Self::against(root, plan.config, plan.profile, plan.data().into_iter())
    }

    /// The table that an earlier run has kept, if there is one: then that run's table is in the
    /// folder of results on stand-ins.
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
            // Without its provenance nobody knows which rows of a table were on which data: none of
            // the real ones is lost.
            None if has_real_rows(&table) => stand_ins.into_iter().collect(),
            None => Vec::new(),
        };
        if missing.is_empty() {
            return None;
        }
        Some(Self {
            experiment: config.experiment.clone(),
            table: shown(root, &table),
            data: record.iter().flat_map(Recorded::real).cloned().collect(),
            missing: missing.into_iter().map(str::to_owned).collect(),
            other_config: record.as_ref().is_some_and(|record| !record.is_of(config, profile)),
            finished: record.map(|record| record.finished),
            own: shown(root, &usual.on_stand_ins().table(&config.experiment)),
        })
    }
}

/// The record, if there is a readable one.
fn read(provenance: &Path) -> Option<Recorded> {
    Recorded::read(provenance).ok().flatten()
}

/// Whether some row of a result table is on real data. What is no table has none.
fn has_real_rows(table: &Path) -> bool {
    Table::read(table, "", "")
        .is_ok_and(|table| table.fields(columns::DATA).any(|data| data == REAL))
}

impl fmt::Display for Kept {
    /// Which table, from which run on which data, why it is kept, and where this machine's results
    /// are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is kept: ", self.table)?;
        match &self.finished {
            Some(finished) => {
                let data: Vec<String> = self.data.iter().map(described).collect();
                write!(
                    f,
                    "computed on real data ({}) by the run that ended {finished}",
                    data.join(", ")
                )?;
            }
            None => write!(
                f,
                "it has results on real data, and no provenance of its own that would say which"
            )?,
        }
        if self.other_config {
            write!(f, ", under an earlier version of its config")?;
        }
        write!(
            f,
            "; this machine has only stand-ins of {}. Its own results: {}",
            self.missing.join(", "),
            self.own
        )
    }
}

/// A real table with the first digits of its hash.
fn described(data: &DataUse) -> String {
    let digits =
        data.sha256.as_deref().and_then(|hash| hash.get(..12)).unwrap_or("of unknown SHA-256");
    format!("{} {digits}…", data.name)
}
