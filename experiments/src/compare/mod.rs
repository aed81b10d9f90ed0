//! Compares results with known values and gives each a verdict. The report is built once, as
//! blocks, and written as Markdown and as one HTML page.
//!
//! ```text
//! data/published/*.csv ─┐                                ┌─▶ results/COMPARISON.md
//! data/expected/*.csv  ─┼─▶ join ─▶ [verdict] ─▶ blocks ─┼─▶ results/comparison.html (+ figures)
//! results/…/*.csv      ─┘             ▲                  └─▶ results/verdicts.csv (the totals)
//!   data/expected/deviations.toml, bands.toml
//! ```

mod assemble;
mod bands;
mod blocks;
mod contents;
mod deviations;
mod explained;
mod explanation;
mod found;
mod html;
mod index;
mod judgement;
mod known;
mod lookup;
pub mod report;
mod rounding;
mod run;
mod subject;
pub mod verdict;

pub use lookup::{Shown, of_cells, show};
pub use report::Report;
pub use run::run;
