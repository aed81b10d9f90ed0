//! The common style of figures: size, colours, text.

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

/// Returns the style of horizontal text in ink.
#[must_use]
pub fn lettering(em: f64, bold: bool, align: Align) -> Lettering {
    Lettering { em, bold, color: INK, align, upwards: false }
}
