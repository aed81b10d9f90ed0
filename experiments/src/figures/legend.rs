//! The legend of a figure: series, shades, reference lines and kinds of marks, in centred rows.

use super::chart::{Chart, whiskers};
use super::font::text_width;
use super::theme::{Form, GAP, MARGIN, em};
use crate::config::FigureSpec;

/// The subject of a legend entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The series with this index.
    Series(usize),
    /// The reference line with this index.
    Reference(usize),
    /// The shade with this index.
    Shade(usize),
    /// Published points.
    Published,
    /// Whiskers.
    Whisker,
}

/// An entry of the legend and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The subject.
    pub key: Key,
    /// The text.
    pub label: String,
    /// Left end of the sample.
    pub x: f64,
    /// Baseline of the text.
    pub baseline: f64,
}

/// Arranges the legend in centred rows; `baseline` is the number of the row for now.
///
/// Whiskers have an entry if `shows_whiskers`: some are longer than their marks.
pub(super) fn legend(
    spec: &FigureSpec,
    form: Form,
    chart: &Chart,
    width: f64,
    shows_whiskers: bool,
) -> Vec<Entry> {
    let mut keys: Vec<(Key, String)> = Vec::new();
    let named = chart.series.len() > 1 || chart.series.iter().any(|label| !label.is_empty());
    if named && !form.rows_on_y_axis {
        keys.extend(
            chart
                .series
                .iter()
                .enumerate()
                .map(|(series, label)| (Key::Series(series), label.clone())),
        );
    }
    let with_published =
        chart.panels.iter().any(|panel| panel.published.iter().any(|points| !points.is_empty()));
    if !named && !form.rows_on_y_axis && with_published {
        keys.push((Key::Series(0), "ours".to_owned()));
    }
    let shade = |(index, shade): (usize, &String)| {
        (Key::Shade(index), format!("{} {shade}", spec.shade_label))
    };
    let marks = || chart.panels.iter().flat_map(|panel| panel.marks.iter().flatten());
    let is_drawn = |index: usize| marks().any(|mark| mark.shade == index);
    keys.extend(chart.shades.iter().enumerate().filter(|(index, _)| is_drawn(*index)).map(shade));
    keys.extend(
        spec.reference_lines
            .iter()
            .enumerate()
            .map(|(line, reference)| (Key::Reference(line), reference.label.clone())),
    );
    if with_published {
        keys.push((Key::Published, "published".to_owned()));
    }
    if let Some(meaning) = whiskers(spec).filter(|_| shows_whiskers) {
        keys.push((Key::Whisker, meaning.to_owned()));
    }
    let entry_width = |label: &str| form.sample_width + GAP + text_width(label, false) * em::LEGEND;
    let mut rows: Vec<Vec<(Key, String)>> = vec![Vec::new()];
    let mut used = 0.0;
    for (key, label) in keys {
        let needed = entry_width(&label) + 3.0 * GAP;
        if used > 0.0 && used + needed > width - 2.0 * MARGIN {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += needed;
        if let Some(row) = rows.last_mut() {
            row.push((key, label));
        }
    }
    let mut entries = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        let total: f64 =
            row.iter().map(|(_, label)| entry_width(label) + 3.0 * GAP).sum::<f64>() - 3.0 * GAP;
        let mut x = (width - total) / 2.0;
        for (key, label) in row {
            let next = x + entry_width(&label) + 3.0 * GAP;
            entries.push(Entry { key, label, x, baseline: number as f64 });
            x = next;
        }
    }
    entries
}
