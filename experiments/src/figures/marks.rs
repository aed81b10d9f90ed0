//! The data themselves: lines with markers, bars, whiskers, published points.

use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, Lettering, Point, Shape, text_width};
use super::chart::{Mark, Panel};
use super::frame::{Area, Frame, em};
use super::theme::{INK, PAPER, lettering};
use crate::compare::printed::significant;

/// Width of the lines of series.
pub const LINE: f64 = 4.0;
const RADIUS: f64 = 9.0;
/// Radius of the rings of published values.
const RING: f64 = 14.0;

/// Okabe and Ito's colours, which remain distinct under the common colour vision deficiencies; yellow comes last
/// because it is faint on white.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
];

const SHAPES: [Shape; 8] =
    [Shape::Circle, Shape::Square, Shape::Up, Shape::Diamond, Shape::Down, Shape::Cross, Shape::Plus, Shape::Star];

/// Dash and gap of the lines from the second round of colours on.
const ROUNDS: [Option<(f64, f64)>; 4] = [None, Some((14.0, 8.0)), Some((4.0, 7.0)), Some((26.0, 7.0))];

/// What tells a series from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStyle {
    /// Colour of line and marker.
    pub color: RGBColor,
    /// Marker.
    pub shape: Shape,
    /// Dash and gap of the line.
    pub dashes: Option<(f64, f64)>,
}

/// The style of the series with this position.
#[must_use]
pub fn series_style(series: usize) -> SeriesStyle {
    let round = series / COLORS.len();
    SeriesStyle {
        color: COLORS[series % COLORS.len()],
        // Shifting the shapes keeps the pairs of colour and shape distinct in every round.
        shape: SHAPES[(series + round) % SHAPES.len()],
        dashes: ROUNDS[round % ROUNDS.len()],
    }
}

/// The colour of the bars of a series; later rounds are lighter.
#[must_use]
pub fn bar_color(series: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLORS[series % COLORS.len()];
    let round = series / COLORS.len();
    let lighter = |channel: u8| {
        let distance = f64::from(255 - channel) * 0.55f64.powi(i32::try_from(round).unwrap_or(i32::MAX));
        (255.0 - distance).round() as u8
    };
    RGBColor(lighter(red), lighter(green), lighter(blue))
}

/// Lines with markers, clipped to the data area.
///
/// # Errors
/// The backend's.
pub fn lines<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame,
    area: Area,
    panel: &Panel,
) -> anyhow::Result<()> {
    let to_x = |x: f64| {
        let fraction = frame.x.as_ref().map_or(0.5, |axis| axis.fraction(x));
        area.left + fraction * (area.right - area.left)
    };
    let point = |mark: &Mark| (to_x(mark.x), frame.to_y(area, mark.y));
    for (series, marks) in panel.marks.iter().enumerate() {
        let style = series_style(series);
        let points: Vec<Point> = marks.iter().map(point).collect();
        for run in clipped(&points, area) {
            canvas.line(&run, LINE, style.color, style.dashes)?;
        }
    }
    for (series, marks) in panel.marks.iter().enumerate() {
        for mark in marks.iter().filter(|mark| inside(area, point(mark))) {
            if mark.low < mark.high {
                let end = |value| (to_x(mark.x), frame.to_y(area, value).clamp(area.top, area.bottom));
                whisker(canvas, end(mark.low), end(mark.high), series_style(series).color)?;
            }
            dot(canvas, series, point(mark))?;
        }
    }
    for (series, points) in panel.published.iter().enumerate() {
        for at in points.iter().map(|&(x, y)| (to_x(x), frame.to_y(area, y))) {
            if inside(area, at) {
                published_ring(canvas, series_style(series).color, at)?;
            }
        }
    }
    Ok(())
}

/// Groups of bars, one per series, from the base line of the axis.
///
/// # Errors
/// The backend's.
pub fn bars<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame,
    area: Area,
    panel: &Panel,
    value_labels: bool,
) -> anyhow::Result<()> {
    let groups = frame.categories.labels.len().max(1) as f64;
    let group = (area.right - area.left) / groups;
    let width = (group * 0.8 / panel.marks.len().max(1) as f64).min(130.0);
    let occupied = width * panel.marks.len() as f64;
    let left =
        |series: usize, category: f64| area.left + group * (category + 0.5) - occupied / 2.0 + width * series as f64;
    let height = |value: f64| frame.to_y(area, value).clamp(area.top, area.bottom);
    let base = height(frame.y.baseline());
    let gap = (width * 0.06).min(3.0);
    for (series, marks) in panel.marks.iter().enumerate() {
        for mark in marks {
            let (from, to) = (left(series, mark.x) + gap, left(series, mark.x) + width - gap);
            let end = height(mark.y);
            canvas.rectangle((from, end.min(base)), (to, end.max(base)), bar_color(series))?;
            let middle = (from + to) / 2.0;
            if mark.low < mark.high {
                whisker(canvas, (middle, height(mark.low)), (middle, height(mark.high)), INK)?;
            }
            if value_labels {
                let end = height(mark.high.max(mark.y));
                let published = panel.published.get(series).into_iter().flatten();
                let rings: Vec<f64> =
                    published.filter(|(category, _)| *category == mark.x).map(|&(_, y)| frame.to_y(area, y)).collect();
                value_label(canvas, mark.y, (middle, above(end, &rings)), width)?;
            }
        }
    }
    for (series, points) in panel.published.iter().enumerate() {
        for &(category, y) in points {
            let at = (left(series, category) + width / 2.0, frame.to_y(area, y));
            if inside(area, at) {
                published_ring(canvas, INK, at)?;
            }
        }
    }
    Ok(())
}

