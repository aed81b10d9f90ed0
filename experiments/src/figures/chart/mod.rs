//! The data of a figure: series of points per panel, read from a result table.

mod layout;
mod panels;

pub use panels::{Chart, Mark, Panel, chart, whiskers};
