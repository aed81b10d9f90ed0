//! Matrices side by side: one cell per entry, with its value and a colour for the value.

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas};
use super::chart::Panel;
use super::font::text_width;
use super::frame::{Area, Frame};
use super::kind::{FigureKind, Sample};
use super::theme::{Form, PAPER, XAxis, em, lettering};
use crate::config::FigureSpec;
use crate::error::{Error, Result};

/// A heat map of matrices: panels are matrices, series their rows, categories their columns.
///
/// Missing rows are empty.
#[derive(Clone, Copy, Debug)]
pub struct Matrices;

/// Colours of the largest positive and the largest negative entry; zero is nearly white.
const POSITIVE: RGBColor = RGBColor(86, 180, 233);
const NEGATIVE: RGBColor = RGBColor(230, 159, 0);
const ZERO: RGBColor = RGBColor(246, 247, 248);

impl FigureKind for Matrices {
    fn name(&self) -> &'static str {
        "matrices"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        let unsupported = [
            ("second", spec.second.is_some()),
            ("x_log", spec.x_log),
            ("unmarked", !spec.unmarked.is_empty()),
            ("y_log", spec.y_log),
            ("y_error", spec.y_error.is_some()),
            ("y_min", spec.y_min.is_some()),
            ("y_max", spec.y_max.is_some()),
            ("reference_lines", !spec.reference_lines.is_empty()),
            ("published", spec.published.is_some()),
        ];
        match unsupported.into_iter().find(|(_, present)| *present) {
            Some((key, _)) => {
                let found = "kind = \"matrices\"";
                Err(Error::config(key, "only with a numeric y axis", found, "remove it"))
            }
            None => Ok(()),
        }
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Categories,
            marks_start_at_axis: false,
            rows_on_y_axis: true,
            sample_width: 34.0,
        }
    }

    /// Draws nothing: the rows are labelled on the axis, and there is no legend.
    fn sample(&self, _: &dyn Canvas, _: usize, _: Sample) -> Result<()> {
        Ok(())
    }

    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        _: &FigureSpec,
    ) -> Result<()> {
        let width = (area.right - area.left) / frame.categories.labels.len().max(1) as f64;
        let entries = || panel.marks.iter().flatten();
        let largest = entries().map(|mark| mark.y.abs()).fold(0.0, f64::max);
        // The same letter size in all panels.
        let height = frame.to_y(area, 1.0) - frame.to_y(area, 0.0);
        let letters =
            ((width - 8.0) / text_width("−0.00", false)).min(height * 0.7).min(em::LEGEND);
        for (row, marks) in panel.marks.iter().enumerate() {
            let (top, bottom) =
                (frame.to_y(area, row as f64 - 0.5), frame.to_y(area, row as f64 + 0.5));
            for mark in marks {
                let left = area.left + width * mark.x;
                canvas.rectangle((left, top), (left + width, bottom), PAPER)?;
                let corners = ((left + 1.0, top + 1.0), (left + width - 1.0, bottom - 1.0));
                canvas.rectangle(corners.0, corners.1, shade(mark.y, largest))?;
                let at = (left + width / 2.0, (top + bottom) / 2.0 + letters * 0.36);
                canvas.text(&short(mark.y), at, lettering(letters, false, Align::Middle))?;
            }
        }
        Ok(())
    }
}

/// Returns the colour of an entry.
fn shade(value: f64, largest: f64) -> RGBColor {
    let share = if largest > 0.0 { (value.abs() / largest).min(1.0) } else { 0.0 };
    let end = if value < 0.0 { NEGATIVE } else { POSITIVE };
    let mixed = |zero: u8, end: u8| {
        (f64::from(zero) + share * (f64::from(end) - f64::from(zero))).round() as u8
    };
    RGBColor(mixed(ZERO.0, end.0), mixed(ZERO.1, end.1), mixed(ZERO.2, end.2))
}

/// Formats an entry with two decimals, without trailing zeros; empty for zero up to rounding.
fn short(value: f64) -> String {
    if value.abs() < 5e-10 {
        return String::new();
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_sign_and_size() {
        assert_eq!(shade(0.0, 2.0), ZERO);
        assert_eq!(shade(2.0, 2.0), POSITIVE);
        assert_eq!(shade(-2.0, 2.0), NEGATIVE);
        assert_ne!(shade(1.0, 2.0), shade(2.0, 2.0));
        assert_eq!(shade(0.0, 0.0), ZERO);
    }

    #[test]
    fn zero_entries_are_empty() {
        assert_eq!(short(1e-12), "");
        assert_eq!([-0.5, 1.0, 0.126].map(short), ["−0.5", "1", "0.13"]);
    }
}
