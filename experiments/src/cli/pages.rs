//! `reproduce pages`.

use std::path::Path;

use super::output::say;
use super::steps;
use crate::error::Result;
use crate::layout::shown;
use crate::pages;
use crate::registry::Kinds;

/// Writes the tables of pages that are made of results.
pub(super) fn pages(root: &Path, kinds: &Kinds) -> Result<()> {
    for page in pages::write(root, &steps::configs(root, kinds)?)? {
        say(&format!("wrote {}", shown(root, &page)));
    }
    Ok(())
}
