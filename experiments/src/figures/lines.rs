//! Lines with markers over a numeric x axis.

use super::canvas::{Canvas, Point};
use super::chart::{Mark, Panel};
use super::frame::{Area, Frame};
use super::kind::{FigureKind, Sample};
use super::marks::{
    LINE, dot, hidden_below, inside, outline, published_ring, series_style, whisker,
};
use super::theme::{Form, XAxis};
use crate::config::FigureSpec;
use crate::error::{Error, Result};

/// Dash and gap of lines on the second y axis.
const SECOND_AXIS: Option<(f64, f64)> = Some((10.0, 8.0));

/// Dash and gap of a line on top of one, two or more others, which are visible in the gaps.
const COVERING: [(f64, f64); 3] = [(16.0, 16.0), (8.0, 24.0), (4.0, 28.0)];

/// One line with markers per series, clipped to the data area.
#[derive(Clone, Copy, Debug)]
pub struct Lines;

impl FigureKind for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn check(&self, spec: &FigureSpec) -> Result<()> {
        if !spec.value_labels {
            return Ok(());
        }
        let found = "kind = \"lines\"";
        Err(Error::config("value_labels", "only with kind = \"bars\"", found, "remove it"))
    }

    fn form(&self) -> Form {
        Form {
            x: XAxis::Numbers,
            marks_start_at_axis: false,
            rows_on_y_axis: false,
            sample_width: 62.0,
        }
    }

    fn sample(&self, canvas: &dyn Canvas, series: usize, at: Sample) -> Result<()> {
        let style = series_style(series);
        let dashes = if at.on_second { SECOND_AXIS } else { style.dashes };
        canvas.line(&[(at.left, at.y), (at.right, at.y)], LINE, style.color, dashes)?;
        if at.unmarked { Ok(()) } else { dot(canvas, series, at.middle()) }
    }

    fn marks(
        &self,
        canvas: &dyn Canvas,
        frame: &Frame,
        area: Area,
        panel: &Panel,
        _: &FigureSpec,
    ) -> Result<()> {
        let to_x = |x: f64| frame.to_x(area, x);
        let point =
            |series: usize, mark: &Mark| (to_x(mark.x), frame.to_y_of(series, area, mark.y));
        let paths: Vec<Vec<Point>> = panel
            .marks
            .iter()
            .enumerate()
            .map(|(series, marks)| marks.iter().map(|mark| point(series, mark)).collect())
            .collect();
        for (series, path) in paths.iter().enumerate() {
            let style = series_style(series);
            for (covered, part) in by_covered(path, &paths[..series]) {
                let dashes = match covered {
                    0 if frame.is_on_second(series) => SECOND_AXIS,
                    0 => style.dashes,
                    _ => Some(COVERING[(covered - 1).min(COVERING.len() - 1)]),
                };
                for run in clipped(&part, area) {
                    canvas.line(&run, LINE, style.color, dashes)?;
                }
            }
        }
        // Rings first, so that they do not hide the dots of other series.
        for (series, points) in panel.published.iter().enumerate() {
            for at in points.iter().map(|&(x, y)| (to_x(x), frame.to_y(area, y))) {
                if inside(area, at) {
                    published_ring(canvas, series_style(series).color, at)?;
                }
            }
        }
        let marked = |series: usize| frame.unmarked.get(series) != Some(&true);
        for (series, marks) in panel.marks.iter().enumerate().filter(|(series, _)| marked(*series))
        {
            for mark in marks.iter().filter(|mark| inside(area, point(series, mark))) {
                if mark.low < mark.high {
                    let end = |value| {
                        (
                            to_x(mark.x),
                            frame.to_y_of(series, area, value).clamp(area.top, area.bottom),
                        )
                    };
                    whisker(canvas, end(mark.low), end(mark.high), series_style(series).color)?;
                }
                // Only series with markers; a line without them is visible below a marker.
                let earlier: Vec<Vec<Point>> = (0..series)
                    .filter(|&series| marked(series))
                    .map(|series| paths[series].clone())
                    .collect();
                let at = point(series, mark);
                if hidden_below(&earlier, at) > 0 {
                    outline(canvas, series, at, series_style(series).color)?;
                } else {
                    dot(canvas, series, at)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the parts of a polyline with the number of earlier lines that they would hide.
fn by_covered(path: &[Point], earlier: &[Vec<Point>]) -> Vec<(usize, Vec<Point>)> {
    let is_near = |a: &Point, b: &Point| (a.0 - b.0).hypot(a.1 - b.1) < LINE;
    let mut parts: Vec<(usize, Vec<Point>)> = Vec::new();
    for pair in path.windows(2) {
        let hides = |other: &&Vec<Point>| {
            other
                .windows(2)
                .any(|below| is_near(&pair[0], &below[0]) && is_near(&pair[1], &below[1]))
        };
        let covered = earlier.iter().filter(hides).count();
        match parts.last_mut() {
            Some((last, part)) if *last == covered => part.push(pair[1]),
            _ => parts.push((covered, pair.to_vec())),
        }
    }
    parts
}

/// Returns the parts of a polyline between the upper and the lower edge of the area.
fn clipped(points: &[Point], area: Area) -> Vec<Vec<Point>> {
    let mut runs: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = clipped_segment(pair[0], pair[1], area.top, area.bottom) else {
            continue;
        };
        match runs.last_mut() {
            Some(run) if run.last() == Some(&from) => run.push(to),
            _ => runs.push(vec![from, to]),
        }
    }
    runs
}

fn clipped_segment(a: Point, b: Point, top: f64, bottom: f64) -> Option<(Point, Point)> {
    let at = |edge: f64| {
        let share = (edge - a.1) / (b.1 - a.1);
        (a.0 + share * (b.0 - a.0), edge)
    };
    let clip = |(x, y): Point| {
        if y < top {
            at(top)
        } else if y > bottom {
            at(bottom)
        } else {
            (x, y)
        }
    };
    let outside = (a.1 < top && b.1 < top) || (a.1 > bottom && b.1 > bottom);
    (!outside).then(|| (clip(a), clip(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_on_top_of_other_lines_are_counted() {
        let path = vec![(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)];
        let below = vec![(0.0, 1.0), (10.0, 1.0), (20.0, 9.0)];
        assert_eq!(by_covered(&path, &[]), [(0, path.clone())]);
        let parts = by_covered(&path, &[path.clone(), below]);
        assert_eq!(parts, [(2, path[..2].to_vec()), (1, path[1..].to_vec())]);
    }

    #[test]
    fn lines_are_clipped_at_the_edges() {
        let area = Area { left: 0.0, right: 10.0, top: 0.0, bottom: 10.0 };
        let points = [(0.0, 5.0), (2.0, -5.0), (4.0, -5.0), (6.0, 5.0), (8.0, 5.0)];
        let runs = clipped(&points, area);
        assert_eq!(runs, [vec![(0.0, 5.0), (1.0, 0.0)], vec![(5.0, 0.0), (6.0, 5.0), (8.0, 5.0)]]);
    }
}
