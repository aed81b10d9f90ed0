//! Query families: rows by rule, Gram matrices in closed form.

use ndarray::Array2;

use super::count::QueryCount;
use crate::error::{Error, Result};

/// A family of queries on one attribute (or on two jointly, for [`Family::Affine`] and [`Family::Abs`]).
///
/// Cells are 0-based; `n` is the attribute's size, `a × b` the sizes of a pair. Every Gram is written down entry by entry
/// from its formula, O(cells²), and never from the rows; [`Family::rows`] is the oracle that tests compare it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// One query per cell.
    Identity,
    /// The one query that sums all cells.
    Total,
    /// `1{j ≤ c}` for c = 0 … n−1.
    Prefix,
    /// The empirical distribution function: the same queries as [`Family::Prefix`] under the name S2 uses.
    Cdf,
    /// `1{s ≤ j ≤ e}` for all s ≤ e.
    Range,
    /// Ranges that may wrap around: all (start, length 1 … n); the full vector comes n times.
    Circular,
    /// `1{i + j ≤ c}` for c = 0 … a+b−2, on a pair of attributes.
    Affine,
    /// `1{|i − j| ≤ c}` for c = 0 … max(a,b)−1, on a pair of attributes.
    Abs,
    /// All 2ⁿ predicates, i.e. all 0/1 queries (S1: AllPredicate). For n > 512 every query is scaled by 2^(−n/2), which
    /// keeps total errors inside an f64 and changes no ratio.
    Predicate,
}

/// From this size on the queries of [`Family::Predicate`] carry the weight 2^(−n/2).
const PREDICATE_SCALED_FROM: usize = 513;

impl Family {
    /// All families, in the order of the documentation.
    pub const ALL: [Family; 9] = [
        Family::Identity,
        Family::Total,
        Family::Prefix,
        Family::Cdf,
        Family::Range,
        Family::Circular,
        Family::Affine,
        Family::Abs,
        Family::Predicate,
    ];

