//! One query per cell.

use ndarray::Array2;

use super::entries::indicator;
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::{Lanes, QueryCount};

/// [`Family::IDENTITY`](super::Family::IDENTITY).
#[derive(Debug)]
pub(super) struct Identity;

impl QueryFamily for Identity {
    fn name(&self) -> &'static str {
        "identity"
    }

    fn needs_order(&self) -> bool {
        false
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact(sizes[0] as u128)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        Array2::eye(sizes[0])
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        Ok(Box::new((0..n).map(move |c| indicator(n, |cell| cell == c))))
    }

    fn answers(&self, _sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        Ok(lanes.values().to_vec())
    }

    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        Ok(self.gram(sizes))
    }
}
