//! Strategies from files and by name.

use std::path::Path;

use super::noise_strategy::NoiseStrategy;
use crate::error::Result;
use crate::problem::Problem;
use crate::registry::{by_name, strategies};
use crate::stream::Coefficients;
use crate::{matrix_file, named_file};

/// The endings of files with a strategy.
const ENDINGS: [&str; 3] = ["npy", "npz", "csv"];

impl NoiseStrategy {
    /// Returns the strategy of a text: `FILE.npy`, `FILE.npz` or the name of a registered strategy.
    ///
    /// A file is a strategy as it is: a lower triangular matrix C (`.npy` or `.csv`), or the
    /// coefficients of `matmech stream --out` (`.npz`). A name, with options, is selected for the
    /// problem and scaled to sensitivity 1.
    ///
    /// # Errors
    /// As [`NoiseStrategy::read`] and [`by_name`]; or the strategy does not support the problem.
    pub fn of_text(text: &str, problem: &Problem<'_>) -> Result<Self> {
        if is_file(text) {
            return Self::read(Path::new(text));
        }
        let selection = by_name(text)?.select_for(problem)?;
        Ok(Self::of_selection(text, selection, problem.workload.cells()))
    }

    /// Reads a matrix C (`.npy`, `.csv`) or coefficients (`.npz`).
    ///
    /// # Errors
    /// The file cannot be read or has other contents; or as [`NoiseStrategy::of_matrix`].
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let resolved = named_file::resolved(path);
        if ending(path).is_some_and(|ending| ending == "npz") {
            return Ok(Self::of_coefficients(&name, Coefficients::read(&resolved)?));
        }
        Self::of_matrix(&name, matrix_file::read(&resolved)?)
    }
}

/// Returns whether a text is the path of a file, not a strategy with an operand or options.
fn is_file(text: &str) -> bool {
    let name = text.split([':', '(']).next().unwrap_or(text);
    let is_name = name == "matrix" || strategies().iter().any(|s| s.name() == name);
    let path = Path::new(text);
    !is_name && ending(path).is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// Returns the ending of a path in lower case.
fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::is_file;

    #[test]
    fn paths_and_names_differ() {
        for text in ["C.npy", "a/b.npz", "C.NPZ", "./optimal.npy", "D:\\C.csv", "optimal.npy"] {
            assert!(is_file(text), "{text}");
        }
        for text in ["optimal", "recurrence(buffers=4)", "matrix:C.npy", "eigen-design:C.npy"] {
            assert!(!is_file(text), "{text}");
        }
    }
}
