//! `reproduce guide`.

use std::path::Path;

use super::{say, steps};
use crate::error::Result;
use crate::guide;
use crate::registry::Kinds;

/// Writes the page for reviewers, and what other pages quote of the results.
pub(super) fn guide(root: &Path, kinds: &Kinds) -> Result<()> {
    for page in guide::write(root, &steps::configs(root, kinds)?)? {
        say(&format!("wrote {}", page.display()));
    }
    Ok(())
}
