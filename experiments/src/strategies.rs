//! Checks of the strategies, workloads and other names in configs.

use matmech::strategy;
use matmech::workload::Workload;

use crate::error::{Error, Result};

/// The method that reports the SVD bound. It is not a strategy.
pub const SVD_BOUND: &str = "svd-bound";

/// Refuses a workload string that cannot be parsed.
///
/// # Errors
/// Returns the error of the parser, under the config key `key`.
pub fn check_workload(key: &str, text: &str) -> Result<()> {
    Workload::parse(text).map(|_| ()).map_err(|error| Error::refused(key, error))
}

/// Refuses a list of workload strings as [`check_workload`] does each, under `key[0]`, `key[1]`, ….
///
/// # Errors
/// Returns the error of the first workload that is refused.
pub fn check_workloads(key: &str, texts: &[String]) -> Result<()> {
    texts.iter().enumerate().try_for_each(|(i, text)| check_workload(&format!("{key}[{i}]"), text))
}

/// Refuses names that are not known, under `key[0]`, `key[1]`, ….
///
/// # Errors
/// Returns an error that lists the known names.
pub fn check_names(key: &str, noun: &'static str, names: &[String], known: &[&str]) -> Result<()> {
    match names.iter().position(|name| !known.contains(&name.as_str())) {
        Some(i) => Err(Error::unknown_name(format!("{key}[{i}]"), noun, &names[i], known)),
        None => Ok(()),
    }
}

/// Refuses a method that is neither a strategy nor the SVD bound.
///
/// # Errors
/// Returns an error that lists the known names, under the config key `key`.
pub fn check_method(key: &str, method: &str) -> Result<()> {
    if method == SVD_BOUND { Ok(()) } else { check_known(key, method, &[SVD_BOUND]) }
}

/// Refuses a method that is no strategy.
///
/// # Errors
/// Returns an error that lists the known names, under the config key `key`.
pub fn check_strategy(key: &str, method: &str) -> Result<()> {
    check_known(key, method, &[])
}

/// Refuses a method that is no strategy, with a list of the strategies and of `others`.
fn check_known(key: &str, method: &str, others: &[&str]) -> Result<()> {
    match strategy::by_name(method) {
        Ok(_) => Ok(()),
        Err(matmech::Error::UnknownName { known, .. }) => {
            let known: Vec<&str> =
                known.iter().map(String::as_str).chain(others.iter().copied()).collect();
            Err(Error::unknown_name(key, "strategy", method, &known))
        }
        Err(error) => Err(Error::refused(key, error)),
    }
}

/// Refuses a list of methods as [`check_method`] does each, under `key[0]`, `key[1]`, ….
///
/// # Errors
/// Returns the error of the first method that is refused.
pub fn check_methods(key: &str, methods: &[String]) -> Result<()> {
    methods
        .iter()
        .enumerate()
        .try_for_each(|(i, method)| check_method(&format!("{key}[{i}]"), method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_and_workloads_are_refused_under_their_keys() {
        for method in [SVD_BOUND, "wavelet", "eigen-design:wavelet", "eigen-separation(group=4)"] {
            check_method("methods[1]", method).unwrap();
        }
        for method in [
            "wavelets",
            "eigen-design:wavelets",
            "eigen-separation(groups=4)",
            "matrix:nowhere.npy",
        ] {
            let error = check_method("methods[1]", method).unwrap_err();
            assert_eq!(error.key(), "methods[1]", "{error}");
        }
        assert!(check_method("m", "wavelett").unwrap_err().to_string().contains("wavelet"));
        assert_eq!(check_workload("w", "rage:4").unwrap_err().key(), "w");
    }
}
