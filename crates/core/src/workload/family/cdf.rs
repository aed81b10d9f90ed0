//! The empirical distribution function: prefix sums under the name of S2.

use ndarray::Array2;

use super::prefix::Prefix;
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::{Lanes, QueryCount, Recurrence};

/// [`Family::CDF`](super::Family::CDF).
#[derive(Debug)]
pub(super) struct Cdf;

impl QueryFamily for Cdf {
    fn name(&self) -> &'static str {
        "cdf"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        Prefix.count(sizes)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        Prefix.gram(sizes)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        Prefix.rows(sizes)
    }

    fn answers(&self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        Prefix.answers(sizes, lanes)
    }

    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        Prefix.normalised_gram(sizes)
    }

    fn recurrence(&self, sizes: &[usize]) -> Option<Recurrence> {
        Prefix.recurrence(sizes)
    }
}
