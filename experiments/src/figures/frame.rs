//! The layout of a figure: axes, panels, labels and legend, sized by their texts to avoid overlaps.

use super::axis::{Axis, Tick};
use super::chart::{Chart, Mark};
use super::font::{text_width, wrap};
use super::legend::{Entry, legend};
use super::theme::{Form, GAP, LEADING, MARGIN, RADIUS, SIZE, XAxis, em};
use crate::config::FigureSpec;

/// Right margin, with space for half a tick label.
const RIGHT_MARGIN: f64 = 48.0;
const PANEL_GAP: f64 = 44.0;
/// Minimum space next to the first and the last mark of a numeric x axis.
const MIN_PADDING: f64 = 26.0;
/// The data area of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

/// The labels of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// Lines of each label.
    pub labels: Vec<Vec<String>>,
    /// Whether the labels are rotated to read upwards.
    pub upwards: bool,
}

/// The layout of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Lines of the title, and the baseline of the first.
    pub title: (Vec<String>, f64),
    /// Data areas, one per panel, row by row.
    pub panels: Vec<Area>,
    /// The number of panels in a row.
    pub columns: usize,
    /// Lines of the heading of each panel.
    pub headings: Vec<Vec<String>>,
    /// The numeric x axis; `None` for categories.
    pub x: Option<Axis>,
    /// The y axis.
    pub y: Axis,
    /// The second y axis, at the right, with the index of its first series.
    pub second: Option<(Axis, usize)>,
    /// Labels of categories.
    pub categories: Categories,
    /// Baseline of the label of the x axis.
    pub x_label: f64,
    /// Vertical baseline of the label of the y axis.
    pub y_label: f64,
    /// Vertical baseline of the label of the second y axis.
    pub second_label: f64,
    /// The number of shades.
    pub shades: usize,
    /// For each series, whether it is a line without markers.
    pub unmarked: Vec<bool>,
    /// The legend.
    pub legend: Vec<Entry>,
}

impl Frame {
    /// Computes the layout of a chart.
    #[must_use]
    pub fn new(spec: &FigureSpec, form: Form, chart: &Chart) -> Self {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let title = wrap(&spec.title, em::TITLE, true, width - 2.0 * MARGIN);
        let title_bottom = MARGIN + em::TITLE * LEADING * title.len() as f64;
        // The widths of tick labels, and whether whiskers are seen, hardly depend on the height.
        let y = y_axis(spec, form, chart, 700.0);
        let shows_whiskers = form.marks_start_at_axis || {
            let half = |mark: &Mark| (y.fraction(mark.high) - y.fraction(mark.low)).abs() / 2.0;
            let mut marks = chart.panels.iter().flat_map(|panel| panel.marks.iter().flatten());
            marks.any(|mark| half(mark) * 700.0 > RADIUS)
        };
        let mut legend = legend(spec, form, chart, width, shows_whiskers);
        let legend_rows = legend.iter().map(|entry| entry.baseline).fold(-1.0, f64::max) + 1.0;
        let legend_top = height - MARGIN - legend_rows * em::LEGEND * LEADING * 1.1;
        for entry in &mut legend {
            entry.baseline = legend_top + (entry.baseline + 0.85) * em::LEGEND * LEADING * 1.1;
        }
        let x_label = legend_top - GAP - em::LABEL * 0.4;
        let labels_bottom = x_label - em::LABEL - 0.3 * GAP;

        let y_axis_label = MARGIN + em::LABEL * 0.85;
        let left = y_axis_label + em::LABEL * 0.4 + GAP + ticks_of(&y) + GAP;
        let second_label = width - MARGIN;
        let right_margin = match second_axis(spec, form, chart, 700.0) {
            Some((axis, _)) => MARGIN + em::LABEL + GAP + ticks_of(&axis) + 2.0 * GAP,
            None => RIGHT_MARGIN,
        };
        let columns = spec.panel_columns.unwrap_or(usize::MAX).clamp(1, chart.panels.len().max(1));
        let gaps = PANEL_GAP * (columns as f64 - 1.0);
        let panel_width = (width - right_margin - left - gaps) / columns as f64;
        let headings: Vec<Vec<String>> = chart
            .panels
            .iter()
            .map(|panel| wrap(&panel.heading, em::HEADING, true, panel_width + 0.5 * PANEL_GAP))
            .collect();
        let heading_height = match headings.iter().map(Vec::len).max().unwrap_or(0) {
            0 => GAP,
            lines => 1.7 * GAP + em::HEADING * LEADING * lines as f64,
        };
        let categories = categories(chart, panel_width);
        let labels_height = GAP + categories_height(&categories);
        let rows = chart.panels.len().div_ceil(columns).max(1) as f64;
        let row_height = (labels_bottom - title_bottom - GAP * (rows - 1.0)) / rows;
        let area_height = row_height - heading_height - labels_height;
        let panels = (0..chart.panels.len())
            .map(|panel| {
                let left = left + (panel % columns) as f64 * (panel_width + PANEL_GAP);
                let row_top = title_bottom + (panel / columns) as f64 * (row_height + GAP);
                let top = row_top + heading_height;
                Area { left, right: left + panel_width, top, bottom: top + area_height }
            })
            .collect();
        Self {
            title: (title, MARGIN + em::TITLE),
            panels,
            columns,
            headings,
            x: (form.x == XAxis::Numbers).then(|| x_axis(spec, chart, panel_width)),
            y: y_axis(spec, form, chart, area_height),
            second: second_axis(spec, form, chart, area_height),
            categories,
            x_label,
            y_label: y_axis_label,
            second_label,
            shades: chart.shades.len(),
            unmarked: chart.unmarked.clone(),
            legend,
        }
    }

