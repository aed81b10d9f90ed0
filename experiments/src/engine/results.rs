//! The tidy result table of an experiment.

use std::collections::HashMap;

use super::experiment_plan::ExperimentPlan;
use super::store::CellRecord;
use crate::columns::{AFTER_KEYS, BEFORE_KEYS};
use crate::experiment::{Cell, Row};

/// One line per metric of every cell, in grid order.
///
/// The columns are [`BEFORE_KEYS`], the key columns, [`AFTER_KEYS`]; empty means absent. Numbers
/// are written with as many digits as their bits need; `seconds` and `peak_mb`, the only columns
/// that differ between runs, are rounded. Where the experiment says that another method's lower
/// bound holds, it stands beside errors that have none, with the relative gap to it.
///
/// # Errors
/// A cell with more or fewer values in its key than the kind has key columns.
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
            let (lower_bound, gap) = bounds.beside(&planned.cell, row);
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
type Place<'t> = (&'t [(String, String)], &'t str, &'t str);

/// The certified lower bounds of a table.
struct Bounds<'t> {
    plan: &'t ExperimentPlan<'t>,
    known: HashMap<Place<'t>, f64>,
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

    /// Lower bound and gap of a row: its own, or those of the method that bounds its method.
    fn beside(&self, cell: &Cell, row: &Row) -> (Option<f64>, Option<f64>) {
        let of_another = || {
            let method = self.plan.experiment.bounded_by(&cell.method)?;
            let bound = *self.known.get(&(cell.key.as_slice(), method, row.metric.as_str()))?;
            Some(held_against(row.value?, bound))
        };
        if row.lower_bound.is_some() || row.gap.is_some() {
            return (row.lower_bound, row.gap);
        }
        of_another().unzip()
    }
}

/// The bound as it stands beside a value, and the relative gap. Rounding can lift a bound above the
/// value where both are the optimum.
fn held_against(value: f64, bound: f64) -> (f64, f64) {
    (bound.min(value), (value / bound - 1.0).max(0.0))
}

/// Four decimals, or four significant digits of what is shorter than a tenth of a second: kernels
/// take microseconds.
fn seconds(value: f64) -> String {
    if value > 0.0 && value < 0.1 { format!("{value:.3e}") } else { format!("{value:.4}") }
}

/// The shortest digits that give the same bits again.
fn exact(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_never_above_their_values() {
        assert_eq!(held_against(3.0, 2.0), (2.0, 0.5));
        assert_eq!(held_against(2.0, 2.0), (2.0, 0.0));
        assert_eq!(held_against(2.0, 2.0 + 1e-15), (2.0, 0.0));
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
