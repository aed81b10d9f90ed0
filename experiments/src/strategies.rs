//! Strategies and workloads as configs write them.

use matmech::strategy;
use matmech::workload::Workload;

use crate::error::{Error, Result};

/// The method that stands for the bound itself, which is not a strategy.
pub const SVD_BOUND: &str = "svd-bound";

/// Refuses a workload string that cannot be read, naming the key.
///
/// # Errors
/// As said.
pub fn check_workload(key: &str, text: &str) -> Result<()> {
    Workload::parse(text).map(|_| ()).map_err(|error| Error::refused(key, error))
}

/// Refuses a method that is neither the bound nor a strategy, naming the key.
///
/// # Errors
/// As said.
pub fn check_method(key: &str, method: &str) -> Result<()> {
    if method == SVD_BOUND {
        return Ok(());
    }
    match strategy::by_name(method) {
        Ok(_) => Ok(()),
        Err(matmech::Error::UnknownName { known, .. }) => {
            let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
            known.push(SVD_BOUND);
            Err(Error::unknown_name(key, "strategy", method, &known))
        }
        Err(error) => Err(Error::refused(key, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_strategy_nor_bound_is_refused_under_its_key() {
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
