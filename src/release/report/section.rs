//! Sections of charts.

use super::chart::Chart;

/// Charts with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// What the charts show.
    pub note: String,
    /// The charts, in order.
    pub charts: Vec<Chart>,
}
