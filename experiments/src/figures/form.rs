//! What axes and legend must know of a kind of figure.

/// How the x column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XAxis {
    /// As numbers.
    Numbers,
    /// As categories, in the order of the table.
    Categories,
}

/// The form of a kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// How the x column is read.
    pub x: XAxis,
    /// Whether the marks stand on the x axis, which then begins where they all have some height.
    pub stands_on_axis: bool,
    /// Whether the series are the rows of a matrix: they are named on the y axis, the first one on
    /// top, and have no legend.
    pub series_are_rows: bool,
    /// Length of a sample in the legend.
    pub sample_width: f64,
}
