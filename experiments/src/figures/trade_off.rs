//! Two metrics of the same cells against each other: one path per series, with markers shaded by a
//! third quantity.

use super::canvas::{Canvas, Point};
use super::chart::{Mark, Panel};
use super::frame::{Area, Frame};
use super::kind::{FigureKind, Sample};
use super::marks::{hidden_below, inside, outline, shade, shaded_dot, whisker};
use super::theme::{Form, GREY, RADIUS, XAxis};
use crate::config::FigureSpec;
use crate::error::{Error, Result};

/// Markers with a shape per series and a shade for a third quantity, connected in the order of that
/// quantity.
#[derive(Clone, Copy, Debug)]
pub struct TradeOff;

impl FigureKind for TradeOff {
    fn name(&self) -> &'static str {
        "trade-off"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        let refuse = |key: &str, expected: &str| {
            Err(Error::config(
                key,
                expected,
                "kind = \"trade-off\"",
                "remove it, or use kind = \"lines\"",
            ))
        };
        if spec.value_labels {
            return refuse("value_labels", "only with kind = \"bars\"");
        }
        if spec.second.is_some() {
            return refuse("second", "only with kind = \"lines\"");
        }
        if !spec.unmarked.is_empty() {
            return refuse("unmarked", "only with kind = \"lines\"");
        }
        if spec.shade.is_none() {
            let found = "none with kind = \"trade-off\"";
            return Err(Error::config(
                "shade",
                "a column of numbers",
                found,
                "name a column, or use kind = \"lines\"",
            ));
        }
        Ok(())
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Numbers,
            marks_start_at_axis: false,
            rows_on_y_axis: false,
            sample_width: 34.0,
        }
    }

    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()> {
        shaded_dot(canvas, series, at.middle(), GREY)
    }

    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        _: &FigureSpec,
    ) -> Result<()> {
        let point = |mark: &Mark| -> Point { (frame.to_x(area, mark.x), frame.to_y(area, mark.y)) };
        for marks in &panel.marks {
            let path: Vec<Point> = marks.iter().map(point).filter(|at| inside(area, *at)).collect();
            if path.len() > 1 {
                canvas.line(&path, 2.0, GREY, None)?;
            }
        }
        let points: Vec<Vec<Point>> =
            panel.marks.iter().map(|marks| marks.iter().map(point).collect()).collect();
        for (series, marks) in panel.marks.iter().enumerate() {
            for (index, mark) in marks.iter().enumerate() {
                if !inside(area, point(mark)) {
                    continue;
                }
                let color = shade(mark.shade, frame.shades);
                if mark.low < mark.high {
                    let end = |value| {
                        (point(mark).0, frame.to_y(area, value).clamp(area.top, area.bottom))
                    };
                    whisker(canvas, end(mark.low), end(mark.high), color)?;
                }
                // Shaded marks have one shape per series, so they may not overlap by half.
                let covers = |other: &Point| {
                    let at = point(mark);
                    (other.0 - at.0).hypot(other.1 - at.1) < RADIUS * 1.25
                };
                let on_own = points[series][..index].iter().any(covers);
                if on_own || hidden_below(&points[..series], point(mark)) > 0 {
                    outline(canvas, series, point(mark), color)?;
                } else {
                    shaded_dot(canvas, series, point(mark), color)?;
                }
            }
        }
        Ok(())
    }
}
