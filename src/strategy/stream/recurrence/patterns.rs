//! Sums over the steps of patterns of fixed epochs.
//!
//! n = kb steps; step s = c + gb is the step of pattern c < b in epoch g < k. A row of length n is k
//! slices of b numbers, one per epoch, so that loops run over the patterns.

use ndarray::Array2;

use super::semiseparable::{add, dot};
use matmech_linalg::{Loops, Wide};

/// One symmetric k × k matrix per pattern.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// k.
    pub count: usize,
    /// b.
    pub period: usize,
    /// The entries (g, h) of all patterns, b numbers from (gk + h)b on.
    values: Vec<f64>,
}

impl Blocks {
    /// Returns blocks of zeros.
    pub fn zeros(count: usize, period: usize) -> Self {
        Blocks { count, period, values: vec![0.0; count * count * period] }
    }

    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        self.count * self.period
    }

    /// Returns the entry (g, h) of every pattern.
    #[inline(always)]
    pub fn entries(&self, g: usize, h: usize) -> &[f64] {
        &self.values[(g * self.count + h) * self.period..][..self.period]
    }

    /// Returns the entry (g, h) of every pattern.
    #[inline(always)]
    pub fn entries_mut(&mut self, g: usize, h: usize) -> &mut [f64] {
        &mut self.values[(g * self.count + h) * self.period..][..self.period]
    }

    /// Returns the entry (g, h) of pattern c.
    #[inline(always)]
    pub fn entry(&self, g: usize, h: usize, c: usize) -> f64 {
        self.values[(g * self.count + h) * self.period + c]
    }

    /// Returns the matrix of pattern c.
    pub fn block(&self, c: usize) -> Array2<f64> {
        Array2::from_shape_fn((self.count, self.count), |(g, h)| self.entry(g, h, c))
    }

    /// Returns the blocks of given matrices, one per pattern.
    pub fn of(count: usize, matrices: &[Array2<f64>]) -> Self {
        let mut blocks = Self::zeros(count, matrices.len());
        for (c, matrix) in matrices.iter().enumerate() {
            for ((g, h), &x) in matrix.indexed_iter() {
                blocks.entries_mut(g, h)[c] = x;
            }
        }
        blocks
    }

    /// Returns blocks with given entries above the diagonal, pair by pair, and one number on the
    /// diagonal.
    pub fn symmetric(count: usize, period: usize, above: &[f64], diagonal: f64) -> Self {
        let mut blocks = Self::zeros(count, period);
        for g in 0..count {
            blocks.entries_mut(g, g).fill(diagonal);
        }
        for ((g, h), x) in pairs(count).zip(above.chunks_exact(period)) {
            blocks.entries_mut(g, h).copy_from_slice(x);
            blocks.entries_mut(h, g).copy_from_slice(x);
        }
        blocks
    }

    /// Returns the entries above the diagonal, pair by pair.
    pub fn above(&self) -> Vec<f64> {
        pairs(self.count).flat_map(|(g, h)| self.entries(g, h)).copied().collect()
    }

    /// Copies the entries above the diagonal to those below.
    fn mirrored(mut self) -> Self {
        let above = self.above();
        for ((g, h), x) in pairs(self.count).zip(above.chunks_exact(self.period)) {
            self.entries_mut(h, g).copy_from_slice(x);
        }
        self
    }

    /// Returns `X_ππ` of `X = Cᵀ S C` for every pattern π, with these blocks as S and a lower
    /// triangular C. O(n²k).
    pub fn gram_of_columns(&self, matrix: &[f64]) -> Blocks {
        let mut out = Blocks::zeros(self.count, self.period);
        Wide::detect().run(ColumnGram { s: self, matrix, out: &mut out });
        out.mirrored()
    }

    /// Returns the blocks of `C Y Cᵀ`, with these blocks as Y. The adjoint of
    /// [`gram_of_columns`](Self::gram_of_columns). O(n²k).
    pub fn gram_of_rows(&self, matrix: &[f64]) -> Blocks {
        let mut out = Blocks::zeros(self.count, self.period);
        Wide::detect().run(RowGram { y: self, matrix, out: &mut out });
        out.mirrored()
    }

    /// Returns the lower blocks of `S C Y`, with these blocks as S. O(n²k).
    pub fn two_sided(&self, matrix: &[f64], y: &Blocks) -> Vec<f64> {
        let mut out = vec![0.0; matrix.len()];
        Wide::detect().run(TwoSided { s: self, matrix, y, out: &mut out });
        out
    }

    /// Returns `U T` up to the epoch of each row, and `u T uᵀ` of each row u, with these blocks as T
    /// and a lower triangular U. O(n²k).
    pub fn images(&self, matrix: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut out, mut forms) = (vec![0.0; matrix.len()], vec![0.0; self.steps()]);
        Wide::detect().run(Images { t: self, matrix, images: &mut out, forms: &mut forms });
        (out, forms)
    }

    /// Returns the blocks of `Uᵀ diag(w) U` for a lower triangular U. O(n²k).
    pub fn weighted_gram(count: usize, period: usize, matrix: &[f64], weights: &[f64]) -> Blocks {
        let mut out = Blocks::zeros(count, period);
        Wide::detect().run(WeightedGram { matrix, weights, out: &mut out });
        out.mirrored()
    }
}

