//! The tidy result table of an experiment.

use super::plan::Plan;
use super::store::CellRecord;

/// One line per metric of every cell, in grid order.
///
/// Columns: `experiment, cell, <key columns>, method, metric, value, lower_bound, gap, text, seconds, peak_mb, seed`;
/// empty means absent. Numbers are written with as many digits as their bits need; `seconds` and `peak_mb`, the only
/// columns that differ between runs, are rounded.
///
/// # Errors
/// None in practice: it writes to memory.
pub(super) fn table(plan: &Plan<'_>, records: &[&CellRecord]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = plan.experiment.key_columns().iter().copied();
    let before = ["experiment", "cell"].into_iter();
    let after = ["method", "metric", "value", "lower_bound", "gap", "text", "seconds", "peak_mb", "seed"];
    writer.write_record(before.chain(keys).chain(after))?;
    for (planned, record) in plan.cells.iter().zip(records) {
        for row in &record.rows {
            let mut line = vec![plan.config.experiment.clone(), planned.address.clone()];
            line.extend(planned.cell.key.iter().map(|(_, value)| value.clone()));
            line.extend([
                planned.cell.method.clone(),
                row.metric.clone(),
                exact(row.value),
                exact(row.lower_bound),
                exact(row.gap),
                row.text.clone().unwrap_or_default(),
                seconds(row.seconds.unwrap_or(record.seconds)),
                record.peak_mb.map(|mb| format!("{mb:.1}")).unwrap_or_default(),
                plan.config.seed.to_string(),
            ]);
            writer.write_record(&line)?;
        }
    }
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}

/// Four decimals, or four significant digits of what is shorter than a tenth of a second: kernels take microseconds.
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
    fn short_times_keep_their_digits() {
        for (value, text) in [(0.0, "0.0000"), (1.234e-6, "1.234e-6"), (0.0765432, "7.654e-2"), (12.34567, "12.3457")] {
            assert_eq!(seconds(value), text);
        }
    }
}
