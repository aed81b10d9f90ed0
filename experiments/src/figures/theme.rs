//! What all figures look like: size, colours, letters.

use plotters::style::RGBColor;

use super::canvas::{Align, Lettering};

/// Width and height of every figure, in its own units and in pixels of the PNG.
pub const SIZE: (u32, u32) = (1600, 1000);
/// Text and axes.
pub const INK: RGBColor = RGBColor(33, 37, 41);
/// Reference lines and what belongs to no series.
pub const GREY: RGBColor = RGBColor(92, 99, 106);
/// Background.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);

/// Plain text in ink.
#[must_use]
pub fn lettering(em: f64, bold: bool, align: Align) -> Lettering {
    Lettering { em, bold, color: INK, align, upwards: false }
}
