//! Prefix sums.

use ndarray::Array2;

use super::{QueryFamily, Rows, by_entries, indicator};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::PREFIX`](super::Family::PREFIX).
#[derive(Debug)]
pub(super) struct Prefix;

impl QueryFamily for Prefix {
    fn name(&self) -> &'static str {
        "prefix"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact(sizes[0] as u128)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        by_entries(n, |i, j| (n - i.max(j)) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        Ok(Box::new((0..n).map(move |c| indicator(n, |cell| cell <= c))))
    }
}
