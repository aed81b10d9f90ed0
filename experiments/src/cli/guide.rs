//! `reproduce guide`.

use std::path::Path;

use super::{say, steps};
use crate::error::Result;
use crate::guide;
use crate::past_s3;
use crate::registry::Kinds;

/// Writes the page for reviewers, and S3's tables past S3.
pub(super) fn guide(root: &Path, kinds: &Kinds) -> Result<()> {
    let page = guide::write(root, &steps::configs(root, kinds)?)?;
    say(&format!("wrote {}", page.display()));
    say(&format!("wrote {}", past_s3::write(root)?.display()));
    Ok(())
}
