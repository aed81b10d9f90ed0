//! Heat maps as inline SVG, 360 units wide.

use std::fmt::Write as _;

use super::heat_map::HeatMap;
use super::published::number;
use super::svg::{WIDTH, title};
use crate::release::document::escaped;

/// The width of a character of labels and numbers.
const CHARACTER_WIDTH: f64 = 7.2;

/// Maximum characters of the label of a row, and of a column.
const MAX_ROW_LABEL: usize = 16;
const MAX_COLUMN_LABEL: usize = 14;

/// The maximum and minimum height of a row, and the height of all rows if these allow it.
const MAX_ROW: f64 = 20.0;
const MIN_ROW: f64 = 7.0;
const ALL_ROWS: f64 = 640.0;

/// The height of a line of text.
const LINE: f64 = 14.0;

/// The opacity of the largest estimate, on which text is readable.
const MAX_OPACITY: f64 = 0.8;

/// Returns the drawing of a heat map.
pub(super) fn drawing(name: &str, heat_map: &HeatMap) -> String {
    let (rows, columns) = (&heat_map.rows.1, &heat_map.columns.1);
    let longest = |labels: &[String], most: usize| {
        labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).clamp(2, most)
    };
    let left = 8.0 + CHARACTER_WIDTH * longest(rows, MAX_ROW_LABEL) as f64;
    let width = (WIDTH - left) / columns.len().max(1) as f64;
    let row_height = (ALL_ROWS / rows.len().max(1) as f64).clamp(MIN_ROW, MAX_ROW);
    let of_columns = longest(columns, MAX_COLUMN_LABEL) as f64 * CHARACTER_WIDTH;
    let is_turned = of_columns + 4.0 > width;
    let top = if is_turned { of_columns + 8.0 } else { 20.0 };
    let height = top + row_height * rows.len() as f64 + 4.0;
    // Labels of narrow rows and columns are shown where there is space.
    let step = |size: f64| (LINE / size).ceil().max(1.0) as usize;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.1}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&format!("Heat map of {name}"))
    );
    for (column, label) in columns.iter().enumerate().step_by(step(width)) {
        let middle = left + width * (column as f64 + 0.5);
        let label = escaped(&shortened(label, MAX_COLUMN_LABEL));
        let _ = match is_turned {
            true => {
                let (x, y) = (middle + 4.0, top - 5.0);
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-90 {x:.1} {y:.1})\">\
                     {label}</text>"
                )
            }
            false => writeln!(
                out,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                top - 6.0
            ),
        };
    }
    let (decimals, largest) = (heat_map.decimals(), heat_map.largest());
    let longest = heat_map.cells.iter().map(|(x, _)| number(*x, decimals).chars().count()).max();
    let has_numbers =
        row_height >= LINE && CHARACTER_WIDTH * longest.unwrap_or(0) as f64 + 2.0 <= width;
    let radius = if row_height >= LINE { 1.5 } else { 1.0 };
    for (row, label) in rows.iter().enumerate() {
        let y = top + row_height * row as f64;
        let text_line = y + 0.5 * row_height + 4.0;
        if row % step(row_height) == 0 {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{text_line:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                escaped(&shortened(label, MAX_ROW_LABEL))
            );
        }
        let cells = heat_map.cells.iter().skip(row * columns.len());
        for ((column, of_column), &(estimate, interval)) in columns.iter().enumerate().zip(cells) {
            let (x, middle) = (left + width * column as f64, left + width * (column as f64 + 0.5));
            let class = if estimate < 0.0 { "bar negative" } else { "bar" };
            let share = if largest > 0.0 { (estimate.abs() / largest).sqrt() } else { 0.0 };
            let both = format!("{label} · {of_column}");
            let _ = write!(
                out,
                "<g><title>{}</title><rect class=\"{class} cell\" x=\"{x:.1}\" y=\"{y:.1}\" \
                 width=\"{width:.1}\" height=\"{row_height:.1}\" fill-opacity=\"{:.3}\"/>",
                escaped(&title(&both, estimate, interval, decimals)),
                MAX_OPACITY * share,
            );
            if interval.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0) {
                let (x, y) = (x + 2.0 * radius, y + 2.0 * radius);
                let _ = write!(
                    out,
                    "<circle class=\"unsure\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
                );
            }
            if has_numbers {
                let text = number(estimate, decimals);
                let _ = write!(
                    out,
                    "<text x=\"{middle:.1}\" y=\"{text_line:.1}\" text-anchor=\"middle\">\
                     {text}</text>"
                );
            }
            out.push_str("</g>\n");
        }
    }
    out.push_str("</svg>");
    out
}

/// Returns the beginning and the end of a label, with … for what is omitted between them.
fn shortened(label: &str, characters: usize) -> String {
    let all: Vec<char> = label.chars().collect();
    if all.len() <= characters {
        return label.to_owned();
    }
    let kept = characters - 1;
    let (start, end) = (kept.div_ceil(2), kept / 2);
    all[..start].iter().chain(&['…']).chain(&all[all.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_differ_at_the_end_differ_when_shortened() {
        assert_eq!(shortened("municipality-07", 8), "muni…-07");
        assert_eq!(shortened("municipality-08", 8), "muni…-08");
        assert_eq!(shortened("short", 5), "short");
    }
}
