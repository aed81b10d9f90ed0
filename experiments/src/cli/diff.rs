//! `reproduce diff`.

use std::path::Path;

use super::say;
use crate::difference::between;
use crate::error::{Error, Result};
use crate::registry::Kinds;

/// As many differences as fit one screen.
const SHOWN: usize = 20;

/// Compares two folders of results and prints what differs.
pub(super) fn diff(
    first: &Path,
    second: &Path,
    costs_within: Option<f64>,
    kinds: &Kinds,
) -> Result<()> {
    if let Some(factor) = costs_within.filter(|factor| !(*factor >= 1.0 && factor.is_finite())) {
        return Err(Error::Usage {
            option: "--costs-within",
            expected: "a factor of at least 1, such as 2".to_owned(),
            found: factor.to_string(),
            remedy: "write such a factor, or leave the option out".to_owned(),
        });
    }
    let is_timed =
        |metric: &str| kinds.experiments.iter().any(|kind| kind.timed().contains(&metric));
    let outcome = between(first, second, &is_timed, costs_within)?;
    for difference in outcome.differences.iter().take(SHOWN) {
        say(&difference.to_string());
    }
    if outcome.differences.len() > SHOWN {
        say(&format!("… and {} more", outcome.differences.len() - SHOWN));
    }
    say(&format!(
        "{} tables, {} rows, {} differences",
        outcome.tables,
        outcome.rows,
        outcome.differences.len()
    ));
    match outcome.differences.len() {
        0 => Ok(()),
        differences => Err(Error::Different { differences }),
    }
}
