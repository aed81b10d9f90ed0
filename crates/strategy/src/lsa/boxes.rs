//! Boxes of cells, and sets of box queries.

use std::collections::HashMap;

use ndarray::Array2;

use crate::QuerySource;

/// An axis-parallel box of cells, with coordinates `low[j] .. high[j]` along attribute j.
///
/// As a query it is the sum of its cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GridBox {
    low: Box<[usize]>,
    high: Box<[usize]>,
}

impl GridBox {
    /// Returns the box of all cells of a domain of the given shape.
    pub fn whole(shape: &[usize]) -> Self {
        GridBox { low: vec![0; shape.len()].into(), high: shape.into() }
    }

    /// Returns the box of the single cell with this row-major index.
    pub fn cell(shape: &[usize], mut index: usize) -> Self {
        let mut low = vec![0; shape.len()];
        for (coordinate, &size) in low.iter_mut().zip(shape).rev() {
            *coordinate = index % size;
            index /= size;
        }
        let high = low.iter().map(|c| c + 1).collect();
        GridBox { low: low.into(), high }
    }

    /// Creates a box from its first coordinates and the ends of its coordinates.
    pub(in crate::lsa) fn between(low: Vec<usize>, high: Vec<usize>) -> Self {
        GridBox { low: low.into(), high: high.into() }
    }

    /// Returns the first coordinate of the box along every attribute.
    pub fn low(&self) -> &[usize] {
        &self.low
    }

    /// Returns one past the last coordinate along every attribute.
    pub fn high(&self) -> &[usize] {
        &self.high
    }

    /// Returns the side lengths.
    pub fn lengths(&self) -> Vec<usize> {
        self.low.iter().zip(&self.high).map(|(l, h)| h - l).collect()
    }

    /// Splits the box in two; the second box begins at `position`.
    pub(super) fn cut(&self, dimension: usize, position: usize) -> (Self, Self) {
        let (mut first, mut second) = (self.clone(), self.clone());
        first.high[dimension] = position;
        second.low[dimension] = position;
        (first, second)
    }

    /// Returns the row-major indices of the box's cells in a domain of the given shape, ascending.
    pub fn cells(&self, shape: &[usize]) -> Vec<usize> {
        let mut out = vec![0];
        for ((&low, &high), &size) in self.low.iter().zip(&self.high).zip(shape) {
            out =
                out.iter().flat_map(|&outer| (low..high).map(move |c| outer * size + c)).collect();
        }
        out
    }
}

/// Weighted box queries over one domain, with equal queries merged (S1, Thm 3.2).
///
/// m copies of a query q carry the same information as the query `√m·q`, so squared weights are
/// added.
#[derive(Debug, Clone)]
pub struct BoxQueries {
    shape: Vec<usize>,
    distinct: Vec<(GridBox, f64)>,
    position: HashMap<GridBox, usize>,
    total: usize,
}

impl BoxQueries {
    /// Creates an empty set of queries.
    pub(in crate::lsa) fn new(shape: &[usize]) -> Self {
        BoxQueries {
            shape: shape.to_vec(),
            distinct: Vec::new(),
            position: HashMap::new(),
            total: 0,
        }
    }

    /// Creates the queries of the identity: every cell once.
    pub(in crate::lsa) fn identity(shape: &[usize]) -> Self {
        let mut out = Self::new(shape);
        for index in 0..shape.iter().product() {
            out.add(GridBox::cell(shape, index), 1.0);
        }
        out
    }

    /// Adds one query with this squared weight.
    pub(in crate::lsa) fn add(&mut self, query: GridBox, squared_weight: f64) {
        self.total += 1;
        match self.position.get(&query) {
            Some(&k) => self.distinct[k].1 += squared_weight,
            None => {
                self.position.insert(query.clone(), self.distinct.len());
                self.distinct.push((query, squared_weight));
            }
        }
    }

    /// Adds all queries of a strategy over another domain, each mapped to a box of this domain.
    pub(in crate::lsa) fn extend(
        &mut self,
        queries: &BoxQueries,
        map: impl Fn(&GridBox) -> GridBox,
    ) {
        for (query, squared_weight) in &queries.distinct {
            self.add(map(query), *squared_weight);
        }
        self.total += queries.total - queries.distinct.len();
    }

    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of queries before equal ones were merged.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the distinct queries with their squared weights, in the order of insertion.
    ///
    /// For LSA the squared weights are multiplicities.
    pub fn distinct(&self) -> &[(GridBox, f64)] {
        &self.distinct
    }

    /// Returns `AᵀA` of the strategy, exact for integer squared weights.
    ///
    /// O(Σ |box|²) time, O(cells²) memory.
    pub fn gram(&self) -> Array2<f64> {
        let cells = self.shape.iter().product();
        let mut out = Array2::zeros((cells, cells));
        for (query, squared_weight) in &self.distinct {
            add_box(&mut out, &query.cells(&self.shape), *squared_weight);
        }
        out
    }
}

/// Adds `amount · 1 1ᵀ` on the given cells.
pub(super) fn add_box(accumulator: &mut Array2<f64>, cells: &[usize], amount: f64) {
    for &i in cells {
        let mut row = accumulator.row_mut(i);
        for &j in cells {
            row[j] += amount;
        }
    }
}

impl QuerySource for BoxQueries {
    /// Returns one row `weight · 1{cell in box}` per distinct query. O(rows · cells) memory.
    fn rows(&self) -> Array2<f64> {
        let mut out = Array2::zeros((self.distinct.len(), self.shape.iter().product()));
        for ((query, squared_weight), mut row) in self.distinct.iter().zip(out.rows_mut()) {
            for cell in query.cells(&self.shape) {
                row[cell] = squared_weight.sqrt();
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_have_their_cells() {
        let shape = [3, 4];
        let (left, right) = GridBox::whole(&shape).cut(1, 3);
        assert_eq!(left.cells(&shape), [0, 1, 2, 4, 5, 6, 8, 9, 10]);
        assert_eq!(right.cells(&shape), [3, 7, 11]);
        assert_eq!(right.lengths(), [3, 1]);
        assert_eq!((right.low(), right.high()), (&[0, 3][..], &[3, 4][..]));
        for index in 0..12 {
            assert_eq!(GridBox::cell(&shape, index).cells(&shape), [index]);
        }
    }

    #[test]
    fn equal_queries_are_merged_as_in_theorem_3_2() {
        let mut queries = BoxQueries::identity(&[3]);
        queries.add(GridBox::whole(&[3]), 1.0);
        queries.add(GridBox::cell(&[3], 1), 1.0);
        queries.add(GridBox::cell(&[3], 1), 1.0);
        assert_eq!((queries.total(), queries.distinct().len()), (6, 4));
        let weight = 3f64.sqrt();
        let expected =
            ndarray::array![[1.0, 0.0, 0.0], [0.0, weight, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
        assert_eq!(queries.rows(), expected);
        assert_eq!(
            queries.gram(),
            ndarray::array![[2.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 2.0]]
        );
        let mut twice = queries.clone();
        twice.extend(&queries, GridBox::clone);
        assert_eq!((twice.total(), twice.distinct().len()), (12, 4));
        assert_eq!(twice.gram(), 2.0 * queries.gram());
    }
}
