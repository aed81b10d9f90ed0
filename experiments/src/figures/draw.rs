//! Draws a figure on a canvas: frame, grid, labels and legend; the kind of figure draws the data.

use plotters::style::RGBColor;

use super::axis::Axis;
use super::canvas::{Align, Canvas, Lettering};
use super::chart::Chart;
use super::frame::{Area, Frame, height};
use super::kind::{Figure, Sample};
use super::legend::{Entry, Key};
use super::marks;
use super::theme::{GREY, INK, LEADING, PAPER, em, lettering};
use crate::error::Result;

const MAJOR: RGBColor = RGBColor(219, 223, 227);
const MINOR: RGBColor = RGBColor(238, 240, 242);
/// Length of ticks.
const TICK: f64 = 8.0;
/// Dash and gap of the reference lines, used in turn.
const DASHES: [(f64, f64); 3] = [(16.0, 9.0), (4.0, 7.0), (28.0, 8.0)];

/// Draws the whole figure.
///
/// # Errors
/// A failure of the backend.
pub fn figure(canvas: &dyn Canvas, figure: Figure<'_>, chart: &Chart) -> Result<()> {
    let Figure { spec, kind } = figure;
    let frame = Frame::new(spec, kind.form(), chart);
    canvas.fill(PAPER)?;
    let (lines, mut baseline) = frame.title.clone();
    let left = frame.panels.first().map_or(0.0, |area| area.left);
    let right = frame.panels.last().map_or(0.0, |area| area.right);
    for line in lines {
        canvas.text(
            &line,
            (frame.y_label - em::LABEL * 0.85, baseline),
            lettering(em::TITLE, true, Align::Start),
        )?;
        baseline += em::TITLE * LEADING;
    }
    for (number, (panel, area)) in chart.panels.iter().zip(&frame.panels).enumerate() {
        grid(canvas, &frame, *area)?;
        for (line, reference) in spec.reference_lines.iter().enumerate() {
            let y = frame.to_y(*area, reference.value);
            if (area.top..=area.bottom).contains(&y) {
                let dashes = Some(DASHES[line % DASHES.len()]);
                canvas.line(&[(area.left, y), (area.right, y)], 2.5, GREY, dashes)?;
            }
        }
        kind.marks(canvas, &frame, *area, panel, spec)?;
        axes(canvas, &frame, *area, number % frame.columns == 0)?;
        for (above, line) in frame.headings[number].iter().rev().enumerate() {
            let baseline = area.top - em::HEADING * (0.5 + LEADING * above as f64);
            let at = ((area.left + area.right) / 2.0, baseline);
            canvas.text(line, at, lettering(em::HEADING, true, Align::Middle))?;
        }
    }
    canvas.text(
        &spec.x_label,
        ((left + right) / 2.0, frame.x_label),
        lettering(em::LABEL, false, Align::Middle),
    )?;
    if let (Some(first), Some(last)) = (frame.panels.first(), frame.panels.last()) {
        let at = (frame.y_label, (first.top + last.bottom) / 2.0);
        let upwards = Lettering { upwards: true, ..lettering(em::LABEL, false, Align::Middle) };
        canvas.text(&spec.y_label, at, upwards)?;
    }
    if let (Some(area), Some((axis, _)), Some(second)) =
        (frame.panels.last(), &frame.second, &spec.second)
    {
        second_axis(canvas, &frame, *area, axis, &second.y_label)?;
    }
    frame.legend.iter().try_for_each(|entry| legend_entry(canvas, figure, chart, &frame, entry))
}

fn grid(canvas: &dyn Canvas, frame: &Frame, area: Area) -> Result<()> {
    let horizontal = |value: f64, color, width| {
        let y = frame.to_y(area, value);
        canvas.line(&[(area.left, y), (area.right, y)], width, color, None)
    };
    let vertical = |fraction: f64, color, width| {
        let x = area.left + fraction * (area.right - area.left);
        canvas.line(&[(x, area.top), (x, area.bottom)], width, color, None)
    };
    frame.y.minor.iter().try_for_each(|&value| horizontal(value, MINOR, 1.25))?;
    if let Some(x) = &frame.x {
        x.minor.iter().try_for_each(|&value| vertical(x.fraction(value), MINOR, 1.25))?;
        x.ticks.iter().try_for_each(|tick| vertical(x.fraction(tick.at), MAJOR, 1.5))?;
    }
    frame.y.ticks.iter().try_for_each(|tick| horizontal(tick.at, MAJOR, 1.5))
}

