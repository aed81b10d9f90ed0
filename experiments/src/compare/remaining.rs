//! Known values that no config selects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::known::part;
use super::report::Remaining;
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// Counts the rows that no config selects, per file of known values and part of the paper.
///
/// `selected` maps a file to the line numbers of its selected rows. Fully selected files are
/// omitted.
///
/// # Errors
/// An unreadable folder or file.
pub fn remaining(
    root: &Path,
    selected: &BTreeMap<String, BTreeSet<usize>>,
) -> Result<Vec<Remaining>> {
    let mut found = Vec::new();
    for folder in ["data/published", "data/expected"] {
        for name in csv_names(root, folder)? {
            let file = format!("{folder}/{name}");
            let table = Table::read(&root.join(&file), &file, "check the file")?;
            let none = BTreeSet::new();
            let chosen = selected.get(&file).unwrap_or(&none);
            let mut parts: Vec<(String, usize)> = Vec::new();
            for row in (0..table.len()).filter(|row| !chosen.contains(&table.line(*row))) {
                let part = part(&table, row);
                match parts.iter_mut().find(|(known, _)| known == part) {
                    Some((_, count)) => *count += 1,
                    None => parts.push((part.to_owned(), 1)),
                }
            }
            if !parts.is_empty() {
                found.push(Remaining { file, rows: table.len(), selected: chosen.len(), parts });
            }
        }
    }
    Ok(found)
}

fn csv_names(root: &Path, folder: &str) -> Result<Vec<String>> {
    let path = root.join(folder);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |error: std::io::Error| {
        Error::file(FileRole::Input, folder, "a readable folder", error, "check its permissions")
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".csv") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
