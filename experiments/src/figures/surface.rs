//! The canvas on an SVG, which plotters writes.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontFamily, FontTransform, RGBColor, ShapeStyle, TextStyle,
};

use super::canvas::{Align, Canvas, Lettering, Point, Shape};
use super::font::{FAMILY, style};
use super::theme::SIZE;
use crate::error::{Error, Result};

/// Backend units per unit of the figure; plotters rounds positions to whole units.
pub(super) const SCALE: u32 = 4;
/// The SVG backend divides text sizes by this number.
const TEXT_SIZE: f64 = 1.24;
/// Distance of the baseline from the top in the SVG backend, in em.
const BASELINE: f64 = 0.76;

/// A canvas on an SVG of the size of figures.
pub struct Surface<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl std::fmt::Debug for Surface<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surface").finish_non_exhaustive()
    }
}

impl Canvas for Surface<'_> {
    fn fill(&self, color: RGBColor) -> Result<()> {
        self.area.fill(&color).map_err(undrawn)
    }

    fn line(
        &self,
        points: &[Point],
        width: f64,
        color: RGBColor,
        dashes: Option<(f64, f64)>,
    ) -> Result<()> {
        match dashes {
            None => without_sharp_corners(points)
                .iter()
                .try_for_each(|run| self.path(run, width, color)),
            Some((dash, gap)) => dashed(points, dash, gap)
                .iter()
                .try_for_each(|segment| self.path(segment, width, color)),
        }
    }

    fn rectangle(&self, a: Point, b: Point, color: RGBColor) -> Result<()> {
        self.draw(&Rectangle::new([self.device(a), self.device(b)], color.filled()))
    }

    fn marker(
        &self,
        shape: Shape,
        at: Point,
        radius: f64,
        fill: RGBColor,
        outline: (RGBColor, f64),
    ) -> Result<()> {
        let (color, width) = outline;
        if shape == Shape::Circle {
            // A disc on a disc, as polygons are a polygon on a polygon.
            self.disc(at, radius + width / 2.0, color)?;
            return self.disc(at, radius - width / 2.0, fill);
        }
        let outer = corners(shape, at, radius + width / 2.0);
        let inner = corners(shape, at, radius - width / 2.0);
        self.polygon(&outer, color)?;
        self.polygon(&inner, fill)
    }

    fn ring(&self, (x, y): Point, radius: f64, width: f64, color: RGBColor) -> Result<()> {
        // Two overlapping arcs, because a closed path has a notch where its ends meet.
        const STEPS: i32 = 48;
        for half in [0, STEPS / 2] {
            let points: Vec<Point> = (half - 1..=half + STEPS / 2 + 1)
                .map(|step| f64::from(step) * std::f64::consts::TAU / f64::from(STEPS))
                .map(|angle| (x + radius * angle.cos(), y + radius * angle.sin()))
                .collect();
            self.path(&points, width, color)?;
        }
        Ok(())
    }

    fn text(&self, text: &str, at: Point, lettering: Lettering) -> Result<()> {
        let drop = lettering.em * BASELINE;
        let (x, y) = at;
        let top = if lettering.upwards { (x - drop, y) } else { (x, y - drop) };
        let h_pos = match lettering.align {
            Align::Start => HPos::Left,
            Align::Middle => HPos::Center,
            Align::End => HPos::Right,
        };
        let size = lettering.em * TEXT_SIZE * f64::from(SCALE);
        let mut font = FontDesc::new(FontFamily::Name(FAMILY), size, style(lettering.bold));
        if lettering.upwards {
            font = font.transform(FontTransform::Rotate270);
        }
        let style = TextStyle::from(font).color(&lettering.color).pos(Pos::new(h_pos, VPos::Top));
        self.draw(&Text::new(text.to_owned(), self.device(top), style))
    }
}

impl<'a> Surface<'a> {
    /// Returns a canvas that writes its SVG to `drawing`.
    pub fn new(drawing: &'a mut String) -> Self {
        let (width, height) = SIZE;
        let size = (width * SCALE, height * SCALE);
        Self { area: SVGBackend::with_string(drawing, size).into_drawing_area() }
    }

    /// Writes the end of the SVG.
    ///
    /// # Errors
    /// A failure of the backend.
    pub fn finish(self) -> Result<()> {
        self.area.present().map_err(undrawn)
    }

    fn path(&self, points: &[Point], width: f64, color: RGBColor) -> Result<()> {
        let mut path: Vec<(i32, i32)> = points.iter().map(|&point| self.device(point)).collect();
        path.dedup();
        // A point is not a line.
        if path.len() < 2 {
            return Ok(());
        }
        let style =
            ShapeStyle { color: color.to_rgba(), filled: false, stroke_width: self.stroke(width) };
        self.draw(&PathElement::new(path, style))
    }

    fn disc(&self, at: Point, radius: f64, color: RGBColor) -> Result<()> {
        let radius = (radius * f64::from(SCALE)).round().max(1.0) as i32;
        self.draw(&Circle::new(self.device(at), radius, color.filled()))
    }

    fn polygon(&self, points: &[Point], color: RGBColor) -> Result<()> {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| self.device(point)).collect();
        self.draw(&Polygon::new(points, color.filled()))
    }

    fn draw<E>(&self, element: &E) -> Result<()>
    where
        for<'b> &'b E: plotters::element::PointCollection<'b, (i32, i32)>,
        E: plotters::element::Drawable<SVGBackend<'a>>,
    {
        self.area.draw(element).map_err(undrawn)
    }

    fn device(&self, (x, y): Point) -> (i32, i32) {
        ((x * f64::from(SCALE)).round() as i32, (y * f64::from(SCALE)).round() as i32)
    }

    fn stroke(&self, width: f64) -> u32 {
        (width * f64::from(SCALE)).round().max(1.0) as u32
    }
}

