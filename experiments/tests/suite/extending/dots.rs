//! An example of a kind of figure: markers without lines.

use experiments::config::FigureSpec;
use experiments::error::{Error, Result};
use experiments::figures::{
    Area, Canvas, FigureKind, Form, Frame, Panel, Sample, XAxis, dot, inside,
};

/// One marker per value over a numeric x axis.
#[derive(Debug)]
pub struct Dots;

impl FigureKind for Dots {
    fn name(&self) -> &'static str {
        "dots"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        if spec.value_labels {
            return Err(Error::config(
                "value_labels",
                "only with kind = \"bars\"",
                "it with \"dots\"",
                "omit it",
            ));
        }
        Ok(())
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Numbers,
            marks_start_at_axis: false,
            rows_on_y_axis: false,
            sample_width: 24.0,
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
        for (series, marks) in panel.marks.iter().enumerate() {
            for mark in marks {
                let at = (frame.to_x(area, mark.x), frame.to_y(area, mark.y));
                if inside(area, at) {
                    dot(canvas, series, at)?;
                }
            }
        }
        Ok(())
    }
}
