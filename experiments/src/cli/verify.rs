//! `reproduce verify`.

use std::path::Path;

use super::output::say;
use super::steps;
use crate::config::Profile;
use crate::datasets::Catalogue;
use crate::error::{Error, Result};
use crate::registry::Kinds;
use crate::verify;

/// Checks results against their provenance and prints the findings.
pub(super) fn verify(
    root: &Path,
    kinds: &Kinds,
    catalogue: &Catalogue,
    profile: Profile,
    proofs: bool,
) -> Result<()> {
    let configs = steps::configs(root, kinds)?;
    let verified = verify::run(root, &configs, &kinds.experiments, catalogue, profile, proofs)?;
    say(&verified.to_string());
    match verified.findings.len() {
        0 => Ok(()),
        findings => Err(Error::Unverified { findings }),
    }
}
