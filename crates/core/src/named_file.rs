//! Files that texts name, such as `matrix:W.npy`, `schedule(file=rates.csv)` and
//! `anova(measure=M.toml)`.
//!
//! Their paths are relative to the current folder, or to the folder of the document that has the
//! text:
//!
//! ```
//! use matmech_core::{named_file, workload::Workload};
//! let folder = tempfile::tempdir().unwrap();
//! std::fs::write(folder.path().join("W.csv"), "1,0\n1,1\n").unwrap();
//! let text = "matrix:W.csv";
//! let read = named_file::relative_to(folder.path(), || Workload::parse(text));
//! assert_eq!(read?.cells(), 2);
//! assert_eq!(named_file::names_in(text), ["W.csv"]);
//! # Ok::<(), matmech_core::Error>(())
//! ```

use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The endings of files that texts name.
const ENDINGS: [&str; 4] = [".npy", ".npz", ".csv", ".toml"];

thread_local! {
    static FOLDER: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Restores the previous folder, also after a panic.
struct Previous(Option<PathBuf>);

impl Drop for Previous {
    fn drop(&mut self) {
        FOLDER.set(self.0.take());
    }
}

/// Runs work on this thread whose texts name files relative to a folder.
pub fn relative_to<T>(folder: &Path, work: impl FnOnce() -> T) -> T {
    let _previous = Previous(FOLDER.replace(Some(folder.to_path_buf())));
    work()
}

/// Returns the folder to which files are relative on this thread; `None` for the current folder.
pub fn folder() -> Option<PathBuf> {
    FOLDER.with_borrow(Clone::clone)
}

/// Returns the path of a file that a text names.
pub fn resolved(name: &Path) -> PathBuf {
    FOLDER.with_borrow(|folder| match folder {
        Some(folder) => folder.join(name),
        None => name.to_path_buf(),
    })
}

/// Returns the names of files in a text: its parts with the ending of a file.
pub fn names_in(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| "():;,=".contains(c) || c.is_whitespace());
    parts.filter(|part| ENDINGS.iter().any(|ending| part.ends_with(ending))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_form() {
        for (text, names) in [
            ("matrix(shape=4x2):W.npy", vec!["W.npy"]),
            ("union(matrix:a.csv; schedule(file=b.csv,momentum=0.9))", vec!["a.csv", "b.csv"]),
            ("anova(measure=m.toml)", vec!["m.toml"]),
            ("residual(permuted(matrix:x.npy; seed=3))", vec!["x.npy"]),
            ("range:1024", vec![]),
            ("anova(measure=uniform)", vec![]),
        ] {
            assert_eq!(names_in(text), names, "{text}");
        }
    }

    #[test]
    fn folders_are_restored() {
        let name = Path::new("x");
        let inner = relative_to(Path::new("a"), || {
            let b = relative_to(Path::new("b"), || resolved(name));
            (b, resolved(name))
        });
        assert_eq!(inner, (PathBuf::from("b/x"), PathBuf::from("a/x")));
        assert_eq!(resolved(name), name);
    }
}
