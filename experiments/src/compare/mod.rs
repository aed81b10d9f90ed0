//! Published values against ours: one verdict for each, as Markdown and as a self-contained HTML page.
//!
//! ```text
//! data/published/*.csv ─┐                       ┌─▶ results/COMPARISON.md
//! data/expected/*.csv  ─┼─▶ join ─▶ [verdict] ──┤
//! results/…/*.csv      ─┘             ▲         └─▶ results/comparison.html (figures inlined)
//!            data/expected/deviations.toml
//! ```

mod assemble;
mod deviations;
mod html;
mod input;
mod known;
mod markdown;
pub mod printed;
mod remaining;
pub mod report;
mod rounding;
pub(crate) mod tables;
pub mod verdict;

use std::path::Path;

pub use crate::config::CompareSpec;
pub use input::{InputError, InputErrors};
pub use report::Report;

use crate::config::{Config, Profile};
use crate::engine::{Kept, write_atomically};
use crate::layout::Results;

/// Judges every known value that `configs` select and writes `COMPARISON.md` and `comparison.html` into the results
/// folder of the profile.
///
/// Whether the artifact holds is in [`Report::failures`]; mismatches are not errors of this function.
///
/// # Errors
/// Files that are missing or cannot be used ([`InputErrors`] has all of them), or a report that cannot be written.
pub fn run(root: &Path, configs: &[Config], profile: Profile) -> anyhow::Result<Report> {
    let deviations = deviations::Deviations::read(root)?;
    let assembly = assemble::assemble(root, configs, profile, &deviations)?;
    let remaining = remaining::remaining(root, &assembly.selected)?;
    let folder = Results::new(root, profile).dir();
    let report = Report {
        profile,
        kept: configs.iter().filter_map(|config| Kept::by_an_earlier_run(root, config, profile)).collect(),
        sections: assembly.sections,
        failures: assembly.failures,
        remaining,
        markdown: folder.join("COMPARISON.md"),
        html: folder.join("comparison.html"),
    };
    for (file, text) in [(&report.markdown, markdown::render(&report)), (&report.html, html::render(&report))] {
        write_atomically(file, text.as_bytes()).map_err(|error| {
            let name = file.display().to_string();
            let remedy = "check the folder's permissions and the free space";
            InputError::new(name, "a file that can be written", error.to_string(), remedy)
        })?;
    }
    Ok(report)
}
