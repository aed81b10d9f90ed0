//! Checks that the experiments share.

use crate::error::{Error, Result};

/// Refuses names that are not known, under `key[0]`, `key[1]`, ….
pub(super) fn check_names(
    key: &str,
    noun: &'static str,
    names: &[String],
    known: &[&str],
) -> Result<()> {
    match names.iter().position(|name| !known.contains(&name.as_str())) {
        Some(i) => Err(Error::unknown_name(format!("{key}[{i}]"), noun, &names[i], known)),
        None => Ok(()),
    }
}

/// Returns the error for a claim of which neither the printed nor the corrected form holds.
pub(super) fn refuted(
    what: impl Into<String>,
    expected: impl Into<String>,
    found: impl ToString,
) -> Error {
    Error::Computation {
        what: what.into(),
        expected: expected.into(),
        found: found.to_string(),
        remedy: "check the derivation: neither the printed nor the corrected claim holds"
            .to_owned(),
    }
}
