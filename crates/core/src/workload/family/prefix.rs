//! Prefix sums.

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::{Lanes, QueryCount, Recurrence};

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

    fn answers(&self, _sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        Ok(lanes.prefix_sums().flat_map(|sums| sums.into_iter().skip(lanes.inner())).collect())
    }

    /// The queries that contain cells i and j have squared norms max(i, j) + 1, …, n.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        let n = sizes[0];
        let mut tails = vec![0.0; n + 1];
        (0..n).rev().for_each(|c| tails[c] = tails[c + 1] + 1.0 / (c + 1) as f64);
        Ok(by_entries(n, |i, j| tails[i.max(j)]))
    }

    /// `y_k = y_{k−1} + x_k`.
    fn recurrence(&self, sizes: &[usize]) -> Option<Recurrence> {
        Recurrence::of_queries(sizes[0], |_| (1.0, 1.0))
    }
}
