//! A workload family: suffix sums.

use matmech::Result;
use matmech::workload::{Family, QueryCount, QueryFamily, Rows};
use ndarray::Array2;

/// The suffix family. In the library, such a constant is in `Family` and in `Family::ALL`.
pub const SUFFIX: Family = Family::of(&Suffix);

/// The queries `1{j ≥ c}` for c = 0 … n−1.
#[derive(Debug)]
struct Suffix;

impl QueryFamily for Suffix {
    fn name(&self) -> &'static str {
        "suffix"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact(sizes[0] as u128)
    }

    /// Cells i and j are both in the queries c ≤ min(i, j).
    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((sizes[0], sizes[0]), |(i, j)| (i.min(j) + 1) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        Ok(Box::new((0..n).map(move |c| (0..n).map(|j| if j >= c { 1.0 } else { 0.0 }).collect())))
    }
}
