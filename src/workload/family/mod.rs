//! Query families: rows by rule, Gram matrices in closed form. One file per family.

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
use crate::error::{Error, Result};

/// Queries by rule on one attribute, or on two jointly. To add a family, implement this in a file
/// of its own and add it to [`Family::ALL`]; outside this crate, [`Family::of`] makes a family of
/// it.
///
/// Cells are 0-based and row-major; `sizes` holds [`arity`](Self::arity) positive numbers, which
/// [`Family`] has checked.
pub trait QueryFamily: fmt::Debug + Send + Sync {
    /// The name used in workload strings, workload files and configs; families of one name are the
    /// same.
    fn name(&self) -> &'static str;

    /// How many attributes the family spans: 1 or 2.
    fn arity(&self) -> usize {
        1
    }

    /// Whether the queries mean something only if the attribute's values have an order.
    fn needs_order(&self) -> bool {
        true
    }

    /// The number of queries.
    fn count(&self, sizes: &[usize]) -> QueryCount;

    /// The weight that every query carries.
    fn query_weight(&self, _sizes: &[usize]) -> f64 {
        1.0
    }

    /// The Gram matrix `WᵀW` in closed form, O(cells²): from its formula entry by entry, never from
    /// the rows, which are the oracle that tests compare it with.
    fn gram(&self, sizes: &[usize]) -> Array2<f64>;

    /// The queries one by one, each over the family's cells. Lazy: O(cells) memory.
    ///
    /// # Errors
    /// Too many queries to go through one by one.
    fn rows(&self, sizes: &[usize]) -> Result<Rows>;

    /// The answers of the queries on every lane, block by block and in each block query by query.
    /// From the rows, O(queries · cells) per lane, unless a family knows better.
    ///
    /// # Errors
    /// Too many queries to go through one by one.
    fn answers(&self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        Ok(lanes.by_rows(self.rows(sizes)?))
    }

    /// The Gram matrix of the queries scaled to unit length, `Σ_q qᵀq/|q|²`. From the rows,
    /// O(queries · cells²), unless a family knows better.
    ///
    /// # Errors
    /// Too many queries to go through one by one, or numbers that overflow.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        Ok(super::normalised::from_rows(sizes.iter().product(), self.rows(sizes)?))
    }
}

/// Queries one by one, each over the cells of a box.
pub type Rows = Box<dyn Iterator<Item = Vec<f64>>>;

/// A family of queries, by its name.
#[derive(Clone, Copy)]
pub struct Family(&'static dyn QueryFamily);

impl Family {
    /// One query per cell.
    pub const IDENTITY: Family = Family(&identity::Identity);
    /// The one query that sums all cells.
    pub const TOTAL: Family = Family(&total::Total);
    /// `1{j ≤ c}` for c = 0 … n−1.
    pub const PREFIX: Family = Family(&prefix::Prefix);
    /// The empirical distribution function: the same queries as [`Family::PREFIX`] under the name
    /// S2 uses.
    pub const CDF: Family = Family(&cdf::Cdf);
    /// `1{s ≤ j ≤ e}` for all s ≤ e.
    pub const RANGE: Family = Family(&range::Range);
    /// Ranges that may wrap around: all (start, length 1 … n); the full vector comes n times.
    pub const CIRCULAR: Family = Family(&circular::Circular);
    /// `1{i + j ≤ c}` for c = 0 … a+b−2, on a pair of attributes.
    pub const AFFINE: Family = Family(&affine::Affine);
    /// `1{|i − j| ≤ c}` for c = 0 … max(a,b)−1, on a pair of attributes.
    pub const ABS: Family = Family(&abs::Abs);
    /// All 2ⁿ predicates, i.e. all 0/1 queries (S1: AllPredicate). For n > 512 every query is
    /// scaled by 2^(−n/2), which keeps total errors inside an f64 and changes no ratio.
    pub const PREDICATE: Family = Family(&predicate::Predicate);

    /// All families, in the order of the documentation: the one list of them.
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

    /// A family of your own. Its name must be its own too.
    pub const fn of(family: &'static dyn QueryFamily) -> Self {
        Family(family)
    }

    /// The family of [`Family::ALL`] with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// [`QueryFamily::name`].
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// [`QueryFamily::arity`].
    pub fn arity(self) -> usize {
        self.0.arity()
    }

    /// [`QueryFamily::needs_order`].
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

    /// The number of queries.
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn count(self, sizes: &[usize]) -> Result<QueryCount> {
        self.check(sizes)?;
        Ok(self.0.count(sizes))
    }

    /// The weight that every query of the family carries: 1, except for huge [`Family::PREDICATE`]
    /// workloads.
    pub fn query_weight(self, sizes: &[usize]) -> f64 {
        self.0.query_weight(sizes)
    }

    /// The Gram matrix `WᵀW` in closed form, O(cells²).
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        Ok(self.0.gram(sizes))
    }

    /// The queries one by one, each over the family's cells. Lazy: O(cells) memory.
    ///
    /// # Errors
    /// The sizes do not fit the family, or AllPredicate over more than 30 cells is asked for row by
    /// row.
    pub fn rows(self, sizes: &[usize]) -> Result<Rows> {
        self.check(sizes)?;
        self.0.rows(sizes)
    }

    /// [`QueryFamily::answers`].
    ///
    /// # Errors
    /// The sizes do not fit the family, or as there.
    pub fn answers(self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        self.check(sizes)?;
        self.0.answers(sizes, lanes)
    }

    /// [`QueryFamily::normalised_gram`].
    ///
    /// # Errors
    /// The sizes do not fit the family, or as there.
    pub fn normalised_gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        self.0.normalised_gram(sizes)
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

/// The symmetric matrix with these entries.
fn by_entries(n: usize, entry: impl Fn(usize, usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| entry(i, j))
}

/// The 0/1 query of the cells below `n` that `holds` says.
fn indicator(n: usize, holds: impl Fn(usize) -> bool) -> Vec<f64> {
    (0..n).map(|cell| f64::from(u8::from(holds(cell)))).collect()
}

/// A query over `cells` cells in rows of `b`: one on a span of every row, zero elsewhere.
fn in_each_row(cells: usize, b: usize, span: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<f64> {
    let mut query = vec![0.0; cells];
    for (i, row) in query.chunks_exact_mut(b).enumerate() {
        row[span(i)].fill(1.0);
    }
    query
}
