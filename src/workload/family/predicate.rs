//! All subsets of the cells.

use ndarray::Array2;

use super::{QueryFamily, Rows, by_entries, indicator};
use crate::error::{Error, Result};
use crate::workload::QueryCount;

/// From this size on the queries carry the weight 2^(−n/2).
const SCALED_FROM: usize = 513;

/// 2³⁰ queries of 30 cells are the most to go through one by one.
const MOST_BY_ROW: usize = 30;

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
        if sizes[0] >= SCALED_FROM { (-(sizes[0] as f64) / 2.0).exp2() } else { 1.0 }
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        // The scaled form in one exponent, because 2^(n−2) alone may overflow.
        let off = if n >= SCALED_FROM { 0.25 } else { (n as f64 - 2.0).exp2() };
        by_entries(n, |i, j| if i == j { 2.0 * off } else { off })
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        if n > MOST_BY_ROW {
            let remedy = "use its Gram matrix, or a sample: predicate-sample(queries=2000):N";
            let (what, limit) = (format!("predicate:{n} row by row"), MOST_BY_ROW as f64);
            return Err(Error::too_large(what, "cells", limit, n as f64, remedy));
        }
        Ok(Box::new((0u64..1 << n).map(move |bits| indicator(n, |cell| bits >> cell & 1 == 1))))
    }

    /// `Σ_k C(n−1, k−1)/k = (2ⁿ − 1)/n` on the diagonal; off it what makes the rows sum to
    /// `Σ_k C(n−1, k−1) = 2^(n−1)`.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        const MOST: usize = 1000;
        let n = sizes[0];
        if n > MOST {
            let what = format!("Gram matrix of normalised(predicate:{n})");
            return Err(Error::too_large(
                what,
                "cells",
                MOST as f64,
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
