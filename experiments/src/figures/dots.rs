//! Dots over a categorical x axis, one column per series.
//!
//! For values that are close to each other, on an axis that does not start at zero.

use super::bars::bar_color;
use super::canvas::Canvas;
use super::chart::Panel;
use super::frame::{Area, Frame};
use super::kind::{FigureKind, Sample};
use super::marks::{dot, inside, published_ring, whisker};
use super::theme::{Form, XAxis};
use crate::config::FigureSpec;
use crate::error::{Error, Result};

/// One dot per series and category, which is read by its position, unlike the length of a bar.
#[derive(Clone, Copy, Debug)]
pub struct Dots;

impl FigureKind for Dots {
    fn name(&self) -> &'static str {
        "dots"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        for (key, given) in [
            ("second", spec.second.is_some()),
            ("value_labels", spec.value_labels),
            ("x_log", spec.x_log),
            ("unmarked", !spec.unmarked.is_empty()),
        ] {
            if given {
                return Err(Error::config(
                    key,
                    "another kind of figure",
                    "kind = \"dots\"",
                    "remove it",
                ));
            }
        }
        Ok(())
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Categories,
            marks_start_at_axis: false,
            rows_on_y_axis: false,
            sample_width: 34.0,
        }
    }

    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()> {
        dot(canvas, series, at.middle())
    }

    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        _: &FigureSpec,
    ) -> Result<()> {
        let groups = frame.categories.labels.len().max(1) as f64;
        let group = (area.right - area.left) / groups;
        let spacing = (group * 0.8 / panel.marks.len().max(1) as f64).min(80.0);
        let x = |series: usize, category: f64| {
            let middle = (panel.marks.len() as f64 - 1.0) / 2.0;
            area.left + group * (category + 0.5) + spacing * (series as f64 - middle)
        };
        for (series, points) in panel.published.iter().enumerate() {
            for &(category, y) in points {
                let at = (x(series, category), frame.to_y(area, y));
                if inside(area, at) {
                    published_ring(canvas, bar_color(series), at)?;
                }
            }
        }
        for (series, marks) in panel.marks.iter().enumerate() {
            for mark in marks {
                let height = |value: f64| frame.to_y(area, value);
                let at = (x(series, mark.x), height(mark.y));
                if !inside(area, at) {
                    continue;
                }
                if mark.low < mark.high {
                    let end = |value| (at.0, height(value).clamp(area.top, area.bottom));
                    whisker(canvas, end(mark.low), end(mark.high), bar_color(series))?;
                }
                dot(canvas, series, at)?;
            }
        }
        Ok(())
    }
}
