//! What a result row says beside a known value.

use super::known::KnownValue;
use super::verdict::Ours;
use crate::columns;
use crate::config::CompareSpec;
use crate::datasets::STAND_IN;
use crate::printed::significant;
use crate::table::Table;

/// Our value with its certificate, in the unit of the known one.
pub(super) fn ours<'r>(
    spec: &CompareSpec,
    results: &'r Table,
    row: usize,
    metric: &str,
) -> Ours<'r> {
    // Our own reference values may be about the stand-in, and say so in a column `data`. What a
    // paper prints never is.
    let about_data =
        spec.reference.is_some() && spec.join.iter().any(|column| column == columns::DATA);
    let stand_in = results.field(columns::DATA, row) == STAND_IN && !about_data;
    let value = |column: &str| {
        results.number(column, row).map(|value| value * spec.our_scale.unwrap_or(1.0))
    };
    if let Some(column) = spec.our_column {
        return Ours { value: value(column.name()), stand_in, ..Ours::default() };
    }
    if results.field(columns::METRIC, row) != metric {
        return Ours { value: value(metric), stand_in, ..Ours::default() };
    }
    Ours {
        value: value(columns::VALUE),
        text: results.field(columns::TEXT, row),
        lower_bound: results.number(columns::LOWER_BOUND, row),
        gap: results.number(columns::GAP, row),
        stand_in,
    }
}

/// The known value as reports show it.
pub(super) fn published_text(value: &KnownValue) -> String {
    let printed = value.printed.to_string();
    match value.band {
        None => printed,
        Some((low, high)) if printed.is_empty() => format!("{low} to {high}"),
        Some((low, high)) => format!("{printed} ({low} to {high})"),
    }
}

/// The lower bound and the gap as reports show them.
pub(super) fn certificate(value: &KnownValue, ours: &Ours<'_>) -> String {
    let bound = ours.lower_bound.map(|bound| format!("≥ {}", value.printed.format_like(bound)));
    let gap = ours.gap.map(|gap| format!("gap {}", significant(gap, 2)));
    [bound, gap].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The value that `bounding`, the method that bounds all others, has in the cell of a result row
/// that differs by the method only.
pub(super) fn bound_on_all(
    bounding: &str,
    results: &Table,
    row: usize,
    metric: &str,
) -> Option<f64> {
    let own = format!("method={}", results.field(columns::METHOD, row));
    let cell =
        format!("{}method={bounding}", results.field(columns::CELL, row).strip_suffix(&own)?);
    let place = (0..results.len()).filter(|&place| place != row).find(|&place| {
        results.field(columns::METRIC, place) == metric
            && results.field(columns::CELL, place) == cell
    })?;
    results.number(columns::VALUE, place)
}
