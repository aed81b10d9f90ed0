//! The trait of query families.

use std::fmt;

use ndarray::Array2;

use super::nodes::Nodes;
use crate::error::Result;
use crate::workload::count::QueryCount;
use crate::workload::gram::of_unit_rows;
use crate::workload::lanes::Lanes;
use crate::workload::recurrence::Recurrence;

/// A family of queries on one attribute, or on a pair of attributes.
///
/// To add a family, implement this trait in a new file and add the family to [`Family::ALL`].
/// Outside this crate, use [`Family::of`].
///
/// Cells are 0-based and row-major. `sizes` holds [`arity`](Self::arity) positive numbers, checked
/// by [`Family`].
///
/// [`Family`]: super::Family
/// [`Family::ALL`]: super::Family::ALL
/// [`Family::of`]: super::Family::of
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

    /// Returns the nodes of a hierarchy that are the queries; by default none.
    fn nodes(&self) -> Option<&Nodes> {
        None
    }

    /// Returns the only size of an attribute that fits the queries; by default every size fits.
    fn size(&self) -> Option<usize> {
        self.nodes().map(|nodes| nodes.hierarchy().leaves())
    }

    /// Returns a number that differs between families of equal names; 0 if names are unique.
    fn key(&self) -> usize {
        self.nodes().map_or(0, |nodes| std::ptr::from_ref(nodes).addr())
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
        of_unit_rows(sizes.iter().product(), self.rows(sizes)?)
    }

    /// Returns the first-order recurrence with the family's Gram matrix; by default none.
    fn recurrence(&self, _sizes: &[usize]) -> Option<Recurrence> {
        None
    }
}

/// An iterator over queries, each a row over the cells of a box.
pub type Rows = Box<dyn Iterator<Item = Vec<f64>>>;
