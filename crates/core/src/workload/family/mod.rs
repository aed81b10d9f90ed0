//! Query families, with Gram matrices in closed form. One file per family.

mod abs;
mod affine;
mod cdf;
mod circular;
mod identity;
mod predicate;
mod prefix;
mod range;
mod total;

use std::fmt;
use std::hash::{Hash, Hasher};

use ndarray::Array2;

use super::answers::Lanes;
use super::count::QueryCount;
use super::recurrence::Recurrence;
use crate::error::{Error, Result};

/// A family of queries on one attribute, or on a pair of attributes.
///
/// To add a family, implement this trait in a new file and add the family to [`Family::ALL`].
/// Outside this crate, use [`Family::of`].
///
/// Cells are 0-based and row-major. `sizes` holds [`arity`](Self::arity) positive numbers, checked
/// by [`Family`].
pub trait QueryFamily: fmt::Debug + Send + Sync {
    /// Returns the unique name in workload strings, workload files and configs.
    fn name(&self) -> &'static str;

    /// Returns the number of attributes of the family: 1 or 2.
    fn arity(&self) -> usize {
        1
    }

    /// Returns whether the queries need an attribute with ordered values.
    fn needs_order(&self) -> bool {
        true
    }

    /// Returns the number of queries.
    fn count(&self, sizes: &[usize]) -> QueryCount;

    /// Returns the common weight of the queries.
    fn query_weight(&self, _sizes: &[usize]) -> f64 {
        1.0
    }

    /// Computes the Gram matrix `WᵀW` in closed form, O(cells²). Must not use the rows, which tests
    /// compare it with.
    fn gram(&self, sizes: &[usize]) -> Array2<f64>;

    /// Iterates over the queries, each over the family's cells, in O(cells) memory.
    ///
    /// # Errors
    /// Too many queries to enumerate.
    fn rows(&self, sizes: &[usize]) -> Result<Rows>;

    /// Answers the queries on every lane, ordered by block, then by query.
    ///
    /// By default from the rows, O(queries · cells) per lane.
    ///
    /// # Errors
    /// Too many queries to enumerate.
    fn answers(&self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        Ok(lanes.by_rows(self.rows(sizes)?))
    }

    /// Computes the Gram matrix of the queries scaled to unit length, `Σ_q qᵀq/|q|²`.
    ///
    /// By default from the rows, O(queries · cells²).
    ///
    /// # Errors
    /// Too many queries to enumerate, too many cells for a dense matrix, or numbers that overflow.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        super::normalised::from_rows(sizes.iter().product(), self.rows(sizes)?)
    }

    /// Returns the first-order recurrence with the family's Gram matrix; by default none.
    fn recurrence(&self, _sizes: &[usize]) -> Option<Recurrence> {
        None
    }
}

/// An iterator over queries, each a row over the cells of a box.
pub type Rows = Box<dyn Iterator<Item = Vec<f64>>>;

/// A query family. Families with equal names are equal.
#[derive(Clone, Copy)]
pub struct Family(&'static dyn QueryFamily);

impl Family {
    /// One query per cell.
    pub const IDENTITY: Family = Family(&identity::Identity);
    /// The sum of all cells.
    pub const TOTAL: Family = Family(&total::Total);
    /// `1{j ≤ c}` for c = 0 … n−1.
    pub const PREFIX: Family = Family(&prefix::Prefix);
    /// The empirical distribution function: [`Family::PREFIX`] under the name of S2.
    pub const CDF: Family = Family(&cdf::Cdf);
    /// `1{s ≤ j ≤ e}` for all s ≤ e.
    pub const RANGE: Family = Family(&range::Range);
    /// Ranges that may wrap around: every start with every length 1 … n, so the total occurs n
    /// times.
    pub const CIRCULAR: Family = Family(&circular::Circular);
    /// `1{i + j ≤ c}` for c = 0 … a+b−2, on a pair of attributes.
    pub const AFFINE: Family = Family(&affine::Affine);
    /// `1{|i − j| ≤ c}` for c = 0 … max(a,b)−1, on a pair of attributes.
    pub const ABS: Family = Family(&abs::Abs);
    /// All 2ⁿ predicates, i.e. all 0/1 queries (S1: AllPredicate). For n > 512 every query is
    /// scaled by 2^(−n/2), so that total errors fit an f64; ratios are unchanged.
    pub const PREDICATE: Family = Family(&predicate::Predicate);

    /// All families of the library.
    pub const ALL: &'static [Family] = &[
        Self::IDENTITY,
        Self::TOTAL,
        Self::PREFIX,
        Self::CDF,
        Self::RANGE,
        Self::CIRCULAR,
        Self::AFFINE,
        Self::ABS,
        Self::PREDICATE,
    ];

    /// Creates a family outside the library. Its name must be unique.
    pub const fn of(family: &'static dyn QueryFamily) -> Self {
        Family(family)
    }

    /// Returns the family of [`Family::ALL`] with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// Returns [`QueryFamily::name`].
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns [`QueryFamily::arity`].
    pub fn arity(self) -> usize {
        self.0.arity()
    }

    /// Returns [`QueryFamily::needs_order`].
    pub fn needs_order(self) -> bool {
        self.0.needs_order()
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

    /// Returns the number of queries.
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn count(self, sizes: &[usize]) -> Result<QueryCount> {
        self.check(sizes)?;
        Ok(self.0.count(sizes))
    }

    /// Returns the common weight of the queries: 1, except for large [`Family::PREDICATE`]
    /// workloads.
    pub fn query_weight(self, sizes: &[usize]) -> f64 {
        self.0.query_weight(sizes)
    }

    /// Computes the Gram matrix `WᵀW` in closed form, O(cells²).
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        Ok(self.0.gram(sizes))
    }

    /// Iterates over the queries, each over the family's cells, in O(cells) memory.
    ///
    /// # Errors
    /// The sizes do not fit the family, or AllPredicate over more than 30 cells.
    pub fn rows(self, sizes: &[usize]) -> Result<Rows> {
        self.check(sizes)?;
        self.0.rows(sizes)
    }

    /// Computes [`QueryFamily::answers`].
    ///
    /// # Errors
    /// The sizes do not fit the family, and as [`QueryFamily::answers`].
    pub fn answers(self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        self.check(sizes)?;
        self.0.answers(sizes, lanes)
    }

    /// Computes [`QueryFamily::normalised_gram`].
    ///
    /// # Errors
    /// The sizes do not fit the family, and as [`QueryFamily::normalised_gram`].
    pub fn normalised_gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        self.0.normalised_gram(sizes)
    }

    /// Computes [`QueryFamily::recurrence`].
    pub(super) fn recurrence(self, sizes: &[usize]) -> Option<Recurrence> {
        self.0.recurrence(sizes)
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Family {}

impl Hash for Family {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the n × n matrix with these entries.
fn by_entries(n: usize, entry: impl Fn(usize, usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| entry(i, j))
}

/// Returns the 0/1 query over `n` cells of the cells that satisfy a predicate.
fn indicator(n: usize, contains: impl Fn(usize) -> bool) -> Vec<f64> {
    (0..n).map(|cell| f64::from(u8::from(contains(cell)))).collect()
}

/// Returns the 0/1 query over `cells` cells in rows of length `b` with the cells `span(i)` of
/// row i.
fn in_each_row(cells: usize, b: usize, span: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<f64> {
    let mut query = vec![0.0; cells];
    for (i, row) in query.chunks_exact_mut(b).enumerate() {
        row[span(i)].fill(1.0);
    }
    query
}
