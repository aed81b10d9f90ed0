//! The tidy result table of an experiment.

use std::collections::HashMap;

use super::experiment_plan::ExperimentPlan;
use super::store::CellRecord;
use crate::columns::{AFTER_KEYS, BEFORE_KEYS};
use crate::experiment::{Cell, Row};

/// Returns the table as CSV: one line per metric of every cell, in grid order.
///
/// The columns are [`BEFORE_KEYS`], the key columns and [`AFTER_KEYS`]; empty means absent.
/// Numbers have the shortest digits that restore their bits; `seconds` and `peak_mb`, the only
/// columns that differ between runs, are rounded. An error without a lower bound gets that of the
/// method that bounds it, with the relative gap.
///
/// # Errors
/// A cell whose key does not match the key columns of the kind.
pub(super) fn table(
    plan: &ExperimentPlan<'_>,
    records: &[&CellRecord],
) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = plan.experiment.key_columns().iter().copied();
    writer.write_record(BEFORE_KEYS.into_iter().chain(keys).chain(AFTER_KEYS))?;
    let bounds = Bounds::of(plan, records);
    for (planned, record) in plan.cells.iter().zip(records) {
        for row in &record.rows {
            let (lower_bound, gap) = bounds.certificate(&planned.cell, row);
            let before: [_; BEFORE_KEYS.len()] =
                [plan.config.experiment.clone(), planned.address.clone()];
            let keys = planned.cell.key.iter().map(|(_, value)| value.clone());
            let after: [_; AFTER_KEYS.len()] = [
                planned.cell.method.clone(),
                row.metric.clone(),
                exact(row.value),
                exact(lower_bound),
                exact(gap),
                row.text.clone().unwrap_or_default(),
                seconds(row.seconds.unwrap_or(record.seconds)),
                record.peak_mb.map(|mb| format!("{mb:.1}")).unwrap_or_default(),
                plan.config.seed.to_string(),
            ];
            writer.write_record(before.into_iter().chain(keys).chain(after))?;
        }
    }
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}

/// Cell key, method and metric.
type BoundKey<'t> = (&'t [(String, String)], &'t str, &'t str);

/// The certified lower bounds of a table.
struct Bounds<'t> {
    plan: &'t ExperimentPlan<'t>,
    known: HashMap<BoundKey<'t>, f64>,
}

impl<'t> Bounds<'t> {
    fn of(plan: &'t ExperimentPlan<'_>, records: &[&'t CellRecord]) -> Self {
        let mut known = HashMap::new();
        for (planned, record) in plan.cells.iter().zip(records) {
            let Cell { key, method, .. } = &planned.cell;
            for row in &record.rows {
                if let Some(bound) = row.lower_bound {
                    known.insert((key.as_slice(), method.as_str(), row.metric.as_str()), bound);
                }
            }
        }
        Bounds { plan, known }
    }

    /// Returns lower bound and gap of a row, or those from the method that bounds its method.
    fn certificate(&self, cell: &Cell, row: &Row) -> (Option<f64>, Option<f64>) {
        let of_another = || {
            let method = self.plan.experiment.bounded_by(&cell.method)?;
            let bound = *self.known.get(&(cell.key.as_slice(), method, row.metric.as_str()))?;
            Some(bound_and_gap(row.value?, bound))
        };
        if row.lower_bound.is_some() || row.gap.is_some() {
            return (row.lower_bound, row.gap);
        }
        of_another().unzip()
    }
}

/// Returns the bound of a value and the relative gap.
///
/// The bound is capped at the value, which rounding can undercut where both are the optimum.
fn bound_and_gap(value: f64, bound: f64) -> (f64, f64) {
    (bound.min(value), (value / bound - 1.0).max(0.0))
}

/// Formats seconds with four decimals, or below 0.1 s with four significant digits.
fn seconds(value: f64) -> String {
    if value > 0.0 && value < 0.1 { format!("{value:.3e}") } else { format!("{value:.4}") }
}

/// Formats a number with the shortest digits that restore its bits.
fn exact(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_never_above_their_values() {
        assert_eq!(bound_and_gap(3.0, 2.0), (2.0, 0.5));
        assert_eq!(bound_and_gap(2.0, 2.0), (2.0, 0.0));
        assert_eq!(bound_and_gap(2.0, 2.0 + 1e-15), (2.0, 0.0));
    }

    #[test]
    fn short_times_keep_their_digits() {
        for (value, text) in [
            (0.0, "0.0000"),
            (1.234e-6, "1.234e-6"),
            (0.0765432, "7.654e-2"),
            (12.34567, "12.3457"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }
}
