//! The experiments of S1 (Li & Miklau, Efficient Batch Query Answering).

mod checked_claims;
mod checked_examples;
mod covered_ranges;
mod laplace;
mod laplace_comparison;
mod level_cap;
mod sample_errors;
mod sampled_bound;
mod separated_marginals;
mod skewed_ranges;
mod strategy_errors;

pub use checked_claims::CheckedClaims;
pub use covered_ranges::CoveredRanges;
pub use laplace_comparison::LaplaceComparison;
pub use level_cap::LevelCap;
pub use sampled_bound::SampledBound;
pub use separated_marginals::SeparatedMarginals;
pub use skewed_ranges::SkewedRanges;
pub use strategy_errors::StrategyErrors;

use crate::error::{Error, Result};

/// Refuses names that are not known, under `key[0]`, `key[1]`, ….
fn check_names(key: &str, noun: &'static str, names: &[String], known: &[&str]) -> Result<()> {
    match names.iter().position(|name| !known.contains(&name.as_str())) {
        Some(i) => Err(Error::unknown_name(format!("{key}[{i}]"), noun, &names[i], known)),
        None => Ok(()),
    }
}

/// Returns the error for a claim of which neither the printed nor the corrected form holds.
fn refuted(what: impl Into<String>, expected: impl Into<String>, found: impl ToString) -> Error {
    Error::Computation {
        what: what.into(),
        expected: expected.into(),
        found: found.to_string(),
        remedy: "check the derivation: neither the printed nor the corrected claim holds"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
