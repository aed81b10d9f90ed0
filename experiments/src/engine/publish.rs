//! Writes the table and its provenance once every cell has a result.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::SecondsFormat;

use super::certificates;
use super::experiment_plan::ExperimentPlan;
use super::machine::{Code, Machine, peak_mb};
use super::provenance::{CARGO_LOCK, Provenance, RUSTC};
use super::provenance_record::ProvenanceRecord;
use super::results::table;
use super::store::CellRecord;
use crate::derive;
use crate::error::{Error, FileRole, Result};
use crate::files::{sha256_hex, write_atomically};

/// The outcome for the result table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableOutcome {
    /// Written, with its provenance.
    Written {
        /// The table.
        file: PathBuf,
    },
    /// Unchanged with its provenance: nothing was computed and the table on disk is equal.
    Unchanged {
        /// The table.
        file: PathBuf,
    },
    /// Not written, because some cells have no result; an older table stays.
    Incomplete {
        /// Number of cells without result.
        missing: usize,
    },
}

/// The properties of the run for the provenance.
pub(super) struct Run<'a> {
    pub(super) code: &'a Code,
    pub(super) jobs: usize,
    pub(super) started: String,
    pub(super) wall_seconds: f64,
    pub(super) computed: usize,
    pub(super) reused: usize,
}

/// Writes the table from `records`, one per cell in grid order, and its provenance.
///
/// If nothing was computed and the table on disk is equal, both files stay unchanged, so that the
/// provenance describes the run that computed them.
pub(super) fn publish(
    root: &Path,
    plan: &ExperimentPlan<'_>,
    records: &[&CellRecord],
    run: Run<'_>,
) -> Result<TableOutcome> {
    let config = plan.config;
    let folder = plan.results(root);
    let file = folder.table(&config.experiment);
    let provenance_file = folder.provenance(&config.experiment);
    let content = table(plan, records)
        .map_err(|error| Error::bug("result table", "text in memory", error))?;
    let table_sha256 = sha256_hex(&content);
    certificates::write(&folder.certificates(&config.experiment), plan, records)?;
    if run.computed == 0
        && fs::read(&file).is_ok_and(|old| old == content)
        && is_provenance_of(&provenance_file, plan, &table_sha256)
    {
        derive::write(folder, config)?;
        return Ok(TableOutcome::Unchanged { file });
    }
    let other = records.iter().filter(|record| record.is_of_other(run.code));
    let other_sources: BTreeSet<&str> = other.map(|record| record.code.source.as_str()).collect();
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
        other_sources: other_sources.into_iter().map(str::to_owned).collect(),
        files: config.grid_files(plan.profile),
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
    write_atomically(&provenance_file, (json + "\n").as_bytes())
        .map_err(|error| Error::unwritable(FileRole::Provenance, &provenance_file, &error))?;
    derive::write(folder, config)?;
    Ok(TableOutcome::Written { file })
}

/// Returns whether the provenance on disk is that of this table under the same config values.
fn is_provenance_of(provenance: &Path, plan: &ExperimentPlan<'_>, table: &str) -> bool {
    ProvenanceRecord::find(provenance).is_some_and(|record| {
        record.matches_config(plan.config, plan.profile)
            && record.revision == plan.experiment.revision()
            && record.table_sha256 == table
    })
}

/// Returns the current time in UTC, such as `2012-11-30T23:59:59Z`.
pub(super) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}
