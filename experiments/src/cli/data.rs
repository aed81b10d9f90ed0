//! `reproduce data`.

use std::path::Path;

use tracing::{info, warn};

use super::say;
use crate::datasets::{Folders, Found, Manifest, locate, obtain};
use crate::error::Result;

/// Finds or fetches data sets. Those that are named must be had; of all the others only the
/// required ones must.
pub(super) fn data(root: &Path, names: &[String]) -> Result<()> {
    let manifest = Manifest::load(root)?;
    let folders = Folders::of_process(root);
    let mut first = None;
    for dataset in manifest.select(names)? {
        if !matches!(locate(dataset, &folders), Ok(Some(_)) | Err(_)) {
            info!("fetching {} ({}) from {}", dataset.name, dataset.licence, dataset.url);
        }
        match obtain(dataset, &folders) {
            Ok(found) => {
                let place = match &found {
                    Found::Own(_) => "in your own folder",
                    Found::Downloaded(_) => "downloaded",
                };
                say(&format!("{}: {place}, checked: {}", dataset.name, found.path().display()));
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
