//! Thresholds on the sum of two attributes.

use ndarray::Array2;

use super::entries::{by_entries, in_each_row};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::AFFINE`](super::Family::AFFINE).
#[derive(Debug)]
pub(super) struct Affine;

impl QueryFamily for Affine {
    fn name(&self) -> &'static str {
        "affine"
    }

    fn arity(&self) -> usize {
        2
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact((sizes[0] + sizes[1] - 1) as u128)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let (a, b) = (sizes[0], sizes[1]);
        let sum = |cell: usize| cell / b + cell % b;
        by_entries(a * b, |i, j| (a + b - 1 - sum(i).max(sum(j))) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let (a, b) = (sizes[0], sizes[1]);
        Ok(Box::new(
            (0..a + b - 1)
                .map(move |c| in_each_row(a * b, b, |i| 0..(c + 1).saturating_sub(i).min(b))),
        ))
    }
}
