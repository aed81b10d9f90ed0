//! All 0/1 queries.

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::query_family::{QueryFamily, Rows};
use crate::error::{Error, Result};
use crate::workload::QueryCount;

/// Minimum cells at which queries have the weight 2^(−n/2).
const MIN_SCALED_CELLS: usize = 513;

/// Maximum cells to enumerate the queries: 2³⁰ queries.
const MAX_CELLS_BY_ROW: usize = 30;

/// Maximum cells of a normalised Gram matrix: its entries stay below 2¹⁰⁰⁰.
const MAX_CELLS_NORMALISED: usize = 1000;

/// [`Family::PREDICATE`](super::Family::PREDICATE).
#[derive(Debug)]
pub(super) struct Predicate;

impl QueryFamily for Predicate {
    fn name(&self) -> &'static str {
        "predicate"
    }

    fn needs_order(&self) -> bool {
        false
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::power_of_two(sizes[0])
    }

    fn query_weight(&self, sizes: &[usize]) -> f64 {
        if sizes[0] >= MIN_SCALED_CELLS { (-(sizes[0] as f64) / 2.0).exp2() } else { 1.0 }
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        // Scaled in one exponent, because 2^(n−2) may overflow.
        let off = if n >= MIN_SCALED_CELLS { 0.25 } else { (n as f64 - 2.0).exp2() };
        by_entries(n, |i, j| if i == j { 2.0 * off } else { off })
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        if n > MAX_CELLS_BY_ROW {
            let remedy = "use a sample: predicate-sample(queries=2000):N";
            let (what, limit) = (format!("predicate:{n} row by row"), MAX_CELLS_BY_ROW as f64);
            return Err(Error::too_large(what, "cells", limit, n as f64, remedy));
        }
        Ok(Box::new((0u64..1 << n).map(move |bits| indicator(n, |cell| bits >> cell & 1 == 1))))
    }

    /// The diagonal is `Σ_k C(n−1, k−1)/k = (2ⁿ − 1)/n`. The other entries are equal, and every row
    /// sums to `Σ_k C(n−1, k−1) = 2^(n−1)`.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        let n = sizes[0];
        if n > MAX_CELLS_NORMALISED {
            let what = format!("Gram matrix of normalised(predicate:{n})");
            return Err(Error::too_large(
                what,
                "cells",
                MAX_CELLS_NORMALISED as f64,
                n as f64,
                "use a sample: predicate-sample(queries=2000):N",
            ));
        }
        let count = n as f64;
        let on = (count.exp2() - 1.0) / count;
        let off = if n > 1 { ((count - 1.0).exp2() - on) / (count - 1.0) } else { 0.0 };
        Ok(by_entries(n, |i, j| if i == j { on } else { off }))
    }
}
