//! Woodruff's interval of a quantile: the inverted interval of the distribution function.
//!
//! The excess of cell k is `T_k = N_k − pN`, with N_k the number of records up to the cell. The
//! p-quantile is in cell k if T_{k−1} < 0 ≤ T_k. Both statements are tested on one side with 2.5 %
//! each, so that the cell of the quantile is refused with at most 5 %; the interval is from the
//! first to the last cell that is not.

use super::sum::Estimated;
use crate::workload::query::{Quantile, QuantileCell};

/// Returns the quantile and its interval. `excess` are the estimates of T_k, and `lengths` the
/// one-sided lengths of their errors.
pub(super) fn estimated(
    quantile: &Quantile,
    excess: &[f64],
    lengths: &[f64],
    interval: &'static str,
) -> Estimated {
    let cells = &quantile.cells;
    let last = cells.len().saturating_sub(1);
    // T of the last cell is not negative, and T before the first one is.
    let may_be_in = |k: &usize| {
        let starts_before = *k == 0 || excess[k - 1] <= lengths[k - 1];
        starts_before && (*k == last || excess[*k] >= -lengths[*k])
    };
    let mut accepted = (0..cells.len()).filter(may_be_in);
    let first = accepted.next().unwrap_or(0);
    let end = accepted.next_back().unwrap_or(first);
    // The last excess is (1 − p)N.
    let has_records = excess.get(last).is_some_and(|excess| *excess > 0.0);
    let cell = (0..cells.len()).find(|k| excess[*k] >= 0.0).filter(|_| has_records);
    let estimate = cell.and_then(|k| {
        let before = if k == 0 {
            -quantile.share / (1.0 - quantile.share) * excess[last]
        } else {
            excess[k - 1]
        };
        inside(&cells[k], -before / (excess[k] - before))
    });
    let open = f64::INFINITY;
    Estimated {
        estimate,
        standard_error: None,
        low: Some(cells[first].low.unwrap_or(-open)),
        high: Some(cells[end].high.unwrap_or(open)),
        interval,
    }
}

/// Returns the number at a share of a cell; `None` in a cell with an open end.
fn inside(cell: &QuantileCell, share: f64) -> Option<f64> {
    let (low, high) = (cell.low?, cell.high?);
    let share = share.clamp(0.0, 1.0);
    Some(match cell.integers {
        Some(count) => low + (share * count).ceil().clamp(1.0, count) - 1.0,
        None => low + share * (high - low),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::query::{Quantity, ResolvedQuery};

    fn quantile(text: &str, keys: &str) -> Quantile {
        let schema = format!("[[attribute]]\nname = \"x\"\n{keys}\n");
        let schema = crate::schema::Schema::from_toml(&schema, "S.toml").unwrap();
        match ResolvedQuery::parse(text, &schema).unwrap().terms.remove(0).1 {
            Quantity::Quantile(quantile) => quantile,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn exact_counts_give_the_cell_of_the_quantile() {
        let real = quantile("median(x)", "kind = \"numeric\"\nedges = [0, 10, 20, 50]");
        // Counts 3, 4, 1.
        let found = estimated(&real, &[-1.0, 3.0, 4.0], &[0.0; 3], "exact");
        assert_eq!((found.low, found.high, found.estimate), (Some(10.0), Some(20.0), Some(12.5)));
        let wide = estimated(&real, &[-1.0, 3.0, 4.0], &[1.5; 3], "exact");
        assert_eq!((wide.low, wide.high), (Some(0.0), Some(20.0)));
        let integers = quantile("median(x)", "kind = \"integer\"\nedges = [0, 2, 10, 20]");
        let found = estimated(&integers, &[-1.0, 3.0, 4.0], &[0.0; 3], "exact");
        assert_eq!((found.low, found.high, found.estimate), (Some(2.0), Some(9.0), Some(3.0)));
    }

    #[test]
    fn open_ends_have_no_estimate_and_no_end() {
        let open = quantile("median(x)", "kind = \"numeric\"\nabove = true\nedges = [0, 10, 20]");
        let found = estimated(&open, &[-1.0, -0.5, 4.0], &[1.0, 1.0, 1.0], "exact");
        assert_eq!((found.low, found.high, found.estimate), (Some(0.0), Some(f64::INFINITY), None));
        let none = estimated(&open, &[0.5, -0.2, -0.1], &[9.0; 3], "exact");
        assert_eq!((none.estimate, none.low), (None, Some(0.0)));
    }
}
