//! `reproduce guide`.

use std::path::Path;

use super::{say, steps};
use crate::error::Result;
use crate::guide;
use crate::registry::Kinds;

/// Writes the page for reviewers.
pub(super) fn guide(root: &Path, kinds: &Kinds) -> Result<()> {
    let page = guide::write(root, &steps::configs(root, kinds)?)?;
    say(&format!("wrote {}", page.display()));
    Ok(())
}
