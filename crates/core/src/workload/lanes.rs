//! Values over a box, viewed along one of its factors.

/// Values over a box, viewed along one of its factors.
///
/// The values are blocks of `cells` rows with `inner` numbers each. A lane is a column of a block.
#[derive(Debug, Clone, Copy)]
pub struct Lanes<'a> {
    values: &'a [f64],
    cells: usize,
    inner: usize,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(values: &'a [f64], cells: usize, inner: usize) -> Self {
        Lanes { values, cells, inner }
    }

    /// Iterates over the blocks. Cell c of lane i has index `c · inner + i` in its block.
    pub fn blocks(&self) -> impl Iterator<Item = &'a [f64]> {
        self.values.chunks_exact((self.cells * self.inner).max(1))
    }

    /// Returns the number of cells of a lane.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the number of lanes of a block.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// Returns all values.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Iterates over the prefix sums of every block: `cells + 1` rows, the first of zeros.
    pub fn prefix_sums(&self) -> impl Iterator<Item = Vec<f64>> {
        let inner = self.inner;
        self.blocks().map(move |block| {
            let mut sums = vec![0.0; inner];
            sums.extend_from_slice(block);
            for k in inner..sums.len() {
                sums[k] += sums[k - inner];
            }
            sums
        })
    }

    /// Answers queries given as rows, ordered by block, then by query.
    pub fn by_rows(&self, rows: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
        // Ordered by query first, because the rows are an iterator; reordered by block below.
        let (mut by_query, mut queries) = (Vec::new(), 0);
        for row in rows {
            for block in self.blocks() {
                let start = by_query.len();
                by_query.resize(start + self.inner, 0.0);
                for (cell, &weight) in
                    block.chunks_exact(self.inner.max(1)).zip(&row).filter(|(_, w)| **w != 0.0)
                {
                    by_query[start..].iter_mut().zip(cell).for_each(|(sum, x)| *sum += weight * x);
                }
            }
            queries += 1;
        }
        let blocks = self.blocks().count();
        if blocks <= 1 {
            return by_query;
        }
        let mut by_block = Vec::with_capacity(by_query.len());
        for block in 0..blocks {
            for query in 0..queries {
                by_block.extend_from_slice(
                    &by_query[(query * blocks + block) * self.inner..][..self.inner],
                );
            }
        }
        by_block
    }
}