    /// Returns the x coordinate of a value in a panel; the middle of the panel for categories.
    #[must_use]
    pub fn to_x(&self, area: Area, value: f64) -> f64 {
        let fraction = self.x.as_ref().map_or(0.5, |axis| axis.fraction(value));
        area.left + fraction * (area.right - area.left)
    }

    /// Returns the y coordinate of a value of the first y axis in a panel.
    #[must_use]
    pub fn to_y(&self, area: Area, value: f64) -> f64 {
        height(&self.y, area, value)
    }

    /// Returns whether a series belongs to the second y axis.
    #[must_use]
    pub fn is_on_second(&self, series: usize) -> bool {
        self.second.as_ref().is_some_and(|(_, first)| series >= *first)
    }

    /// Returns the y coordinate of a value of a series in a panel, on the axis of the series.
    #[must_use]
    pub fn to_y_of(&self, series: usize, area: Area, value: f64) -> f64 {
        match &self.second {
            Some((axis, _)) if self.is_on_second(series) => height(axis, area, value),
            _ => self.to_y(area, value),
        }
    }
}

/// Returns the y coordinate of a value of an axis in a panel.
#[must_use]
pub fn height(axis: &Axis, area: Area, value: f64) -> f64 {
    area.bottom - axis.fraction(value) * (area.bottom - area.top)
}

/// Returns the width of the tick labels of a vertical axis.
fn ticks_of(axis: &Axis) -> f64 {
    widest(axis.ticks.iter().map(|tick| text_width(&tick.label, false))) * em::TICK
}

fn x_axis(spec: &FigureSpec, chart: &Chart, width: f64) -> Axis {
    let positions: Vec<f64> = chart.positions().collect();
    let (low, high) = padded(extent(&positions), spec.x_log, (MIN_PADDING / width).max(0.035));
    let mut axis = if !spec.x_log {
        Axis::linear(low, high, 6)
    } else if positions.iter().all(|x| x.log2().fract() == 0.0) && high / low > 4.0 {
        Axis::powers_of_two(low, high)
    } else {
        Axis::log(low, high)
    };
    // Powers of ten alone, if not all multiples have room; else every second, third, … tick.
    let powers = axis.ticks.iter().filter(|tick| spec.x_log && is_power_of_ten(tick.at)).cloned();
    let powers: Vec<Tick> = powers.collect();
    if powers.len() > 1 && !have_room(&axis, width) {
        axis.ticks = powers;
    }
    let mut stride = 1;
    let ticks = axis.ticks.clone();
    while stride < ticks.len() && !have_room(&axis, width) {
        stride += 1;
        axis.ticks = ticks.iter().step_by(stride).cloned().collect();
    }
    axis
}

fn is_power_of_ten(value: f64) -> bool {
    format!("{value:.9e}").trim_start_matches("1.").starts_with("000000000e")
}

