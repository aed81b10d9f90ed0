//! The drawing interface: lines, shapes and text in the units of the figure, for any backend.

use plotters::style::RGBColor;

use crate::error::Result;

/// A point in the units of the figure; y grows downwards.
pub type Point = (f64, f64);

/// Alignment of a text relative to its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text starts at the anchor.
    Start,
    /// The text is centred at the anchor.
    Middle,
    /// The text ends at the anchor.
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug)]
pub struct Lettering {
    /// Size of one em.
    pub em: f64,
    /// Bold or regular.
    pub bold: bool,
    /// Colour.
    pub color: RGBColor,
    /// Alignment along the text.
    pub align: Align,
    /// Read from bottom to top.
    pub upwards: bool,
}

/// The shapes of markers, which distinguish series without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Circle.
    Circle,
    /// Square on its side.
    Square,
    /// Triangle, point up.
    Up,
    /// Square on its corner.
    Diamond,
    /// Triangle, point down.
    Down,
    /// Diagonal cross.
    Cross,
    /// Upright cross.
    Plus,
    /// Five-pointed star.
    Star,
}

/// A drawing surface in the units of the figure.
pub trait Canvas {
    /// Fills the whole canvas.
    ///
    /// # Errors
    /// A failure of the backend.
    fn fill(&self, color: RGBColor) -> Result<()>;

    /// Draws a polyline; `dashes` are the lengths of dash and gap.
    ///
    /// # Errors
    /// A failure of the backend.
    fn line(
        &self,
        points: &[Point],
        width: f64,
        color: RGBColor,
        dashes: Option<(f64, f64)>,
    ) -> Result<()>;

    /// Draws a filled rectangle with two opposite corners.
    ///
    /// # Errors
    /// A failure of the backend.
    fn rectangle(&self, a: Point, b: Point, color: RGBColor) -> Result<()>;

    /// Draws a marker, filled with `fill` and outlined with the colour and width `outline`.
    ///
    /// # Errors
    /// A failure of the backend.
    fn marker(
        &self,
        shape: Shape,
        at: Point,
        radius: f64,
        fill: RGBColor,
        outline: (RGBColor, f64),
    ) -> Result<()>;

    /// Draws a circle that is not filled.
    ///
    /// # Errors
    /// A failure of the backend.
    fn ring(&self, centre: Point, radius: f64, width: f64, color: RGBColor) -> Result<()>;

    /// Draws a text with its baseline through `at`.
    ///
    /// # Errors
    /// A failure of the backend.
    fn text(&self, text: &str, at: Point, lettering: Lettering) -> Result<()>;
}
