//! Bars over a categorical x axis, in groups with one bar per series.

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, Lettering, Point};
use super::chart::{Mark, Panel};
use super::font::text_width;
use super::frame::{Area, Frame};
use super::kind::{FigureKind, Sample};
use super::marks::{COLORS, RING, inside, ring_of, whisker};
use super::theme::{Form, INK, XAxis, em, lettering};
use crate::config::FigureSpec;
use crate::error::{Error, Result};
use crate::printed::significant;

/// Groups of bars that start at the baseline of the axis.
#[derive(Clone, Copy, Debug)]
pub struct Bars;

impl FigureKind for Bars {
    fn name(&self) -> &'static str {
        "bars"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        if spec.second.is_some() {
            let found = "kind = \"bars\"";
            return Err(Error::config(
                "second",
                "only with kind = \"lines\"",
                found,
                "draw a separate figure",
            ));
        }
        let lines_only = [("x_log", spec.x_log), ("unmarked", !spec.unmarked.is_empty())];
        if let Some((key, _)) = lines_only.into_iter().find(|(_, given)| *given) {
            let remedy = "remove it; the x axis has categories";
            return Err(Error::config(
                key,
                "only with kind = \"lines\"",
                "kind = \"bars\"",
                remedy,
            ));
        }
        Ok(())
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Categories,
            marks_start_at_axis: true,
            rows_on_y_axis: false,
            sample_width: 34.0,
        }
    }

    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()> {
        let (x, y) = at.middle();
        canvas.rectangle((x - 17.0, y - 13.0), (x + 17.0, y + 13.0), bar_color(series))
    }

    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        spec: &FigureSpec,
    ) -> Result<()> {
        let groups = Groups::new(frame, area, panel);
        for (series, marks) in panel.marks.iter().enumerate() {
            for mark in marks {
                groups.bar(canvas, series, mark)?;
                if spec.value_labels {
                    let published = panel.published.get(series).map_or(&[][..], Vec::as_slice);
                    groups.label(canvas, series, mark, published)?;
                }
            }
        }
        for (series, points) in panel.published.iter().enumerate() {
            for &point in points {
                groups.ring(canvas, series, point)?;
            }
        }
        Ok(())
    }
}

/// The positions of the bars of a panel.
struct Groups<'f> {
    frame: &'f Frame,
    area: Area,
    /// Width of a category.
    group: f64,
    /// Width of the bars of a category.
    occupied: f64,
    /// Width of a bar with the gaps on both sides.
    width: f64,
    gap: f64,
}

impl<'f> Groups<'f> {
    fn new(frame: &'f Frame, area: Area, panel: &Panel) -> Self {
        let groups = frame.categories.labels.len().max(1) as f64;
        let group = (area.right - area.left) / groups;
        let width = (group * 0.8 / panel.marks.len().max(1) as f64).min(130.0);
        let occupied = width * panel.marks.len() as f64;
        Self { frame, area, group, occupied, width, gap: (width * 0.06).min(3.0) }
    }

    fn left(&self, series: usize, category: f64) -> f64 {
        self.area.left + self.group * (category + 0.5) - self.occupied / 2.0
            + self.width * series as f64
    }

    /// Returns the left and right side of a bar.
    fn sides(&self, series: usize, category: f64) -> (f64, f64) {
        let left = self.left(series, category);
        (left + self.gap, left + self.width - self.gap)
    }

    fn middle(&self, series: usize, category: f64) -> f64 {
        let (from, to) = self.sides(series, category);
        (from + to) / 2.0
    }

    /// Returns the position of a value on the y axis, inside the area.
    fn height(&self, value: f64) -> f64 {
        self.frame.to_y(self.area, value).clamp(self.area.top, self.area.bottom)
    }

