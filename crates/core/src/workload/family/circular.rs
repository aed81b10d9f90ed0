//! Ranges that may wrap around.

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::CIRCULAR`](super::Family::CIRCULAR).
#[derive(Debug)]
pub(super) struct Circular;

impl QueryFamily for Circular {
    fn name(&self) -> &'static str {
        "circular"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact((sizes[0] as u128).pow(2))
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        // Ranges of length < n contain i and j on one of the two arcs between them; the n ranges
        // of length n contain both.
        by_entries(n, |i, j| {
            let d = i.abs_diff(j);
            ((n - d) * (n - d + 1) / 2 + d * (d + 1) / 2) as f64
        })
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        let from = move |s: usize| {
            (1..=n).map(move |length| indicator(n, |cell| (cell + n - s) % n < length))
        };
        Ok(Box::new((0..n).flat_map(from)))
    }
}
