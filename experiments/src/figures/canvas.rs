//! What figures are drawn on: lines, shapes and text in the units of the figure, whatever is behind
//! it.

use plotters::style::RGBColor;

use crate::error::Result;

/// A point in the units of the figure; y grows downwards.
pub type Point = (f64, f64);

/// Where a text stands relative to its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// It starts there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// How a text looks.
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

/// The outlines that tell series apart without colour.
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

/// What figures are drawn on, in their own units.
pub trait Canvas {
    /// Fills everything.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn fill(&self, color: RGBColor) -> Result<()>;

    /// A polyline; `dashes` are the lengths of dash and gap.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn line(
        &self,
        points: &[Point],
        width: f64,
        color: RGBColor,
        dashes: Option<(f64, f64)>,
    ) -> Result<()>;

    /// A filled rectangle with two opposite corners.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn rectangle(&self, a: Point, b: Point, color: RGBColor) -> Result<()>;

    /// A marker of radius `radius`, filled with `fill` and outlined with `outline`.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn marker(
        &self,
        shape: Shape,
        at: Point,
        radius: f64,
        fill: RGBColor,
        outline: (RGBColor, f64),
    ) -> Result<()>;

    /// A circle that is not filled.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn ring(&self, centre: Point, radius: f64, width: f64, color: RGBColor) -> Result<()>;

    /// A text whose base line runs through `at`.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn text(&self, text: &str, at: Point, lettering: Lettering) -> Result<()>;
}