fn have_room(axis: &Axis, width: f64) -> bool {
    axis.ticks.windows(2).all(|pair| {
        let distance = (axis.fraction(pair[1].at) - axis.fraction(pair[0].at)) * width;
        let half_widths =
            (text_width(&pair[0].label, false) + text_width(&pair[1].label, false)) / 2.0;
        distance > half_widths * em::TICK + 14.0
    })
}

fn second_axis(spec: &FigureSpec, form: Form, chart: &Chart, height: f64) -> Option<(Axis, usize)> {
    let second = spec.of_second(spec.second.as_ref()?);
    let values: Vec<f64> = chart.second_values().collect();
    (!values.is_empty()).then(|| (axis_of(&second, form, values, height), chart.on_first))
}

fn y_axis(spec: &FigureSpec, form: Form, chart: &Chart, height: f64) -> Axis {
    if form.rows_on_y_axis {
        return Axis::rows(&chart.series);
    }
    axis_of(spec, form, chart.values().collect(), height)
}

/// Returns the y axis that shows the given values.
fn axis_of(spec: &FigureSpec, form: Form, mut values: Vec<f64>, height: f64) -> Axis {
    values.extend(spec.reference_lines.iter().map(|line| line.value));
    let on_axis = form.marks_start_at_axis;
    let (data_low, data_high) = extent(&values);
    let (mut low, mut high) = padded((data_low, data_high), spec.y_log, 0.05);
    if spec.y_log && on_axis {
        // Bars start at the end of the axis, and the shortest bar must be visible.
        low = decade_below(data_low / 1.4);
    } else if !spec.y_log && data_low >= 0.0 && (on_axis || data_low < 0.4 * data_high) {
        low = 0.0;
    } else if !spec.y_log && data_high <= 0.0 && on_axis {
        high = 0.0;
    }
    low = spec.y_min.unwrap_or(low);
    if low >= high {
        high = if spec.y_log { low * 10.0 } else { low + 1.0 };
    }
    if spec.value_labels && spec.y_max.is_none() {
        let share = (1.0 - 4.4 * em::VALUE / height.max(1.0)).max(0.5);
        high = if spec.y_log {
            low * (data_high / low).powf(1.0 / share)
        } else {
            low + (data_high - low) / share
        };
    }
    high = spec.y_max.unwrap_or(high);
    if low >= high {
        low = if spec.y_log { high / 10.0 } else { high - 1.0 };
    }
    if !spec.y_log {
        return Axis::linear(low, high, 6);
    }
    // The axis ends at ticks, so that no mark is beyond the last tick.
    let (first, last) = Axis::around(low, high);
    Axis::log(spec.y_min.unwrap_or(first), spec.y_max.unwrap_or(last))
}

fn decade_below(value: f64) -> f64 {
    10f64.powi(value.log10().floor() as i32)
}

fn extent(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
        (low.min(value), high.max(value))
    })
}

/// Widens a range by a share of its width; a single value gets a range around it.
fn padded((low, high): (f64, f64), log: bool, share: f64) -> (f64, f64) {
    if log {
        let factor = if high > low { (high / low).powf(share) } else { 2.0 };
        (low / factor, high * factor)
    } else {
        let pad = if high > low { (high - low) * share } else { (0.1 * high.abs()).max(0.5) };
        (low - pad, high + pad)
    }
}

fn categories(chart: &Chart, panel_width: f64) -> Categories {
    let max_width = panel_width / chart.categories.len().max(1) as f64 - 14.0;
    let wrapped: Vec<Vec<String>> =
        chart.categories.iter().map(|label| wrap(label, em::TICK, false, max_width)).collect();
    let fits = wrapped.iter().flatten().all(|line| text_width(line, false) * em::TICK <= max_width);
    if fits && wrapped.iter().all(|lines| lines.len() <= 3) {
        return Categories { labels: wrapped, upwards: false };
    }
    let labels = chart.categories.iter().map(|label| vec![label.clone()]).collect();
    Categories { labels, upwards: true }
}

fn categories_height(categories: &Categories) -> f64 {
    if categories.upwards {
        return widest(categories.labels.iter().flatten().map(|label| text_width(label, false)))
            * em::TICK;
    }
    let lines = categories.labels.iter().map(Vec::len).max().unwrap_or(1);
    lines as f64 * em::TICK * LEADING
}

fn widest(widths: impl Iterator<Item = f64>) -> f64 {
    widths.fold(0.0, f64::max)
}
