//! Checks a provenance record against the config, program and data.

use std::collections::BTreeSet;

use super::check::{Check, Verified, start};
use crate::datasets::{Catalogue, DataUse};
use crate::engine::{ExperimentPlan, ProvenanceRecord, built_with};
use crate::error::Result;

/// Checks a record, except its sources, which are checked over all records.
pub(super) fn check(
    record: &ProvenanceRecord,
    plan: &ExperimentPlan<'_>,
    table_sha256: &str,
    catalogue: &Catalogue,
    verified: &mut Verified,
) -> Result<()> {
    let config = plan.config;
    let experiment = config.experiment.as_str();
    if record.table_sha256 != table_sha256 {
        let found = format!(
            "{}…; the record is of {}…, from the run that ended at {}",
            start(table_sha256),
            start(&record.table_sha256),
            record.finished
        );
        verified.add(Check::Contents, experiment, found);
    }
    if record.experiment != experiment || record.profile != plan.profile.name() {
        let found =
            format!("a record of {} with the profile {}", record.experiment, record.profile);
        verified.add(Check::Config, experiment, found);
    } else if !record.matches_config(config, plan.profile) {
        let found = match &record.values_sha256 {
            Some(_) => "another kind, seed or grid",
            None => "another config file (the record has no hash of the config values)",
        };
        verified.add(Check::Config, experiment, found.to_owned());
    }
    let (kind, revision) = (plan.experiment.kind(), plan.experiment.revision());
    if record.kind != kind || record.revision != revision {
        let found = format!(
            "{}, revision {}; now {kind}, revision {revision}",
            record.kind, record.revision
        );
        verified.add(Check::Revision, experiment, found);
    }
    if record.cargo_lock_sha256 != built_with() {
        let found = format!(
            "{}…; this program has {}…",
            start(&record.cargo_lock_sha256),
            start(built_with())
        );
        verified.add(Check::Lock, experiment, found);
    }
    data(record, plan, catalogue, verified)
}

/// Checks the data sets of the record against those of the plan.
fn data(
    record: &ProvenanceRecord,
    plan: &ExperimentPlan<'_>,
    catalogue: &Catalogue,
    verified: &mut Verified,
) -> Result<()> {
    let experiment = plan.config.experiment.as_str();
    let here = plan.data();
    let names =
        |data: &[&DataUse]| data.iter().map(|data| data.name.clone()).collect::<BTreeSet<_>>();
    let (recorded, planned) = (names(&Vec::from_iter(&record.data)), names(&here));
    if recorded != planned {
        let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
        verified.add(
            Check::Data,
            experiment,
            format!("the data sets {}; the config has {}", list(recorded), list(planned)),
        );
        return Ok(());
    }
    for used in &record.data {
        let Some(local) = here.iter().find(|local| local.name == used.name) else { continue };
        if local.is_stand_in() {
            listed(used, experiment, catalogue, verified)?;
        } else if used != *local {
            verified.add(Check::Data, experiment, differs(used, local));
        }
    }
    Ok(())
}

/// Checks the hash of a real table that is not on this machine against the manifest.
///
/// Without an entry in the manifest, it adds a note.
fn listed(
    used: &DataUse,
    experiment: &str,
    catalogue: &Catalogue,
    verified: &mut Verified,
) -> Result<()> {
    let known = catalogue.listed(&used.name)?;
    let name = &used.name;
    match &used.sha256 {
        _ if known.is_empty() => verified.notes.push(format!(
            "{experiment}: the real table {name} is neither on this machine nor in \
             data/manifest.toml; its hash cannot be checked"
        )),
        Some(hash) if known.contains(hash) => {}
        _ => {
            let found = format!("a file of {name} that data/manifest.toml does not list");
            verified.add(Check::Data, experiment, found);
        }
    }
    Ok(())
}

/// Describes the hashes of two different files of a data set.
fn differs(used: &DataUse, local: &DataUse) -> String {
    let hash = |data: &DataUse| {
        data.sha256
            .as_deref()
            .map_or_else(|| "no hash".to_owned(), |hash| format!("{}…", start(hash)))
    };
    format!("{} with SHA-256 {}; on this machine {}", used.name, hash(used), hash(local))
}