/// Returns the error of a failed backend; it draws into memory, so this is a bug.
fn undrawn(error: impl std::fmt::Display) -> Error {
    Error::bug("a figure", "a backend that draws into memory", error)
}

/// Returns the corners of a marker, scaled so that all shapes look equally large.
pub(super) fn corners(shape: Shape, (x, y): Point, radius: f64) -> Vec<Point> {
    let at = |offsets: &[Point], factor: f64| -> Vec<Point> {
        offsets
            .iter()
            .map(|&(dx, dy)| (x + dx * radius * factor, y + dy * radius * factor))
            .collect()
    };
    let plus = [
        (-0.32, -1.0),
        (0.32, -1.0),
        (0.32, -0.32),
        (1.0, -0.32),
        (1.0, 0.32),
        (0.32, 0.32),
        (0.32, 1.0),
        (-0.32, 1.0),
        (-0.32, 0.32),
        (-1.0, 0.32),
        (-1.0, -0.32),
        (-0.32, -0.32),
    ];
    match shape {
        Shape::Circle | Shape::Square => {
            at(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)], 0.88)
        }
        Shape::Up => at(&[(0.0, -1.1), (1.05, 0.8), (-1.05, 0.8)], 1.1),
        Shape::Down => at(&[(0.0, 1.1), (1.05, -0.8), (-1.05, -0.8)], 1.1),
        Shape::Diamond => at(&[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)], 1.25),
        Shape::Plus => at(&plus, 1.15),
        Shape::Cross => {
            let half = std::f64::consts::FRAC_1_SQRT_2;
            let turned: Vec<Point> =
                plus.iter().map(|(dx, dy)| (half * (dx - dy), half * (dx + dy))).collect();
            at(&turned, 1.15)
        }
        Shape::Star => {
            let points: Vec<Point> = (0..10)
                .map(|corner| {
                    let angle = f64::from(corner) * std::f64::consts::PI / 5.0;
                    let reach = if corner % 2 == 0 { 1.0 } else { 0.45 };
                    (reach * angle.sin(), -reach * angle.cos())
                })
                .collect();
            at(&points, 1.35)
        }
    }
}

/// Removes repeated points of a polyline and cuts it at corners sharper than 90°.
///
/// The mitre of a sharp corner would be a spike.
fn without_sharp_corners(points: &[Point]) -> Vec<Vec<Point>> {
    const SAME: f64 = 0.5;
    let mut runs: Vec<Vec<Point>> = Vec::new();
    let mut run: Vec<Point> = Vec::new();
    for &(x, y) in points {
        if let [.., last] = run.as_slice()
            && (x - last.0).hypot(y - last.1) < SAME
        {
            continue;
        }
        if let [.., before, last] = *run.as_slice()
            && (last.0 - before.0) * (x - last.0) + (last.1 - before.1) * (y - last.1) < 0.0
        {
            runs.push(std::mem::replace(&mut run, vec![last]));
        }
        run.push((x, y));
    }
    runs.push(run);
    runs.retain(|run| run.len() > 1);
    runs
}

/// Cuts a polyline into dashes of length `dash` with gaps of length `gap`.
fn dashed(points: &[Point], dash: f64, gap: f64) -> Vec<Vec<Point>> {
    let mut dashes: Vec<Vec<Point>> = Vec::new();
    let mut current: Vec<Point> = Vec::new();
    let (mut drawing, mut left) = (true, dash);
    for pair in points.windows(2) {
        let ((mut x, mut y), (end_x, end_y)) = (pair[0], pair[1]);
        loop {
            let length = (end_x - x).hypot(end_y - y);
            if drawing && current.is_empty() {
                current.push((x, y));
            }
            let step = left.min(length);
            if length > 0.0 {
                (x, y) = (x + (end_x - x) * step / length, y + (end_y - y) * step / length);
            }
            if drawing {
                current.push((x, y));
            }
            left -= step;
            if left > 0.0 {
                break;
            }
            if drawing {
                dashes.push(std::mem::take(&mut current));
            }
            drawing = !drawing;
            left = if drawing { dash } else { gap };
        }
    }
    if current.first() != current.last() {
        dashes.push(current);
    }
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_sharp_corners() {
        let (a, b, c) = ((0.0, 0.0), (30.0, 0.0), (2.0, 1.0));
        assert_eq!(without_sharp_corners(&[a, b, c]), [vec![a, b], vec![b, c]]);
        assert_eq!(without_sharp_corners(&[a, b, (60.0, 5.0)]).len(), 1);
        // Marks at the same position have no line between them.
        assert!(
            without_sharp_corners(&[a, a, (0.1, 0.0)]).is_empty()
                && without_sharp_corners(&[a]).is_empty()
        );
        assert_eq!(without_sharp_corners(&[a, b, b, c]), without_sharp_corners(&[a, b, c]));
    }

    #[test]
    fn dashes_have_their_length_and_follow_corners() {
        let dashes = dashed(&[(0.0, 0.0), (30.0, 0.0), (30.0, 30.0)], 8.0, 4.0);
        let length = |line: &Vec<Point>| -> f64 {
            line.windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum()
        };
        assert_eq!(dashes.len(), 5);
        assert!(dashes.iter().all(|line| (length(line) - 8.0).abs() < 1e-9), "{dashes:?}");
        assert_eq!(dashes[2], [(24.0, 0.0), (30.0, 0.0), (30.0, 2.0)]);
    }
}
