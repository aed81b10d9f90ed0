//! `reproduce diff`.

use std::path::Path;

use super::output::say;
use crate::difference::between;
use crate::error::{Error, Result};
use crate::registry::Kinds;

/// Maximum number of differences that are printed.
const MAX_SHOWN: usize = 20;

/// Compares two folders of results and prints the differences.
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
            remedy: "write a number of at least 1, or omit the option".to_owned(),
        });
    }
    let is_timed =
        |metric: &str| kinds.experiments.iter().any(|kind| kind.cost_metrics().contains(&metric));
    let outcome = between(first, second, &is_timed, costs_within)?;
    for difference in outcome.differences.iter().take(MAX_SHOWN) {
        say(&difference.to_string());
    }
    if outcome.differences.len() > MAX_SHOWN {
        say(&format!("… and {} more", outcome.differences.len() - MAX_SHOWN));
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
