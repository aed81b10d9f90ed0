//! Explicit queries with few nonzero weights.

use ndarray::Array2;

use crate::error::{Error, Result};

/// Queries in compressed rows: row q has weights `values[k]` at cells `cells[k]` for k from
/// `starts[q]` to `starts[q + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    starts: Vec<usize>,
    cells: Vec<usize>,
    values: Vec<f64>,
    /// The number of cells.
    columns: usize,
}

impl SparseRows {
    /// Creates queries over `columns` cells; weights at the same cell are added.
    ///
    /// # Errors
    /// No query, starts that do not increase from 0 to the number of weights, another number of
    /// cells than of weights, a cell that does not exist, or a weight that is not finite.
    pub fn new(
        starts: Vec<usize>,
        cells: Vec<usize>,
        values: Vec<f64>,
        columns: usize,
    ) -> Result<Self> {
        let are_rows = starts.len() > 1
            && starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last() == Some(&values.len())
            && cells.len() == values.len();
        let are_weights =
            cells.iter().all(|&cell| cell < columns) && values.iter().all(|x| x.is_finite());
        if are_rows && are_weights {
            return Ok(SparseRows { starts, cells, values, columns });
        }
        Err(Error::bad_input(
            "sparse workload",
            format!("compressed rows of finite weights of {columns} cells, at least one row"),
            "others",
            "give a scipy.sparse matrix, one row per query and one column per cell",
        ))
    }

    /// Refuses a box of another number of cells.
    pub(super) fn check_cells(&self, cells: usize) -> Result<()> {
        if cells == self.columns {
            return Ok(());
        }
        Err(Error::bad_input(
            "sparse workload",
            format!("one column per cell, {cells}"),
            format!("{} columns", self.columns),
            "give the sizes of the attributes, whose product is the number of columns",
        ))
    }

    /// Returns the number of queries.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Iterates over the (cell, weight) pairs of every query.
    fn pairs(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, f64)> + Clone + '_> + '_ {
        self.starts.windows(2).map(|ends| {
            let range = ends[0]..ends[1];
            self.cells[range.clone()].iter().copied().zip(self.values[range].iter().copied())
        })
    }

    /// Iterates over the queries, in O(cells) memory.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        self.pairs().map(|pairs| {
            let mut row = vec![0.0; self.columns];
            pairs.for_each(|(cell, weight)| row[cell] += weight);
            row
        })
    }

    /// Answers the queries. O(weights).
    pub(super) fn answers(&self, data: &[f64]) -> Vec<f64> {
        self.pairs().map(|pairs| pairs.map(|(cell, weight)| weight * data[cell]).sum()).collect()
    }

    /// Returns the Gram matrix. O(Σ of squared numbers of weights of a query).
    pub(super) fn gram(&self) -> Array2<f64> {
        let mut gram = Array2::zeros((self.columns, self.columns));
        for pairs in self.pairs() {
            for (a, x) in pairs.clone() {
                pairs.clone().for_each(|(b, y)| gram[[a, b]] += x * y);
            }
        }
        gram
    }

    /// Returns starts, cells and weights.
    pub fn parts(&self) -> (&[usize], &[usize], &[f64]) {
        (&self.starts, &self.cells, &self.values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::Workload;

    proptest! {
        /// Oracle: the dense workload.
        #[test]
        fn sparse_queries_are_the_dense_ones(
            rows in prop::collection::vec(prop::collection::vec((0usize..6, -3i8..4), 0..5), 1..8),
            data in prop::collection::vec(-5i8..6, 6),
        ) {
            let mut starts = vec![0];
            let mut dense = Array2::<f64>::zeros((rows.len(), 6));
            let (mut cells, mut values) = (Vec::new(), Vec::new());
            for (q, row) in rows.iter().enumerate() {
                for &(cell, weight) in row {
                    dense[[q, cell]] += f64::from(weight);
                    cells.push(cell);
                    values.push(f64::from(weight));
                }
                starts.push(cells.len());
            }
            let sparse = SparseRows::new(starts, cells, values, 6).unwrap();
            let sparse = Workload::sparse(&[6], sparse).unwrap();
            let dense = Workload::explicit(&[6], dense).unwrap();
            prop_assert_eq!(sparse.count(), dense.count());
            let rows = |workload: &Workload| workload.rows().unwrap().collect::<Vec<_>>();
            prop_assert_eq!(rows(&sparse), rows(&dense));
            let gram = |workload: &Workload| workload.gram().unwrap().to_dense().unwrap();
            prop_assert_eq!(gram(&sparse), gram(&dense));
            let data: Vec<f64> = data.into_iter().map(f64::from).collect();
            prop_assert_eq!(sparse.answers(&data).unwrap(), dense.answers(&data).unwrap());
        }
    }

    #[test]
    fn invalid_rows_are_refused() {
        for (starts, cells, values) in [
            (vec![0], vec![], vec![]),
            (vec![], vec![], vec![]),
            (vec![1, 1], vec![0], vec![1.0]),
            (vec![0, 2, 1], vec![0, 1], vec![1.0, 1.0]),
            (vec![0, 1], vec![0, 1], vec![1.0, 1.0]),
            (vec![0, 1], vec![3], vec![1.0]),
            (vec![0, 1], vec![0], vec![f64::NAN]),
            (vec![0, 1], vec![0, 1], vec![1.0]),
        ] {
            assert!(SparseRows::new(starts, cells, values, 3).is_err());
        }
    }
}
