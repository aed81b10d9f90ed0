//! The style of figures: size, colours, text and spaces of all, and the form of a kind.

use plotters::style::RGBColor;

use super::canvas::{Align, Lettering};

/// Width and height of every figure, in units of the figure and in pixels of the PNG.
pub const SIZE: (u32, u32) = (1600, 1000);
/// Colour of text and axes.
pub const INK: RGBColor = RGBColor(33, 37, 41);
/// Colour of reference lines and marks without a series.
pub const GREY: RGBColor = RGBColor(92, 99, 106);
/// Background colour.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);

/// The margin of a figure.
pub(super) const MARGIN: f64 = 32.0;
/// Space between related texts.
pub(super) const GAP: f64 = 12.0;

/// Radius of markers.
pub(super) const RADIUS: f64 = 9.0;

/// Text sizes (one em), by purpose.
pub mod em {
    /// Title of the figure.
    pub const TITLE: f64 = 32.0;
    /// Labels of the axes.
    pub const LABEL: f64 = 26.0;
    /// Headings of the panels.
    pub const HEADING: f64 = 25.0;
    /// Ticks and categories.
    pub const TICK: f64 = 23.0;
    /// The legend.
    pub const LEGEND: f64 = 24.0;
    /// Values above bars.
    pub const VALUE: f64 = 17.0;
}

/// Distance between lines of text, in em.
pub const LEADING: f64 = 1.3;

/// Returns the style of horizontal text in ink.
#[must_use]
pub fn lettering(em: f64, bold: bool, align: Align) -> Lettering {
    Lettering { em, bold, color: INK, align, upwards: false }
}

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
