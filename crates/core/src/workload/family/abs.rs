//! Thresholds on the absolute difference of two attributes.

use ndarray::Array2;

use super::entries::{by_entries, in_each_row};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::ABS`](super::Family::ABS).
#[derive(Debug)]
pub(super) struct Abs;

impl QueryFamily for Abs {
    fn name(&self) -> &'static str {
        "abs"
    }

    fn arity(&self) -> usize {
        2
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact(sizes[0].max(sizes[1]) as u128)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let (a, b) = (sizes[0], sizes[1]);
        let distance = |cell: usize| (cell / b).abs_diff(cell % b);
        by_entries(a * b, |i, j| (a.max(b) - distance(i).max(distance(j))) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let (a, b) = (sizes[0], sizes[1]);
        let span = move |c: usize| move |i: usize| i.saturating_sub(c).min(b)..(i + c + 1).min(b);
        Ok(Box::new((0..a.max(b)).map(move |c| in_each_row(a * b, b, span(c)))))
    }
}
