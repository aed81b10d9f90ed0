//! Checks the rows that a cell returns.

use std::collections::HashSet;

use crate::columns::{GAP, LOWER_BOUND, SECONDS, VALUE};
use crate::error::{Error, Result};
use crate::experiment::Row;

/// Checks the rows of a cell.
///
/// # Errors
/// No row, an empty or duplicate metric, a row without value and text, or a number that is not
/// finite.
pub(super) fn rows(rows: &[Row]) -> Result<()> {
    let refuse =
        |what: String, expected: &str, found: String| Err(Error::bug(what, expected, found));
    if rows.is_empty() {
        return refuse("a cell of this kind".to_owned(), "at least one row", "none".to_owned());
    }
    let mut metrics = HashSet::new();
    for row in rows {
        let metric = &row.metric;
        if metric.is_empty() || !metrics.insert(metric) {
            let found = format!("metric \"{metric}\", empty or duplicate");
            return refuse("a cell of this kind".to_owned(), "one row per metric", found);
        }
        if row.value.is_none() && row.text.is_none() {
            return refuse(format!("metric {metric}"), "a value or a text", "neither".to_owned());
        }
        let numbers = [
            (VALUE, row.value),
            (LOWER_BOUND, row.lower_bound),
            (GAP, row.gap),
            (SECONDS, row.seconds),
        ];
        for (name, number) in numbers {
            if let Some(number) = number
                && !number.is_finite()
            {
                return Err(Error::Computation {
                    what: format!("metric {metric}"),
                    expected: format!("a finite {name}"),
                    found: number.to_string(),
                    remedy:
                        "omit undefined values; otherwise look for an overflow or a singular matrix"
                            .to_owned(),
                });
            }
        }
    }
    Ok(())
}
