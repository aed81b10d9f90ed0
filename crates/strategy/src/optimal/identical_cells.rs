//! Cells that have the same coefficient in every query.
//!
//! If rows i and j of G are equal, every query has the same coefficient for both cells. Then some
//! optimal strategy has equal columns for them: the problem is convex, so the mean of V over
//! permutations of such cells is also optimal. The columns of this strategy are those of the
//! problem with one cell per class, with the same queries, errors and largest column norm. So G is
//! reduced to one row and column per class, and the columns of the strategy are repeated. A dual
//! weight is divided among the cells of its class, which does not change `tr (M^½ G M^½)^½`.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2, Axis};

/// The classes of identical cells, in the order of their first cells.
pub(super) struct CellClasses {
    /// The class of every cell.
    class_of: Vec<usize>,
    /// The first cell of every class.
    first: Vec<usize>,
    /// The number of cells of every class.
    pub sizes: Vec<f64>,
}

impl CellClasses {
    /// Finds the classes, by rows of G that are equal bit by bit; `None` if all rows differ.
    ///
    /// O(cells²).
    pub fn of(gram: ArrayView2<'_, f64>) -> Option<Self> {
        let (mut class_of, mut first, mut sizes) =
            (Vec::with_capacity(gram.nrows()), Vec::new(), Vec::new());
        let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (cell, row) in gram.rows().into_iter().enumerate() {
            // The key depends on the order of the entries; rows with equal keys are compared.
            let key = row.iter().fold(0u64, |sum, x| sum.rotate_left(5).wrapping_add(x.to_bits()));
            let candidates = known.entry(key).or_default();
            let class = candidates
                .iter()
                .copied()
                .find(|&class| gram.row(first[class]) == row)
                .unwrap_or_else(|| {
                    candidates.push(first.len());
                    first.push(cell);
                    sizes.push(0.0);
                    first.len() - 1
                });
            sizes[class] += 1.0;
            class_of.push(class);
        }
        (first.len() < class_of.len()).then_some(CellClasses { class_of, first, sizes })
    }

    /// Returns G with one cell per class.
    pub fn merged(&self, gram: ArrayView2<'_, f64>) -> Array2<f64> {
        gram.select(Axis(0), &self.first)
            .select(Axis(1), &self.first)
            .as_standard_layout()
            .into_owned()
    }

    /// Returns a strategy's Gram matrix over cells from the one over classes.
    pub fn repeated(&self, gram: &Array2<f64>) -> Array2<f64> {
        let class = &self.class_of;
        Array2::from_shape_fn((class.len(), class.len()), |(i, j)| gram[[class[i], class[j]]])
    }

    /// Returns the weights of classes: the sums over their cells.
    pub fn summed(&self, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.sizes.len()];
        for (&class, weight) in self.class_of.iter().zip(weights) {
            sums[class] += weight;
        }
        sums
    }

    /// Returns the weights of cells: those of classes, divided evenly.
    pub fn divided(&self, weights: &[f64]) -> Vec<f64> {
        self.class_of.iter().map(|&class| weights[class] / self.sizes[class]).collect()
    }
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};
    use ndarray::array;

    use super::*;
    use crate::test_support::gram;
    use crate::workload::Workload;
    use crate::{Optimal, Problem, StrategySelector};

    #[test]
    fn classes_are_those_of_equal_columns() {
        let queries =
            array![[1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 2.0, 1.0, 2.0], [1.0, 1.0, 1.0, 0.0, 1.0]];
        let gram = queries.t().dot(&queries);
        let classes = CellClasses::of(gram.view()).unwrap();
        assert_eq!(
            (classes.class_of.as_slice(), classes.sizes.as_slice()),
            (&[0, 0, 1, 2, 1][..], &[2.0, 2.0, 1.0][..])
        );
        let merged = classes.merged(gram.view());
        assert_eq!(merged, array![[2.0, 1.0, 1.0], [1.0, 5.0, 2.0], [1.0, 2.0, 2.0]]);
        assert_eq!(classes.repeated(&merged), gram);
        assert_eq!(classes.divided(&[0.5, 0.2, 0.3]), [0.25, 0.25, 0.1, 0.3, 0.1]);
        assert!(CellClasses::of(merged.view()).is_none());
    }

    /// Oracle: the optimum of ranges over 6 cells, compared with ranges over 13 cells that repeat
    /// them. The dual weights over the cells prove the lower bound, and the strategy has
    /// sensitivity 1 and the stated error.
    #[test]
    fn repeated_cells_change_neither_error_nor_certificate() {
        let plain = gram("range:6");
        let reference = Optimal::default().select(&plain).unwrap();
        let cells = [0, 3, 1, 1, 4, 5, 2, 2, 2, 3, 5, 0, 5];
        let ranges: Vec<_> = (0..6).flat_map(|low| (low..6).map(move |high| low..=high)).collect();
        let rows = Array2::from_shape_fn((ranges.len(), 13), |(q, cell)| {
            f64::from(u8::from(ranges[q].contains(&cells[cell])))
        });
        let workload = Workload::explicit(&[13], rows).unwrap();
        let problem = Problem::new(&workload);
        let (selection, dual) = Optimal::default().solve_dense(&problem).unwrap();
        let (certificate, expected) =
            (selection.certificate.unwrap(), reference.certificate.unwrap());
        assert!(
            certificate.gap() <= 1e-7
                && certificate.lower_bound <= expected.upper_bound * (1.0 + 1e-12)
        );
        assert_relative_eq!(selection.error, reference.error, max_relative = 2e-7);
        assert_relative_eq!(
            dual.lower_bound(&problem).unwrap(),
            certificate.lower_bound,
            max_relative = 1e-9
        );
        assert_relative_eq!(
            selection.strategy.error(&workload.gram().unwrap()).unwrap(),
            certificate.upper_bound,
            max_relative = 1e-9
        );
        let strategy = selection.strategy.factors()[0].gram().unwrap();
        let norms: Vec<f64> = strategy.diag().to_vec();
        assert_abs_diff_eq!(norms.iter().copied().fold(0.0, f64::max), 1.0, epsilon = 1e-9);
        assert_eq!(norms[2], norms[3]);
    }
}
