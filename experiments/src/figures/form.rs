//! The properties of a kind of figure that determine axes and legend.

/// The type of the x axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XAxis {
    /// As numbers.
    Numbers,
    /// As categories, in the order of the table.
    Categories,
}

/// The axes and legend of a kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// The type of the x axis.
    pub x: XAxis,
    /// Whether marks start at the x axis, so that the y axis must leave each a visible height.
    pub marks_start_at_axis: bool,
    /// Whether series are the rows of a matrix: labelled on the y axis, from the top, and without a
    /// legend.
    pub rows_on_y_axis: bool,
    /// Width of a sample in the legend.
    pub sample_width: f64,
}
