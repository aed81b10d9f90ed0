//! What a provenance record says against what is here.

use std::collections::BTreeSet;

use super::check::{Check, Verified};
use super::start;
use crate::datasets::{Catalogue, DataUse};
use crate::engine::{ExperimentPlan, Recorded, built_with};
use crate::error::Result;

/// Checks everything in a record but its sources, which are checked over all records.
pub(super) fn check(
    record: &Recorded,
    plan: &ExperimentPlan<'_>,
    table_sha256: &str,
    catalogue: &Catalogue,
    verified: &mut Verified,
) -> Result<()> {
    let config = plan.config;
    let experiment = config.experiment.as_str();
    if record.table_sha256 != table_sha256 {
        let found = format!(
            "{}…, and a record of {}…, which ended {}",
            start(table_sha256),
            start(&record.table_sha256),
            record.finished
        );
        verified.add(Check::Contents, experiment, found);
    }
    if record.experiment != experiment || record.profile != plan.profile.name() {
        let found =
            format!("a record of {} under the profile {}", record.experiment, record.profile);
        verified.add(Check::Config, experiment, found);
    } else if !record.is_of(config, plan.profile) {
        let found = match &record.values_sha256 {
            Some(_) => "another kind, seed or grid",
            None => "another file; the record is from before the hash of what decides the values",
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

/// The data sets of the record against those of the plan.
fn data(
    record: &Recorded,
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
            format!("the tables {}; the config has {}", list(recorded), list(planned)),
        );
        return Ok(());
    }
    for used in &record.data {
        let Some(own) = here.iter().find(|own| own.name == used.name) else { continue };
        match (used.real, own.real) {
            (true, true) | (false, false) if used == *own => {}
            (true, true) => verified.add(Check::Data, experiment, differs(used, own)),
            (false, false) => {
                verified.add(
                    Check::Data,
                    experiment,
                    format!("another revision of the stand-in of {}", used.name),
                );
            }
            (false, true) => {
                verified.add(
                    Check::Data,
                    experiment,
                    format!("a stand-in of {}, whose real table is here", used.name),
                );
            }
            (true, false) => listed(used, experiment, catalogue, verified)?,
        }
    }
    Ok(())
}

/// A real table that is not on this machine can be one of the manifest, or the authors' own.
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
            "{experiment}: the real table {name} is neither here nor in data/manifest.toml; its hash cannot be checked"
        )),
        Some(hash) if known.contains(hash) => {}
        _ => verified.add(Check::Data, experiment, format!("a file of {name} that data/manifest.toml does not have")),
    }
    Ok(())
}

fn differs(used: &DataUse, own: &DataUse) -> String {
    let hash = |data: &DataUse| {
        data.sha256
            .as_deref()
            .map_or_else(|| "no hash".to_owned(), |hash| format!("{}…", start(hash)))
    };
    format!("{} with SHA-256 {}; here {}", used.name, hash(used), hash(own))
}
