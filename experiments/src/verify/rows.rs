//! Checks the rows of a result table: columns, cells, numbers, certificates.

use std::collections::HashSet;

use super::check::{Check, Verified, in_short};
use crate::columns;
use crate::datasets::{REAL, STAND_IN};
use crate::engine::ExperimentPlan;
use crate::table::Table;

/// Relative tolerance for a bound above its value, and for the definition of the gap.
const ROUNDING: f64 = 1e-9;

/// Checks a table against its plan.
pub(super) fn check(table: &Table, plan: &ExperimentPlan<'_>, verified: &mut Verified) {
    let experiment = plan.config.experiment.as_str();
    verified.rows += table.len();
    let keys = plan.experiment.key_columns().iter().copied();
    let expected: Vec<&str> =
        columns::BEFORE_KEYS.into_iter().chain(keys).chain(columns::AFTER_KEYS).collect();
    if table.columns() != expected {
        verified.add(Check::Columns, experiment, table.columns().join(", "));
        return;
    }
    cells(table, plan, verified);
    let (mut wrong, mut broken) = (Vec::new(), Vec::new());
    for row in 0..table.len() {
        let line = || format!("line {}", table.line(row));
        if !is_result(table, plan, row) {
            wrong.push(line());
            continue;
        }
        let certificate =
            [columns::LOWER_BOUND, columns::GAP].map(|column| table.number(column, row));
        if certificate == [None, None] {
            continue;
        }
        verified.certificates += 1;
        let holds = table
            .number(columns::VALUE, row)
            .is_some_and(|value| holds(value, certificate[0], certificate[1]));
        if !holds {
            broken.push(format!(
                "{} ({}, {})",
                line(),
                table.field(columns::METHOD, row),
                table.field(columns::METRIC, row)
            ));
        }
    }
    for (check, lines) in [(Check::Values, wrong), (Check::Certificates, broken)] {
        if !lines.is_empty() {
            verified.add(check, experiment, in_short(&lines));
        }
    }
}

/// Returns whether a row belongs to the config and has a value or text, and its numbers are finite.
fn is_result(table: &Table, plan: &ExperimentPlan<'_>, row: usize) -> bool {
    let field = |column| table.field(column, row);
    let numbers =
        [columns::VALUE, columns::LOWER_BOUND, columns::GAP, columns::SECONDS, columns::PEAK_MB];
    let finite = numbers.iter().all(|column| {
        field(column).is_empty() || table.number(column, row).is_some_and(f64::is_finite)
    });
    field(columns::EXPERIMENT) == plan.config.experiment
        && field(columns::SEED) == plan.config.seed.to_string()
        && !(field(columns::VALUE).is_empty() && field(columns::TEXT).is_empty())
        && finite
}

/// Returns whether the bound is at most the value, and the gap is their relative distance.
fn holds(value: f64, lower_bound: Option<f64>, gap: Option<f64>) -> bool {
    let below = lower_bound.is_none_or(|bound| bound <= value * (1.0 + ROUNDING));
    let distance =
        lower_bound.filter(|bound| *bound > 0.0).map(|bound| (value / bound - 1.0).max(0.0));
    let consistent = match (gap, distance) {
        (Some(gap), Some(distance)) => (gap - distance).abs() <= ROUNDING * (1.0 + distance),
        _ => true,
    };
    below && consistent && gap.is_none_or(|gap| gap >= 0.0)
}

/// Checks the cells of the table against those of the grid, in order.
///
/// A verified table is on real data, also if this machine has only stand-ins.
fn cells(table: &Table, plan: &ExperimentPlan<'_>, verified: &mut Verified) {
    let part = |label| format!("/{}={label}/", columns::DATA);
    let on_real_data = |address: &str| address.replacen(&part(STAND_IN), &part(REAL), 1);
    let expected: Vec<String> = plan.cells.iter().map(|cell| on_real_data(&cell.address)).collect();
    let mut found: Vec<&str> = table.fields(columns::CELL).collect();
    found.dedup();
    if found == expected {
        return;
    }
    let known: HashSet<&str> = expected.iter().map(String::as_str).collect();
    let there: HashSet<&str> = found.iter().copied().collect();
    let missing: Vec<String> =
        expected.iter().filter(|cell| !there.contains(cell.as_str())).cloned().collect();
    let others: Vec<String> =
        found.iter().filter(|cell| !known.contains(*cell)).map(|cell| (*cell).to_owned()).collect();
    let mut parts = Vec::new();
    for (what, cells) in [("missing", missing), ("not in the grid", others)] {
        if let Some(first) = cells.first() {
            parts.push(format!("{} {what}, such as {first}", cells.len()));
        }
    }
    let found = if parts.is_empty() {
        "another order, or a repeated cell".to_owned()
    } else {
        parts.join("; ")
    };
    verified.add(Check::Cells, &plan.config.experiment, found);
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn certificate_is_a_bound_below_its_value_and_their_distance() {
        assert!(holds(3.0, Some(2.0), Some(0.5)));
        assert!(holds(2.0, Some(2.0 * (1.0 + 5e-10)), Some(0.0)), "rounding");
        assert!(
            holds(3.0, Some(2.0), None)
                && holds(3.0, None, Some(0.1))
                && holds(3.0, Some(0.0), Some(0.1))
        );
        assert!(!holds(2.0, Some(2.0 * (1.0 + 2e-9)), Some(0.0)), "above its value");
        assert!(!holds(3.0, Some(2.0), Some(0.5 + 1e-6)), "another distance");
        assert!(!holds(3.0, None, Some(-1e-12)) && !holds(f64::NAN, Some(1.0), None));
    }
}
