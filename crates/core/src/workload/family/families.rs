//! The families of the library.

use std::fmt;
use std::hash::{Hash, Hasher};

use ndarray::Array2;

use super::nodes::Nodes;
use super::query_family::{QueryFamily, Rows};
use super::{abs, affine, cdf, circular, extra_cells, identity, predicate, prefix, range, total};
use crate::counted::counted;
use crate::error::{Error, Result};
use crate::workload::count::QueryCount;
use crate::workload::lanes::Lanes;
use crate::workload::recurrence::Recurrence;

/// A query family, on attributes with some last cells outside their order. Families with equal
/// names, as many of these cells and the same hierarchy or rows are equal.
#[derive(Clone, Copy)]
pub struct Family {
    family: &'static dyn QueryFamily,
    extra: usize,
}

impl Family {
    /// One query per cell.
    pub const IDENTITY: Family = Family::of(&identity::Identity);
    /// The sum of all cells.
    pub const TOTAL: Family = Family::of(&total::Total);
    /// `1{j ≤ c}` for c = 0 … n−1.
    pub const PREFIX: Family = Family::of(&prefix::Prefix);
    /// The empirical distribution function: [`Family::PREFIX`] under the name of S2.
    pub const CDF: Family = Family::of(&cdf::Cdf);
    /// `1{s ≤ j ≤ e}` for all s ≤ e.
    pub const RANGE: Family = Family::of(&range::Range);
    /// Ranges that may wrap around: every start with every length 1 … n, so the total occurs n
    /// times.
    pub const CIRCULAR: Family = Family::of(&circular::Circular);
    /// `1{i + j ≤ c}` for c = 0 … a+b−2, on a pair of attributes.
    pub const AFFINE: Family = Family::of(&affine::Affine);
    /// `1{|i − j| ≤ c}` for c = 0 … max(a,b)−1, on a pair of attributes.
    pub const ABS: Family = Family::of(&abs::Abs);
    /// All 2ⁿ predicates, i.e. all 0/1 queries (S1: AllPredicate). For n > 512 every query is
    /// scaled by 2^(−n/2), so that total errors fit an f64; ratios are unchanged.
    pub const PREDICATE: Family = Family::of(&predicate::Predicate);

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
        Family { family, extra: 0 }
    }

    /// Returns the family on attributes whose last `extra` cells are outside their order: its queries
    /// on the other cells, and one query per extra cell. A family that needs no order is unchanged.
    #[must_use]
    pub fn with_extra_cells(self, extra: usize) -> Self {
        if self.needs_order() { Family { extra, ..self } } else { self }
    }

    /// Returns the number of last cells outside the order.
    pub fn extra_cells(self) -> usize {
        self.extra
    }

    /// Returns the family of [`Family::ALL`] with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// Returns [`QueryFamily::name`].
    pub fn name(self) -> &'static str {
        self.family.name()
    }

    /// Returns [`QueryFamily::arity`].
    pub fn arity(self) -> usize {
        self.family.arity()
    }

    /// Returns [`QueryFamily::needs_order`].
    pub fn needs_order(self) -> bool {
        self.family.needs_order()
    }

    /// Returns [`QueryFamily::nodes`].
    pub fn nodes(self) -> Option<&'static Nodes> {
        self.family.nodes()
    }

    /// Returns [`QueryFamily::key`].
    pub fn key(self) -> usize {
        self.family.key()
    }

    fn check(self, sizes: &[usize]) -> Result<()> {
        let only = self.family.size();
        let has_cells = sizes.iter().all(|&size| size > self.extra);
        if sizes.len() != self.arity()
            || !has_cells
            || (self.extra > 0 && self.arity() > 1)
            || only.is_some_and(|n| [n] != *sizes)
        {
            return Err(Error::bad_input(
                format!("family `{}`", self.name()),
                match only {
                    Some(n) if self.nodes().is_some() => {
                        format!("the size {n}, the leaves of its hierarchy")
                    }
                    Some(n) => format!("the size {n}, the cells of its rows"),
                    None => {
                        format!("{} above {}", counted(self.arity(), ["size", "sizes"]), self.extra)
                    }
                },
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
        Ok(match self.extra {
            0 => self.family.count(sizes),
            extra => extra_cells::count(self.family, sizes[0], extra),
        })
    }

    /// Returns the common weight of the queries: 1, except for large [`Family::PREDICATE`]
    /// workloads.
    pub fn query_weight(self, sizes: &[usize]) -> f64 {
        self.family.query_weight(sizes)
    }

    /// Computes the Gram matrix `WᵀW` in closed form, O(cells²).
    ///
    /// # Errors
    /// The sizes do not fit the family.
    pub fn gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        Ok(match self.extra {
            0 => self.family.gram(sizes),
            extra => extra_cells::with_identity(self.family.gram(&[sizes[0] - extra]), extra),
        })
    }

    /// Iterates over the queries, each over the family's cells, in O(cells) memory.
    ///
    /// # Errors
    /// The sizes do not fit the family, or AllPredicate over more than 30 cells.
    pub fn rows(self, sizes: &[usize]) -> Result<Rows> {
        self.check(sizes)?;
        match self.extra {
            0 => self.family.rows(sizes),
            extra => extra_cells::rows(self.family, sizes[0], extra),
        }
    }

    /// Computes [`QueryFamily::answers`].
    ///
    /// # Errors
    /// The sizes do not fit the family, and as [`QueryFamily::answers`].
    pub fn answers(self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        self.check(sizes)?;
        match self.extra {
            0 => self.family.answers(sizes, lanes),
            extra => extra_cells::answers(self.family, sizes[0], extra, lanes),
        }
    }

    /// Computes [`QueryFamily::normalised_gram`].
    ///
    /// # Errors
    /// The sizes do not fit the family, and as [`QueryFamily::normalised_gram`].
    pub fn normalised_gram(self, sizes: &[usize]) -> Result<Array2<f64>> {
        self.check(sizes)?;
        Ok(match self.extra {
            0 => self.family.normalised_gram(sizes)?,
            extra => {
                let ordered = self.family.normalised_gram(&[sizes[0] - extra])?;
                extra_cells::with_identity(ordered, extra)
            }
        })
    }

    /// Computes [`QueryFamily::recurrence`]; none with cells outside the order.
    pub(in crate::workload) fn recurrence(self, sizes: &[usize]) -> Option<Recurrence> {
        if self.extra == 0 { self.family.recurrence(sizes) } else { None }
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.extra, self.key()) == (other.name(), other.extra, other.key())
    }
}

impl Eq for Family {}

impl Hash for Family {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name(), self.extra, self.key()).hash(state);
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extra {
            0 => f.write_str(self.name()),
            extra => {
                let cells = counted(extra, ["extra cell", "extra cells"]);
                write!(f, "{} and {cells}", self.name())
            }
        }
    }
}
