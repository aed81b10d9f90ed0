//! Writing the table and its provenance, once every cell has a result.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::SecondsFormat;

use super::experiment_plan::ExperimentPlan;
use super::kept::Kept;
use super::machine::{Code, Machine, peak_mb};
use super::provenance::{CARGO_LOCK, Provenance, RUSTC};
use super::recorded::Recorded;
use super::results::table;
use super::store::CellRecord;
use crate::atomic::write_atomically;
use crate::error::{Error, FileRole, Result};
use crate::hash::sha256_hex;
use crate::layout::Results;

/// What became of the result table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// Written anew, with its provenance.
    Written {
        /// The table.
        file: PathBuf,
        /// The table on real data that this one would have replaced by one on stand-ins.
        kept: Option<Kept>,
    },
    /// Nothing was computed and the table on disk is already this one; it keeps its provenance.
    Unchanged {
        /// The table.
        file: PathBuf,
        /// As for a written one.
        kept: Option<Kept>,
    },
    /// Not written, because so many cells have no result; an older table stays.
    Incomplete {
        /// Number of cells without result.
        missing: usize,
    },
}

/// What the provenance needs to know of the run.
pub(super) struct Run<'a> {
    pub(super) code: &'a Code,
    pub(super) jobs: usize,
    pub(super) started: String,
    pub(super) wall_seconds: f64,
    pub(super) computed: usize,
    pub(super) reused: usize,
}

/// Writes the table from `records`, one per cell in grid order, and the provenance beside it; at
/// the usual place, unless that would replace results on real data by results on stand-ins.
///
/// If nothing was computed and the same table of the same config is there already, both files stay
/// as they are: their provenance tells of the run that did the work.
pub(super) fn publish(
    root: &Path,
    plan: &ExperimentPlan<'_>,
    records: &[&CellRecord],
    run: Run<'_>,
) -> Result<Published> {
    let config = plan.config;
    let kept = Kept::by(root, plan);
    let usual = Results::new(root, plan.profile);
    let place = if kept.is_some() { usual.on_stand_ins() } else { usual };
    let file = place.table(&config.experiment);
    let beside = place.provenance(&config.experiment);
    let content = table(plan, records)
        .map_err(|error| Error::bug("result table", "text in memory", error))?;
    let table_sha256 = sha256_hex(&content);
    if run.computed == 0
        && fs::read(&file).is_ok_and(|old| old == content)
        && told_by(&beside, plan, &table_sha256)
    {
        clear_aside(usual, &config.experiment, kept.as_ref())?;
        return Ok(Published::Unchanged { file, kept });
    }
    let sources: BTreeSet<&str> =
        records.iter().map(|record| record.code.source.as_str()).collect();
    let provenance = Provenance {
        experiment: config.experiment.clone(),
        kind: config.kind.clone(),
        revision: plan.experiment.revision(),
        profile: plan.profile.to_string(),
        seed: config.seed,
        config_sha256: config.hash.clone(),
        values_sha256: config.values_hash(plan.profile),
        table_sha256,
        cargo_lock_sha256: CARGO_LOCK,
        code: run.code.clone(),
        other_sources: sources
            .into_iter()
            .filter(|source| *source != run.code.source)
            .map(str::to_owned)
            .collect(),
        data: plan.data().into_iter().cloned().collect(),
        rustc: RUSTC,
        machine: Machine::detect(),
        jobs: run.jobs,
        started: run.started,
        finished: now(),
        wall_seconds: run.wall_seconds,
        cell_seconds: records.iter().map(|record| record.seconds).sum(),
        peak_mb: records
            .iter()
            .map(|record| record.peak_mb)
            .chain([peak_mb()])
            .flatten()
            .reduce(f64::max),
        cells_computed: run.computed,
        cells_reused: run.reused,
    };
    let json = serde_json::to_string_pretty(&provenance)
        .map_err(|error| Error::bug("provenance", "a record that is JSON", error))?;
    write_atomically(&file, &content)
        .map_err(|error| Error::unwritable(FileRole::ResultTable, &file, &error))?;
    write_atomically(&beside, (json + "\n").as_bytes())
        .map_err(|error| Error::unwritable(FileRole::Provenance, &beside, &error))?;
    clear_aside(usual, &config.experiment, kept.as_ref())?;
    Ok(Published::Written { file, kept })
}

/// Removes what an earlier run had to put aside, if the results of this one are at the usual place.
fn clear_aside(usual: Results<'_>, experiment: &str, kept: Option<&Kept>) -> Result<()> {
    if kept.is_some() {
        return Ok(());
    }
    let aside = usual.on_stand_ins();
    for file in [aside.table(experiment), aside.provenance(experiment)] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::unwritable(FileRole::ResultTable, &file, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the provenance on disk is of this table, computed under what of the config decides its
/// values.
fn told_by(provenance: &Path, plan: &ExperimentPlan<'_>, table: &str) -> bool {
    let record = Recorded::read(provenance).ok().flatten();
    record.is_some_and(|record| {
        record.is_of(plan.config, plan.profile)
            && record.revision == plan.experiment.revision()
            && record.table_sha256 == table
    })
}

/// Now in UTC, as `2012-11-30T23:59:59Z`.
pub(super) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}
