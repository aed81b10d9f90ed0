//! All intervals.

use ndarray::Array2;

use super::{QueryFamily, Rows, by_entries, indicator};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::RANGE`](super::Family::RANGE).
#[derive(Debug)]
pub(super) struct Range;

impl QueryFamily for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        let n = sizes[0] as u128;
        QueryCount::exact(n * (n + 1) / 2)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        by_entries(n, |i, j| (i.min(j) + 1) as f64 * (n - i.max(j)) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        let from = move |s: usize| (s..n).map(move |e| indicator(n, |cell| s <= cell && cell <= e));
        Ok(Box::new((0..n).flat_map(from)))
    }
}