fn axes(canvas: &dyn Canvas, frame: &Frame, area: Area, first: bool) -> Result<()> {
    let corner = (area.left, area.bottom);
    canvas.line(&[(area.left, area.top), corner], 2.0, INK, None)?;
    canvas.line(&[corner, (area.right, area.bottom)], 2.0, INK, None)?;
    for tick in &frame.y.ticks {
        let y = frame.to_y(area, tick.at);
        canvas.line(&[(area.left - TICK, y), (area.left, y)], 2.0, INK, None)?;
        if first {
            let at = (area.left - TICK - 6.0, y + em::TICK * 0.36);
            canvas.text(&tick.label, at, lettering(em::TICK, false, Align::End))?;
        }
    }
    let baseline = area.bottom + TICK + em::TICK;
    if let Some(x) = &frame.x {
        for tick in &x.ticks {
            let at = area.left + x.fraction(tick.at) * (area.right - area.left);
            canvas.line(&[(at, area.bottom), (at, area.bottom + TICK)], 2.0, INK, None)?;
            canvas.text(&tick.label, (at, baseline), lettering(em::TICK, false, Align::Middle))?;
        }
        return Ok(());
    }
    let count = frame.categories.labels.len().max(1) as f64;
    for (category, lines) in frame.categories.labels.iter().enumerate() {
        let at = area.left + (category as f64 + 0.5) / count * (area.right - area.left);
        for (number, line) in lines.iter().enumerate() {
            if frame.categories.upwards {
                let upwards = Lettering { upwards: true, ..lettering(em::TICK, false, Align::End) };
                canvas.text(line, (at + em::TICK * 0.36, area.bottom + TICK), upwards)?;
            } else {
                let below = baseline + number as f64 * em::TICK * LEADING;
                canvas.text(line, (at, below), lettering(em::TICK, false, Align::Middle))?;
            }
        }
    }
    Ok(())
}

/// Draws the second y axis, at the right of the last panel.
fn second_axis(
    canvas: &dyn Canvas,
    frame: &Frame,
    area: Area,
    axis: &Axis,
    label: &str,
) -> Result<()> {
    canvas.line(&[(area.right, area.top), (area.right, area.bottom)], 2.0, INK, None)?;
    for tick in &axis.ticks {
        let y = height(axis, area, tick.at);
        canvas.line(&[(area.right, y), (area.right + TICK, y)], 2.0, INK, None)?;
        let at = (area.right + TICK + 6.0, y + em::TICK * 0.36);
        canvas.text(&tick.label, at, lettering(em::TICK, false, Align::Start))?;
    }
    let upwards = Lettering { upwards: true, ..lettering(em::LABEL, false, Align::Middle) };
    canvas.text(label, (frame.second_label, (area.top + area.bottom) / 2.0), upwards)
}

fn legend_entry(
    canvas: &dyn Canvas,
    figure: Figure<'_>,
    chart: &Chart,
    frame: &Frame,
    entry: &Entry,
) -> Result<()> {
    let y = entry.baseline - em::LEGEND * 0.36;
    let (left, right) = (entry.x, entry.x + figure.kind.form().sample_width);
    let on_second = matches!(entry.key, Key::Series(series) if frame.is_on_second(series));
    let unmarked =
        matches!(entry.key, Key::Series(series) if chart.unmarked.get(series) == Some(&true));
    let at = Sample { left, right, y, on_second, unmarked };
    let middle = at.middle();
    match entry.key {
        Key::Series(series) => figure.kind.sample(canvas, series, at)?,
        Key::Reference(line) => {
            canvas.line(&[(left, y), (right, y)], 2.5, GREY, Some(DASHES[line % DASHES.len()]))?;
        }
        Key::Shade(shade) => {
            let color = marks::shade(shade, chart.shades.len());
            canvas.rectangle((middle.0 - 17.0, y - 13.0), (middle.0 + 17.0, y + 13.0), color)?;
        }
        Key::Published => marks::published_ring(canvas, GREY, middle)?,
        Key::Whisker => marks::whisker(canvas, (middle.0, y - 13.0), (middle.0, y + 13.0), GREY)?,
    }
    let text = lettering(em::LEGEND, false, Align::Start);
    canvas.text(&entry.label, (right + 12.0, entry.baseline), text)
}
