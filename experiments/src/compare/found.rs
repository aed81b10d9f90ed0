//! Reads what result rows state about a known value, and formats it for reports.

use super::judgement::Ours;
use super::known::KnownValue;
use super::report::Line;
use crate::columns;
use crate::config::CompareSpec;
use crate::printed::significant;
use crate::table::Table;

/// Returns our value with its certificate, in the unit of the known value.
pub(super) fn ours<'r>(
    spec: &CompareSpec,
    results: &'r Table,
    row: usize,
    metric: &str,
) -> Ours<'r> {
    let value = |column: &str| {
        results.number(column, row).map(|value| value * spec.rows.our_scale.unwrap_or(1.0))
    };
    if let Some(column) = spec.our_column() {
        return Ours { value: value(column.name()), ..Ours::default() };
    }
    if results.field(columns::METRIC, row) != metric {
        return Ours { value: value(metric), ..Ours::default() };
    }
    Ours {
        value: value(columns::VALUE),
        text: results.field(columns::TEXT, row),
        lower_bound: results.number(columns::LOWER_BOUND, row),
        gap: results.number(columns::GAP, row),
    }
}

/// Formats the known value, with its words or its band, for reports.
pub(super) fn published_text(value: &KnownValue) -> String {
    let printed = value.printed.to_string();
    match value.band {
        None if value.words.is_empty() => printed,
        None => format!("“{}”: {printed}", value.words),
        Some((low, high)) if printed.is_empty() => format!("{low} to {high}"),
        Some((low, high)) => format!("{printed} ({low} to {high})"),
    }
}

/// Formats lower bound and gap for reports.
pub(super) fn certificate(value: &KnownValue, ours: &Ours<'_>) -> String {
    let bound = ours.lower_bound.map(|bound| format!("≥ {}", value.printed.format_like(bound)));
    let gap = ours.gap.map(|gap| format!("gap {}", significant(gap, 2)));
    [bound, gap].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the lower bound for any matrix mechanism on the cell of a result row.
///
/// It is the value of the method `bounding` in the cell that differs only in its method.
pub(super) fn lower_bound(
    bounding: &str,
    results: &Table,
    row: usize,
    metric: &str,
) -> Option<f64> {
    let method = format!("method={}", results.field(columns::METHOD, row));
    let cell =
        format!("{}method={bounding}", results.field(columns::CELL, row).strip_suffix(&method)?);
    let bound = (0..results.len()).filter(|&index| index != row).find(|&index| {
        results.field(columns::METRIC, index) == metric
            && results.field(columns::CELL, index) == cell
    })?;
    results.number(columns::VALUE, bound)
}

/// Formats the result rows of a failed value: its raw value and line, or why there is none.
pub(super) fn found_text(line: &Line, rows: &[usize], results: &Table) -> String {
    match rows {
        [] => format!("no row with {} and metric={} in {}", line.cell, line.metric, results.name()),
        [row] => {
            let raw = [results.field(columns::VALUE, *row), results.field(columns::TEXT, *row)];
            let raw =
                raw.iter().find(|field| !field.is_empty()).unwrap_or(&"neither a value nor a text");
            let line_number = results.line(*row);
            format!("{raw} ({}, line {line_number}, method {})", results.file(*row), line.method)
        }
        several => {
            let lines: Vec<String> =
                several.iter().map(|&row| results.line(row).to_string()).collect();
            format!("lines {} of {}", lines.join(", "), results.file(several[0]))
        }
    }
}
