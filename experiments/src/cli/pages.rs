//! `reproduce pages`.

use std::path::Path;

use super::output::say;
use super::steps;
use crate::config::Profile;
use crate::error::Result;
use crate::layout::shown;
use crate::pages;
use crate::registry::Kinds;

/// Writes the derived rows and the tables of pages that are made of results.
pub(super) fn pages(root: &Path, kinds: &Kinds) -> Result<()> {
    steps::derive(root, &steps::configs(root, kinds)?, Profile::Standard)?;
    for page in pages::write(root)? {
        say(&format!("wrote {}", shown(root, &page)));
    }
    Ok(())
}
