//! Matrices between the steps of the patterns of fixed epochs.
//!
//! n = kb steps; step s = c + gb is the step of pattern c < b in epoch g < k.

use ndarray::Array2;

/// One symmetric k × k matrix per pattern.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// k.
    pub count: usize,
    /// b.
    pub period: usize,
    /// The matrices, row by row.
    values: Vec<f64>,
}

impl Blocks {
    /// Returns blocks of zeros.
    pub fn zeros(count: usize, period: usize) -> Self {
        Blocks { count, period, values: vec![0.0; count * count * period] }
    }

    /// Returns the blocks of given matrices, one per pattern.
    pub fn of(count: usize, matrices: &[Array2<f64>]) -> Self {
        let values = matrices.iter().flatten().copied().collect();
        Blocks { count, period: matrices.len(), values }
    }

    /// Returns blocks with given entries above the diagonal, pattern by pattern and row by row, and
    /// one number on the diagonal.
    pub fn symmetric(count: usize, period: usize, above: &[f64], diagonal: f64) -> Self {
        let mut blocks = Self::zeros(count, period);
        let mut above = above.iter();
        for c in 0..period {
            for g in 0..count {
                blocks.row_mut(c, g)[g] = diagonal;
                for (h, &x) in (g + 1..count).zip(above.by_ref()) {
                    blocks.row_mut(c, g)[h] = x;
                    blocks.row_mut(c, h)[g] = x;
                }
            }
        }
        blocks
    }

    /// Returns row g of pattern c.
    #[inline(always)]
    pub fn row(&self, c: usize, g: usize) -> &[f64] {
        &self.values[(c * self.count + g) * self.count..][..self.count]
    }

    /// Returns row g of pattern c.
    #[inline(always)]
    pub fn row_mut(&mut self, c: usize, g: usize) -> &mut [f64] {
        &mut self.values[(c * self.count + g) * self.count..][..self.count]
    }

    /// Returns the matrix of pattern c.
    pub fn block(&self, c: usize) -> Array2<f64> {
        Array2::from_shape_fn((self.count, self.count), |(g, h)| self.row(c, g)[h])
    }

    /// Returns the entries above the diagonal, pattern by pattern and row by row.
    pub fn above(&self) -> Vec<f64> {
        let rows = (0..self.period).flat_map(|c| (0..self.count).map(move |g| (c, g)));
        rows.flat_map(|(c, g)| &self.row(c, g)[g + 1..]).copied().collect()
    }

    /// Copies the entries above the diagonal to those below.
    pub fn mirrored(mut self) -> Self {
        for c in 0..self.period {
            for g in 0..self.count {
                for h in 0..g {
                    self.row_mut(c, g)[h] = self.row(c, h)[g];
                }
            }
        }
        self
    }

    /// Returns the blocks for the steps in reverse order.
    pub fn reversed(mut self) -> Self {
        self.values.reverse();
        self
    }
}
