//! Bar charts as inline SVG, 360 units wide.

use std::fmt::Write as _;

use super::chart::{Bar, Chart};
use super::published::number;
use crate::release::document::escaped;

/// The width of a chart.
pub(super) const WIDTH: f64 = 360.0;

/// The width of a character of labels.
const CHARACTER_WIDTH: f64 = 6.8;

/// The width of the numbers, at the right.
const NUMBER_WIDTH: f64 = 68.0;

/// Maximum characters of labels on the line of their bars; longer ones get a separate line.
const MAX_SHORT_LABEL: usize = 17;

/// Maximum characters of any label; the rest is in the bar's title.
const MAX_LABEL: usize = 56;

/// Heights of a bar, and of a row with the label on the bar's line or on a separate line.
const BAR_HEIGHT: f64 = 11.0;
const SHORT_ROW: f64 = 20.0;
const LONG_ROW: f64 = 33.0;

/// Returns the drawing of the bars of a chart.
pub(super) fn drawing(chart: &Chart) -> String {
    let longest = chart.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let is_long = longest > MAX_SHORT_LABEL;
    let (left, row) = match is_long {
        true => (2.0, LONG_ROW),
        false => (8.0 + CHARACTER_WIDTH * longest.max(2) as f64, SHORT_ROW),
    };
    let decimals = chart.decimals();
    let ends = |bar: &Bar| bar.interval.unwrap_or((bar.estimate, bar.estimate));
    let low = chart.bars.iter().map(|bar| ends(bar).0).fold(0.0, f64::min);
    let high = chart.bars.iter().map(|bar| ends(bar).1).fold(0.0, f64::max);
    let span = if high > low { high - low } else { 1.0 };
    let unit = (WIDTH - NUMBER_WIDTH - left) / span;
    let at = |x: f64| left + (x - low) * unit;
    let height = row * chart.bars.len() as f64 + 4.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&format!("Bar chart of {}", chart.title))
    );
    for (index, bar) in chart.bars.iter().enumerate() {
        let bottom = row * (index as f64 + 1.0);
        let (top, middle) = (bottom - BAR_HEIGHT - 2.0, bottom - 0.5 * BAR_HEIGHT - 2.0);
        let text = bottom - 4.0;
        let label_line = if is_long { bottom - 18.0 } else { text };
        let (label_x, anchor) = if is_long { (left, "start") } else { (left - 6.0, "end") };
        let (from, to) = (at(bar.estimate.min(0.0)), at(bar.estimate.max(0.0)));
        let class = if bar.estimate < 0.0 { "bar negative" } else { "bar" };
        let _ = write!(
            out,
            "<g><title>{}</title><text x=\"{label_x}\" y=\"{label_line}\" \
             text-anchor=\"{anchor}\">{}</text><rect class=\"{class}\" x=\"{from:.1}\" \
             y=\"{top}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\" rx=\"1.5\"/>",
            escaped(&title(&bar.label, bar.estimate, bar.interval, decimals)),
            escaped(&shortened(&bar.label)),
            to - from,
        );
        if let Some((low, high)) = bar.interval.filter(|(low, high)| low < high) {
            let (low, high) = (at(low), at(high));
            let (cap_top, cap_bottom) = (middle - 3.0, middle + 3.0);
            let _ = write!(
                out,
                "<path class=\"interval\" d=\"M{low:.1} {cap_top}V{cap_bottom}M{low:.1} \
                 {middle}H{high:.1}M{high:.1} {cap_top}V{cap_bottom}\"/>",
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"number\" x=\"{WIDTH}\" y=\"{text}\" text-anchor=\"end\">{}</text></g>",
            number(bar.estimate, decimals)
        );
    }
    // The zero line leaves out separate lines of labels.
    let zero = at(0.0);
    let bars = (0..chart.bars.len()).map(|index| row * (index as f64 + 1.0));
    let lines = bars.map(|end| {
        let start = if is_long { end - BAR_HEIGHT - 4.0 } else { end - row };
        format!("M{zero:.1} {start}V{end}")
    });
    let _ = write!(out, "<path class=\"zero\" d=\"{}\"/></svg>", lines.collect::<String>());
    out
}

/// Returns the whole label with the estimate and its interval.
pub(super) fn title(
    label: &str,
    estimate: f64,
    interval: Option<(f64, f64)>,
    decimals: usize,
) -> String {
    let estimate = number(estimate, decimals);
    match interval {
        Some((low, high)) => format!(
            "{label}: {estimate}, 95 % interval {} to {}",
            number(low, decimals),
            number(high, decimals)
        ),
        None => format!("{label}: {estimate}"),
    }
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= MAX_LABEL {
        return label.to_owned();
    }
    label.chars().take(MAX_LABEL - 1).chain(['…']).collect()
}
