//! `reproduce data`.

use std::path::Path;

use tracing::{info, warn};

use super::output::say;
use crate::datasets::{Folders, Found, Manifest, locate, obtain};
use crate::error::Result;

/// Finds or downloads data sets.
///
/// # Errors
/// Returns an error if a named data set is not available. Without names, only required data sets
/// must be available.
pub(super) fn data(root: &Path, names: &[String]) -> Result<()> {
    let manifest = Manifest::load(root)?;
    let folders = Folders::of_process(root);
    let mut first = None;
    for dataset in manifest.select(names)? {
        if !matches!(locate(dataset, &folders), Ok(Some(_)) | Err(_)) {
            let from = dataset.url.as_deref().unwrap_or(&dataset.source);
            info!("downloading {} ({}) from {from}", dataset.name, dataset.licence);
        }
        match obtain(dataset, &folders) {
            Ok(found) => {
                let source = match &found {
                    Found::User(_) => "in your folder",
                    Found::Committed(_) => "in the project",
                    Found::Downloaded(_) => "downloaded",
                };
                say(&format!("{}: {source}, checked: {}", dataset.name, found.path().display()));
            }
            Err(problem) if names.is_empty() && !dataset.required => {
                warn!("{}: not available, the stand-in is used\n{problem}", dataset.name);
            }
            Err(problem) => {
                first = match first {
                    None => Some(problem),
                    Some(earlier) => {
                        warn!("{}: not available\n{problem}", dataset.name);
                        Some(earlier)
                    }
                };
            }
        }
    }
    first.map_or(Ok(()), Err)
}