    /// Draws a bar with its whisker.
    fn bar(&self, canvas: &dyn Canvas, series: usize, mark: &Mark) -> Result<()> {
        let (from, to) = self.sides(series, mark.x);
        let (base, end) = (self.height(self.frame.y.baseline()), self.height(mark.y));
        canvas.rectangle((from, end.min(base)), (to, end.max(base)), bar_color(series))?;
        if mark.low < mark.high {
            let middle = self.middle(series, mark.x);
            whisker(
                canvas,
                (middle, self.height(mark.low)),
                (middle, self.height(mark.high)),
                INK,
            )?;
        }
        Ok(())
    }

    /// Draws the value of a bar, clear of the rings of its `published` values.
    fn label(
        &self,
        canvas: &dyn Canvas,
        series: usize,
        mark: &Mark,
        published: &[Point],
    ) -> Result<()> {
        let of_bar = published.iter().filter(|(category, _)| *category == mark.x);
        let rings: Vec<f64> = of_bar.map(|&(_, y)| self.frame.to_y(self.area, y)).collect();
        let end = self.height(mark.high.max(mark.y));
        let at = (self.middle(series, mark.x), above(end, &rings));
        value_label(canvas, mark.y, at, self.width)
    }

    /// Draws the ring of a published value; the rings of neighbouring bars do not touch.
    fn ring(&self, canvas: &dyn Canvas, series: usize, (category, y): Point) -> Result<()> {
        let left = self.left(series, category);
        let at = (left + self.width / 2.0, self.frame.to_y(self.area, y));
        if !inside(self.area, at) {
            return Ok(());
        }
        ring_of(canvas, INK, at, RING.min(self.width * 0.4))
    }
}

/// Returns the colour of the bars of a series; later rounds of colours are lighter.
#[must_use]
pub fn bar_color(series: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLORS[series % COLORS.len()];
    let round = series / COLORS.len();
    let lighter = |channel: u8| {
        let distance =
            f64::from(255 - channel) * 0.55f64.powi(i32::try_from(round).unwrap_or(i32::MAX));
        (255.0 - distance).round() as u8
    };
    RGBColor(lighter(red), lighter(green), lighter(blue))
}

/// Draws the value of a bar above its end, rotated if the bar is narrower than the text.
fn value_label(canvas: &dyn Canvas, value: f64, (x, y): Point, width: f64) -> Result<()> {
    let text = short(value);
    if text_width(&text, false) * em::VALUE <= width {
        return canvas.text(&text, (x, y - 7.0), lettering(em::VALUE, false, Align::Middle));
    }
    let upwards = Lettering { upwards: true, ..lettering(em::VALUE, false, Align::Start) };
    canvas.text(&text, (x + em::VALUE * 0.36, y - 7.0), upwards)
}

/// Returns the start of a label above a bar, clear of the rings of published values.
fn above(end: f64, rings: &[f64]) -> f64 {
    const MAX_LABEL: f64 = 4.0 * em::VALUE;
    let overlapping =
        rings.iter().filter(|&&ring| ring < end + RING && ring > end - MAX_LABEL - RING);
    overlapping.fold(end, |top, ring| top.min(ring - RING))
}

/// Formats a value with three significant digits, with an exponent from 10,000 on.
fn short(value: f64) -> String {
    if value.abs() >= 1e4 { format!("{value:.2e}") } else { significant(value, 3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_bars_avoid_rings() {
        assert_eq!(above(300.0, &[]), 300.0);
        assert_eq!(above(300.0, &[500.0, 100.0]), 300.0);
        assert_eq!(above(300.0, &[295.0]), 295.0 - RING);
        assert_eq!(above(300.0, &[305.0, 280.0]), 280.0 - RING);
    }

    #[test]
    fn later_rounds_of_colours_are_lighter() {
        let light = |RGBColor(red, green, blue): RGBColor| {
            u32::from(red) + u32::from(green) + u32::from(blue)
        };
        for series in 0..COLORS.len() {
            assert!(
                light(bar_color(series + COLORS.len())) > light(bar_color(series)),
                "series {series}"
            );
        }
    }
}