/// Returns the pairs g < h of epochs.
pub(super) fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |g| (g + 1..count).map(move |h| (g, h)))
}

/// Adds a product of vectors, entry by entry.
#[inline(always)]
fn add_product(y: &mut [f64], a: &[f64], x: &[f64]) {
    for ((y, a), x) in y.iter_mut().zip(a).zip(x) {
        *y += a * x;
    }
}

/// Returns the indices of the entries of epoch h in the row of pattern c and epoch g.
#[inline(always)]
fn part(blocks: &Blocks, c: usize, g: usize, h: usize) -> std::ops::Range<usize> {
    let first = (c + g * blocks.period) * blocks.steps() + h * blocks.period;
    first..first + blocks.period
}

struct ColumnGram<'a> {
    s: &'a Blocks,
    matrix: &'a [f64],
    out: &'a mut Blocks,
}

impl Loops for ColumnGram<'_> {
    #[inline(always)]
    fn run(self) {
        let (k, b) = (self.s.count, self.s.period);
        let row = |c, g, h| &self.matrix[part(self.s, c, g, h)];
        let mut mixed = vec![0.0; b];
        for c in 0..b {
            for i in 0..k {
                for g in i..k {
                    mixed.fill(0.0);
                    for h in i..k {
                        add(&mut mixed, self.s.entry(g, h, c), row(c, h, i));
                    }
                    for j in i..=g {
                        add_product(self.out.entries_mut(i, j), &mixed, row(c, g, j));
                    }
                }
            }
        }
    }
}

struct RowGram<'a> {
    y: &'a Blocks,
    matrix: &'a [f64],
    out: &'a mut Blocks,
}

impl Loops for RowGram<'_> {
    #[inline(always)]
    fn run(self) {
        let (k, b) = (self.y.count, self.y.period);
        let row = |c, g, h| &self.matrix[part(self.y, c, g, h)];
        let mut mixed = vec![0.0; b];
        for c in 0..b {
            for h in 0..k {
                for i in 0..=h {
                    mixed.fill(0.0);
                    for j in 0..=h {
                        add_product(&mut mixed, self.y.entries(i, j), row(c, h, j));
                    }
                    for g in i..=h {
                        self.out.entries_mut(g, h)[c] += dot(row(c, g, i), &mixed);
                    }
                }
            }
        }
    }
}

struct TwoSided<'a> {
    s: &'a Blocks,
    matrix: &'a [f64],
    y: &'a Blocks,
    out: &'a mut [f64],
}

impl Loops for TwoSided<'_> {
    #[inline(always)]
    fn run(self) {
        let (k, b) = (self.s.count, self.s.period);
        let row = |c, g, h| &self.matrix[part(self.s, c, g, h)];
        let mut mixed = vec![0.0; k * b];
        for c in 0..b {
            for g in 0..k {
                mixed.fill(0.0);
                for h in 0..k {
                    for (i, mixed) in mixed.chunks_exact_mut(b).enumerate().take(h + 1) {
                        add(mixed, self.s.entry(g, h, c), row(c, h, i));
                    }
                }
                for i in 0..=g {
                    let out = &mut self.out[part(self.s, c, g, i)];
                    for (j, mixed) in mixed.chunks_exact(b).enumerate() {
                        add_product(out, self.y.entries(i, j), mixed);
                    }
                }
            }
        }
    }
}

struct Images<'a> {
    t: &'a Blocks,
    matrix: &'a [f64],
    images: &'a mut [f64],
    forms: &'a mut [f64],
}

impl Loops for Images<'_> {
    #[inline(always)]
    fn run(self) {
        let (n, b) = (self.t.steps(), self.t.period);
        let rows = self.matrix.chunks_exact(n).zip(self.images.chunks_exact_mut(n));
        for (t, ((row, image), form)) in rows.zip(self.forms.iter_mut()).enumerate() {
            for (g, image) in image.chunks_exact_mut(b).enumerate().take(t / b + 1) {
                for (h, row) in row.chunks_exact(b).enumerate().take(t / b + 1) {
                    add_product(image, self.t.entries(g, h), row);
                }
            }
            *form = dot(row, image);
        }
    }
}

struct WeightedGram<'a> {
    matrix: &'a [f64],
    weights: &'a [f64],
    out: &'a mut Blocks,
}

impl Loops for WeightedGram<'_> {
    #[inline(always)]
    fn run(self) {
        let (n, b) = (self.out.steps(), self.out.period);
        let mut scaled = vec![0.0; b];
        for (t, (row, weight)) in self.matrix.chunks_exact(n).zip(self.weights).enumerate() {
            let parts = || row.chunks_exact(b).enumerate().take(t / b + 1);
            for (g, first) in parts() {
                scaled.iter_mut().zip(first).for_each(|(s, x)| *s = weight * x);
                for (h, second) in parts().skip(g) {
                    add_product(self.out.entries_mut(g, h), &scaled, second);
                }
            }
        }
    }
}
