//! The sum of all cells.

use ndarray::Array2;

use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::QueryCount;

/// [`Family::TOTAL`](super::Family::TOTAL).
#[derive(Debug)]
pub(super) struct Total;

impl QueryFamily for Total {
    fn name(&self) -> &'static str {
        "total"
    }

    fn needs_order(&self) -> bool {
        false
    }

    fn count(&self, _sizes: &[usize]) -> QueryCount {
        QueryCount::exact(1)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        Array2::ones((sizes[0], sizes[0]))
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        Ok(Box::new(std::iter::once(vec![1.0; sizes[0]])))
    }

    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        Ok(self.gram(sizes) / sizes[0] as f64)
    }
}
