//! `reproduce verify`.

use std::path::Path;

use super::output::say;
use super::steps;
use crate::config::Profile;
use crate::datasets::Catalogue;
use crate::error::{Error, Result};
use crate::registry::Kinds;
use crate::verify::{self, Verified};

/// Checks results against their provenance and prints the findings.
pub(super) fn verify(
    root: &Path,
    kinds: &Kinds,
    catalogue: &Catalogue,
    profile: Profile,
    proofs: bool,
) -> Result<()> {
    let configs = steps::configs(root, kinds)?;
    report(&verify::run(root, &configs, &kinds.experiments, catalogue, profile, proofs)?)
}

/// Checks pages and relations between values and prints the findings.
pub(super) fn pages(root: &Path, kinds: &Kinds) -> Result<()> {
    report(&verify::pages(root, &steps::configs(root, kinds)?))
}

fn report(verified: &Verified) -> Result<()> {
    say(&verified.to_string());
    match verified.findings.len() {
        0 => Ok(()),
        findings => Err(Error::Unverified { findings }),
    }
}