/// A bar's value above its end, turned if the bar is narrower than the text.
fn value_label<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    value: f64,
    (x, y): Point,
    width: f64,
) -> anyhow::Result<()> {
    let text = short(value);
    if text_width(&text, false) * em::VALUE <= width {
        return canvas.text(&text, (x, y - 7.0), lettering(em::VALUE, false, Align::Middle));
    }
    let upwards = Lettering { upwards: true, ..lettering(em::VALUE, false, Align::Start) };
    canvas.text(&text, (x + em::VALUE * 0.36, y - 7.0), upwards)
}

/// Where a label above a bar starts so that it does not run into the rings of published values.
fn above(end: f64, rings: &[f64]) -> f64 {
    const LONGEST_LABEL: f64 = 4.0 * em::VALUE;
    let in_the_way = rings.iter().filter(|&&ring| ring < end + RING && ring > end - LONGEST_LABEL - RING);
    in_the_way.fold(end, |top, ring| top.min(ring - RING))
}

/// Three significant digits, with an exponent from 10,000 on.
fn short(value: f64) -> String {
    if value.abs() >= 1e4 { format!("{value:.2e}") } else { significant(value, 3) }
}

/// The marker of a series, with a halo that separates it from lines below it.
///
/// # Errors
/// The backend's.
pub fn dot<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, series: usize, at: Point) -> anyhow::Result<()> {
    let style = series_style(series);
    canvas.marker(style.shape, at, RADIUS, style.color, (PAPER, 2.0))
}

/// A ring for a published value: our own marker or bar remains visible inside.
///
/// # Errors
/// The backend's.
pub fn published_ring<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, color: RGBColor, at: Point) -> anyhow::Result<()> {
    canvas.ring(at, RING, 6.0, PAPER)?;
    canvas.ring(at, RING, 3.0, color)
}

/// A vertical line with caps.
///
/// # Errors
/// The backend's.
pub fn whisker<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    from: Point,
    to: Point,
    color: RGBColor,
) -> anyhow::Result<()> {
    const CAP: f64 = 7.0;
    canvas.line(&[from, to], 2.5, color, None)?;
    for (x, y) in [from, to] {
        canvas.line(&[(x - CAP, y), (x + CAP, y)], 2.5, color, None)?;
    }
    Ok(())
}

fn inside(area: Area, (x, y): Point) -> bool {
    // Half a unit of slack for values exactly on the end of an axis.
    (area.left - 0.5..=area.right + 0.5).contains(&x) && (area.top - 0.5..=area.bottom + 0.5).contains(&y)
}

/// The parts of a polyline between the upper and lower edge of the area.
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
    fn styles_stay_distinct_over_three_rounds() {
        let styles: Vec<SeriesStyle> = (0..24).map(series_style).collect();
        for (position, style) in styles.iter().enumerate() {
            assert!(!styles[..position].contains(style), "series {position}");
        }
        assert_ne!(bar_color(0), bar_color(8));
    }

    #[test]
    fn labels_of_bars_give_way_to_rings() {
        assert_eq!(above(300.0, &[]), 300.0);
        assert_eq!(above(300.0, &[500.0, 100.0]), 300.0);
        assert_eq!(above(300.0, &[295.0]), 295.0 - RING);
        assert_eq!(above(300.0, &[305.0, 280.0]), 280.0 - RING);
    }

    #[test]
    fn lines_are_cut_at_the_edges() {
        let area = Area { left: 0.0, right: 10.0, top: 0.0, bottom: 10.0 };
        let points = [(0.0, 5.0), (2.0, -5.0), (4.0, -5.0), (6.0, 5.0), (8.0, 5.0)];
        let runs = clipped(&points, area);
        assert_eq!(runs, [vec![(0.0, 5.0), (1.0, 0.0)], vec![(5.0, 0.0), (6.0, 5.0), (8.0, 5.0)]]);
    }
}