    /// The name used in workload strings and configs.
    pub fn name(self) -> &'static str {
        match self {
            Family::Identity => "identity",
            Family::Total => "total",
            Family::Prefix => "prefix",
            Family::Cdf => "cdf",
            Family::Range => "range",
            Family::Circular => "circular",
            Family::Affine => "affine",
            Family::Abs => "abs",
            Family::Predicate => "predicate",
        }
    }

    /// How many attributes the family spans: 1, or 2 for the joint ones.
    pub fn arity(self) -> usize {
        match self {
            Family::Affine | Family::Abs => 2,
            _ => 1,
        }
    }

    fn check(self, sizes: &[usize]) -> Result<()> {
        if sizes.len() != self.arity() || sizes.contains(&0) {
            return Err(Error::bad_input(
                format!("family `{}`", self.name()),
                format!("{} positive size(s)", self.arity()),
                format!("{sizes:?}"),
                "give one size per attribute, e.g. range:64 or affine:20x20",
            ));
        }
        Ok(())
    }

    /// The number of queries.
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn count(self, sizes: &[usize]) -> Result<QueryCount> {
        self.check(sizes)?;
        let n = sizes[0] as u128;
        Ok(match self {
            Family::Identity | Family::Prefix | Family::Cdf => QueryCount::exact(n),
            Family::Total => QueryCount::exact(1),
            Family::Range => QueryCount::exact(n * (n + 1) / 2),
            Family::Circular => QueryCount::exact(n * n),
            Family::Affine => QueryCount::exact((sizes[0] + sizes[1] - 1) as u128),
            Family::Abs => QueryCount::exact(sizes[0].max(sizes[1]) as u128),
            Family::Predicate => QueryCount::power_of_two(sizes[0]),
        })
    }

    /// The weight that every query of the family carries: 1, except for huge [`Family::Predicate`] workloads.
    pub fn query_weight(self, sizes: &[usize]) -> f64 {
        match (self, sizes) {
            (Family::Predicate, [n]) if *n >= PREDICATE_SCALED_FROM => (-(*n as f64) / 2.0).exp2(),
            _ => 1.0,
        }
    }

    /// The Gram matrix `WᵀW` in closed form, O(cells²).
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        let n: usize = sizes.iter().product();
        let by = |f: &dyn Fn(usize, usize) -> f64| Array2::from_shape_fn((n, n), |(i, j)| f(i, j));
        Ok(match self {
            Family::Identity => Array2::eye(n),
            Family::Total => Array2::ones((n, n)),
            Family::Prefix | Family::Cdf => by(&|i, j| (n - i.max(j)) as f64),
            Family::Range => by(&|i, j| (i.min(j) + 1) as f64 * (n - i.max(j)) as f64),
            // Arcs through i and j of length < n go one way round or the other; those of length n contain both.
            Family::Circular => by(&|i, j| {
                let d = i.abs_diff(j);
                ((n - d) * (n - d + 1) / 2 + d * (d + 1) / 2) as f64
            }),
            Family::Affine => {
                let b = sizes[1];
                let thresholds = sizes[0] + b - 1;
                by(&|i, j| (thresholds - (i / b + i % b).max(j / b + j % b)) as f64)
            }
            Family::Abs => {
                let b = sizes[1];
                let thresholds = sizes[0].max(b);
                by(&|i, j| (thresholds - (i / b).abs_diff(i % b).max((j / b).abs_diff(j % b))) as f64)
            }
            Family::Predicate => {
                let off = self.query_weight(sizes).powi(2) * (n as f64 - 2.0).exp2();
                // The scaled form in one exponent, because 2^(n−2) alone may overflow.
                let off = if n >= PREDICATE_SCALED_FROM { 0.25 } else { off };
                by(&|i, j| if i == j { 2.0 * off } else { off })
            }
        })
    }

    /// The queries one by one, each over the family's cells. Lazy: O(cells) memory.
    ///
    /// # Errors
    /// The sizes do not fit the family, or AllPredicate over more than 30 cells is asked for row by row.
    pub fn rows(self, sizes: &[usize]) -> Result<Box<dyn Iterator<Item = Vec<f64>>>> {
        self.check(sizes)?;
        let n: usize = sizes.iter().product();
        let b = *sizes.last().unwrap_or(&1);
        let indicator = move |f: Box<dyn Fn(usize) -> bool>| -> Vec<f64> {
            (0..n).map(|cell| if f(cell) { 1.0 } else { 0.0 }).collect()
        };
        Ok(match self {
            Family::Identity => Box::new((0..n).map(move |c| indicator(Box::new(move |cell| cell == c)))),
            Family::Total => Box::new(std::iter::once(vec![1.0; n])),
            Family::Prefix | Family::Cdf => Box::new((0..n).map(move |c| indicator(Box::new(move |cell| cell <= c)))),
            Family::Range => Box::new(
                (0..n).flat_map(move |s| (s..n).map(move |e| indicator(Box::new(move |cell| s <= cell && cell <= e)))),
            ),
            Family::Circular => Box::new((0..n).flat_map(move |s| {
                (1..=n).map(move |length| indicator(Box::new(move |cell| (cell + n - s) % n < length)))
            })),
            // Their cells in a row of the box are contiguous.
            Family::Affine => {
                Box::new((0..sizes[0] + b - 1).map(move |c| in_each_row(n, b, |i| 0..(c + 1).saturating_sub(i).min(b))))
            }
            Family::Abs => Box::new(
                (0..sizes[0].max(b))
                    .map(move |c| in_each_row(n, b, |i| i.saturating_sub(c).min(b)..(i + c + 1).min(b))),
            ),
            Family::Predicate => {
                if n > 30 {
                    let remedy = "use its Gram matrix, or a sample: predicate-sample(queries=2000):N";
                    return Err(Error::too_large(format!("predicate:{n} row by row"), "cells", 30.0, n as f64, remedy));
                }
                Box::new((0u64..1 << n).map(move |bits| indicator(Box::new(move |cell| bits >> cell & 1 == 1))))
            }
        })
    }
}

/// A query over `cells` cells in rows of `b`: one on a span of every row, zero elsewhere.
fn in_each_row(cells: usize, b: usize, span: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<f64> {
    let mut query = vec![0.0; cells];
    for (i, row) in query.chunks_exact_mut(b).enumerate() {
        row[span(i)].fill(1.0);
    }
    query
}
