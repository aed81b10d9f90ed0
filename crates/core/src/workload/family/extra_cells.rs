//! Families on attributes whose last cells are outside their order.
//!
//! The queries are those of the family on the other cells, and then one per extra cell:
//!
//! ```text
//! W = [ W_ordered  0 ]
//!     [ 0          I ]
//! ```

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::{Lanes, QueryCount};

pub(super) fn count(family: &dyn QueryFamily, size: usize, extra: usize) -> QueryCount {
    family.count(&[size - extra]).plus(QueryCount::exact(extra as u128))
}

/// Returns the block-diagonal matrix of `ordered` and the identity of order `extra`.
pub(super) fn with_identity(ordered: Array2<f64>, extra: usize) -> Array2<f64> {
    let n = ordered.nrows();
    by_entries(n + extra, |i, j| match i < n && j < n {
        true => ordered[[i, j]],
        false => f64::from(u8::from(i == j)),
    })
}

pub(super) fn rows(family: &dyn QueryFamily, size: usize, extra: usize) -> Result<Rows> {
    let ordered = family.rows(&[size - extra])?.map(move |mut row| {
        row.resize(size, 0.0);
        row
    });
    let extra = (size - extra..size).map(move |extra| indicator(size, |cell| cell == extra));
    Ok(Box::new(ordered.chain(extra)))
}

/// Answers the queries, ordered by block, then by query.
pub(super) fn answers(
    family: &dyn QueryFamily,
    size: usize,
    extra: usize,
    lanes: Lanes<'_>,
) -> Result<Vec<f64>> {
    let (ordered, inner) = (size - extra, lanes.inner());
    let mut out = Vec::new();
    for block in lanes.blocks() {
        let (values, others) = block.split_at(ordered * inner);
        out.extend(family.answers(&[ordered], Lanes::new(values, ordered, inner))?);
        out.extend_from_slice(others);
    }
    Ok(out)
}
