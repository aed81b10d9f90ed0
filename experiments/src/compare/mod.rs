//! Compares results with known values and gives each a verdict, as Markdown and as one HTML file.
//!
//! ```text
//! data/published/*.csv ─┐                       ┌─▶ results/COMPARISON.md
//! data/expected/*.csv  ─┼─▶ join ─▶ [verdict] ──┼─▶ results/comparison.html (figures inlined)
//! results/…/*.csv      ─┘             ▲         └─▶ results/verdicts.csv (the totals)
//!   data/expected/deviations.toml, bands.toml
//! ```

mod assemble;
mod badge;
mod bands;
mod deviations;
mod explained;
mod found;
mod html;
mod index;
mod known;
mod markdown;
mod overview;
mod remaining;
pub mod report;
mod rounding;
mod run;
pub mod verdict;

pub use report::Report;
pub use run::run;
