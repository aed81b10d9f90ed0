//! Marks that several kinds of figures share: markers of series, whiskers, published points.

use plotters::style::RGBColor;

use super::canvas::{Canvas, Point, Shape};
use super::frame::Area;
use super::surface::corners;
use super::theme::{PAPER, RADIUS};
use crate::error::Result;

/// Width of the lines of series.
pub const LINE: f64 = 4.0;
/// Radius of the rings of published values.
pub(super) const RING: f64 = 14.0;

/// The colours of Okabe and Ito, which are distinct with common colour vision deficiencies.
///
/// Yellow is last because it is faint on white.
pub(super) const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
];

const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Up,
    Shape::Diamond,
    Shape::Down,
    Shape::Cross,
    Shape::Plus,
    Shape::Star,
];

/// Dash and gap of the lines in each round of colours.
const ROUNDS: [Option<(f64, f64)>; 4] =
    [None, Some((14.0, 8.0)), Some((4.0, 7.0)), Some((26.0, 7.0))];

/// The style of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStyle {
    /// Colour of line and marker.
    pub color: RGBColor,
    /// Marker.
    pub shape: Shape,
    /// Dash and gap of the line.
    pub dashes: Option<(f64, f64)>,
}

/// Returns the style of the series with this index.
#[must_use]
pub fn series_style(series: usize) -> SeriesStyle {
    let round = series / COLORS.len();
    SeriesStyle {
        color: COLORS[series % COLORS.len()],
        // Shifted shapes keep the pairs of colour and shape distinct in every round.
        shape: SHAPES[(series + round) % SHAPES.len()],
        dashes: ROUNDS[round % ROUNDS.len()],
    }
}

/// The colour scale of shades: purple, blue, green, yellow, as in viridis.
const SHADES: [RGBColor; 4] =
    [RGBColor(68, 1, 84), RGBColor(49, 104, 142), RGBColor(53, 183, 121), RGBColor(253, 221, 37)];

/// Returns the colour of shade `index` of `count`, from dark to light.
#[must_use]
pub fn shade(index: usize, count: usize) -> RGBColor {
    let position = index as f64 / count.saturating_sub(1).max(1) as f64 * (SHADES.len() - 1) as f64;
    let from = (position.floor() as usize).min(SHADES.len() - 2);
    let share = position - from as f64;
    let (RGBColor(r0, g0, b0), RGBColor(r1, g1, b1)) = (SHADES[from], SHADES[from + 1]);
    let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
    RGBColor(mix(r0, r1), mix(g0, g1), mix(b0, b1))
}

/// Draws the marker of a series in a given colour.
///
/// # Errors
/// A failure of the backend.
pub fn shaded_dot(canvas: &dyn Canvas, series: usize, at: Point, color: RGBColor) -> Result<()> {
    canvas.marker(series_style(series).shape, at, RADIUS * 1.25, color, (PAPER, 2.0))
}

/// Draws the marker of a series, with a halo that separates it from lines below it.
///
/// # Errors
/// A failure of the backend.
pub fn dot(canvas: &dyn Canvas, series: usize, at: Point) -> Result<()> {
    let style = series_style(series);
    canvas.marker(style.shape, at, RADIUS, style.color, (PAPER, 2.0))
}

/// Draws the outline of a series' marker, which leaves a mark below it visible.
///
/// # Errors
/// A failure of the backend.
pub fn outline(canvas: &dyn Canvas, series: usize, at: Point, color: RGBColor) -> Result<()> {
    let shape = series_style(series).shape;
    if shape == Shape::Circle {
        return ring_of(canvas, color, at, RADIUS * 1.4);
    }
    let corners = corners(shape, at, RADIUS * 1.5);
    for (width, color) in [(5.0, PAPER), (3.0, color)] {
        for (corner, from) in corners.iter().enumerate() {
            let to = corners[(corner + 1) % corners.len()];
            // Single edges, a little longer, because a closed path has a notch where its ends meet.
            let longer = 0.3 * width / (to.0 - from.0).hypot(to.1 - from.1);
            let (dx, dy) = ((to.0 - from.0) * longer, (to.1 - from.1) * longer);
            let edge = [(from.0 - dx, from.1 - dy), (to.0 + dx, to.1 + dy)];
            canvas.line(&edge, width, color, None)?;
        }
    }
    Ok(())
}

/// Returns the number of earlier series with a mark that a marker at `at` would hide.
#[must_use]
pub fn hidden_below(earlier: &[Vec<Point>], at: Point) -> usize {
    let is_near = |other: &Point| (other.0 - at.0).hypot(other.1 - at.1) < RADIUS * 0.55;
    earlier.iter().filter(|points| points.iter().any(is_near)).count()
}

/// Draws a ring for a published value; our marker or bar is visible inside.
///
/// # Errors
/// A failure of the backend.
pub fn published_ring(canvas: &dyn Canvas, color: RGBColor, at: Point) -> Result<()> {
    ring_of(canvas, color, at, RING)
}

/// Draws a ring for a published value with a given radius.
pub(super) fn ring_of(canvas: &dyn Canvas, color: RGBColor, at: Point, radius: f64) -> Result<()> {
    canvas.ring(at, radius, 6.0, PAPER)?;
    canvas.ring(at, radius, 3.0, color)
}

/// Draws a vertical line with caps.
///
/// # Errors
/// A failure of the backend.
pub fn whisker(canvas: &dyn Canvas, from: Point, to: Point, color: RGBColor) -> Result<()> {
    const CAP: f64 = 7.0;
    canvas.line(&[from, to], 2.5, color, None)?;
    for (x, y) in [from, to] {
        canvas.line(&[(x - CAP, y), (x + CAP, y)], 2.5, color, None)?;
    }
    Ok(())
}

/// Returns whether a point is in the area or on its edge.
#[must_use]
pub fn inside(area: Area, (x, y): Point) -> bool {
    // A tolerance of half a unit, for values at the end of an axis.
    (area.left - 0.5..=area.right + 0.5).contains(&x)
        && (area.top - 0.5..=area.bottom + 0.5).contains(&y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_stay_distinct_over_three_rounds() {
        let styles: Vec<SeriesStyle> = (0..24).map(series_style).collect();
        for (index, style) in styles.iter().enumerate() {
            assert!(!styles[..index].contains(style), "series {index}");
        }
    }
}
