//! Queries that are products of one row of weights per attribute.

use crate::domain::AttributeSet;
use crate::workload::WeightRange;

/// Products of rows: one query for every choice of one row per attribute.
///
/// ```text
/// q(c) = Π_a w_a(c_a),        w_a one of the rows of attribute a, over its cells
/// ```
///
/// The queries are in the order of the rows, those of the last attribute vary fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductRows {
    attributes: AttributeSet,
    rows: Vec<Vec<Vec<f64>>>,
}

impl ProductRows {
    /// Creates products from the rows of attributes, given with their positions. One row of ones is
    /// left out: the query does not depend on the attribute.
    pub(super) fn new(mut axes: Vec<(usize, Vec<Vec<f64>>)>) -> Self {
        axes.retain(|(_, rows)| rows.len() != 1 || rows[0].iter().any(|x| *x != 1.0));
        Self::over(axes)
    }

    /// Creates products from the rows of attributes, given with their positions.
    pub fn over(mut axes: Vec<(usize, Vec<Vec<f64>>)>) -> Self {
        axes.sort_by_key(|(position, _)| *position);
        let attributes = (axes.iter())
            .fold(AttributeSet::EMPTY, |set, (p, _)| set.union(AttributeSet::single(*p)));
        ProductRows { attributes, rows: axes.into_iter().map(|(_, rows)| rows).collect() }
    }

    /// Returns the attributes; none if every query is the number of records.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// Returns the rows of every attribute, in the order of the schema.
    pub fn rows(&self) -> &[Vec<Vec<f64>>] {
        &self.rows
    }

    /// Returns the number of rows of every attribute.
    pub fn counts(&self) -> Vec<usize> {
        self.rows.iter().map(Vec::len).collect()
    }

    /// Returns the row of every attribute in a query.
    pub fn row_indices(&self, query: usize) -> Vec<usize> {
        crate::domain::coordinates(&self.counts(), query)
    }

    /// Returns the index of the query with the given row of every attribute, by position.
    pub fn index(&self, row_of: impl Fn(usize) -> usize) -> usize {
        let axes = self.attributes.positions().zip(&self.rows);
        axes.fold(0, |index, (position, rows)| index * rows.len() + row_of(position))
    }

    /// Returns the products with the rows of some of the attributes.
    #[must_use]
    pub fn restricted(&self, attributes: AttributeSet) -> Self {
        let axes = self.attributes.positions().zip(&self.rows);
        let kept = axes.filter(|(position, _)| attributes.contains(*position));
        Self::over(kept.map(|(position, rows)| (position, rows.clone())).collect())
    }

    /// Answers all queries on the row-major cells of the attributes.
    pub fn answers(&self, cells: &[f64]) -> Vec<f64> {
        let (mut values, mut outer) = (cells.to_vec(), 1);
        for rows in &self.rows {
            let size = rows.first().map_or(1, Vec::len);
            let inner = values.len() / (outer * size).max(1);
            let mut out = Vec::with_capacity(outer * rows.len() * inner);
            for block in values.chunks_exact((size * inner).max(1)) {
                for row in rows {
                    let start = out.len();
                    out.resize(start + inner, 0.0);
                    for (weight, lane) in row.iter().zip(block.chunks_exact(inner.max(1))) {
                        if *weight != 0.0 {
                            let sums = out[start..].iter_mut().zip(lane);
                            sums.for_each(|(sum, x)| *sum += weight * x);
                        }
                    }
                }
            }
            (values, outer) = (out, outer * rows.len());
        }
        values
    }

    /// Returns the weights of a query over the row-major cells of its attributes.
    pub fn weights(&self, query: usize) -> Vec<f64> {
        let chosen = self.row_indices(query).into_iter().zip(&self.rows);
        chosen.fold(vec![1.0], |weights, (k, rows)| {
            weights.iter().flat_map(|x| rows[k].iter().map(move |y| x * y)).collect()
        })
    }

    /// Returns the range of the weights of a query: that of the products of the ranges of its rows.
    pub fn weight_range(&self, query: usize) -> WeightRange {
        let chosen = self.row_indices(query).into_iter().zip(&self.rows);
        chosen.fold(WeightRange::ONES, |range, (k, rows)| {
            range.times(WeightRange::of(rows[k].iter().copied()))
        })
    }
}
