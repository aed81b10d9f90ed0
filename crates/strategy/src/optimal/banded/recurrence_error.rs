//! The error of a banded factor for a recurrence, and its derivative, in O(nb²).
//!
//! Let the workload be `y_t = ρ_t y_{t−1} + a_t x_t`, so W⁻¹ = L is lower bidiagonal and `K = AL`
//! is lower triangular with one band more than A. The error of A is `‖K⁻¹‖_F² = tr S`, S = (KKᵀ)⁻¹.
//! For the columns of a block i, with N = K_ii⁻¹, the next b rows R and Z = K_Ri N,
//!
//! ```text
//! S_Ri = −S_RR Z,    S_ii = NᵀN + Zᵀ S_RR Z
//! ```
//!
//! from the last block to the first (the selected inverse; Takahashi et al., 1973). The derivatives
//! P by the entries of S in the band follow from the first block to the last, with P = I at the
//! start, `U = Z P_ii − P_Ri` and `V = ½ Z P_ii − P_Ri`:
//!
//! ```text
//! P_RR ← P_RR + V Zᵀ + Z Vᵀ,    Z̄ = 2 S_RR U,    N̄ = 2 N P_ii + K_Riᵀ Z̄
//! K̄_Ri = Z̄ Nᵀ,                  K̄_ii = −Nᵀ N̄ Nᵀ on and below the diagonal
//! ```

use std::ops::Range;

use ndarray::{Array2, ArrayViewMut2, Axis, Slice};

use super::dense_error::{BLOCK, block};
use crate::workload::Recurrence;
use matmech_linalg as linalg;

/// A block of columns of K.
struct Block {
    /// K_Ri.
    below: Array2<f64>,
    /// N.
    inverse: Array2<f64>,
    /// Z.
    images: Array2<f64>,
    /// S_ii and S_Ri, one above the other.
    selected: Array2<f64>,
}

/// Returns the error of a factor given by the bands of its columns, and the derivatives by their
/// entries.
///
/// 6nb² flops in products of blocks, 2nb numbers of memory.
pub(super) fn evaluate(recurrence: &Recurrence, columns: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let n = columns.len();
    let bands = columns.first().map_or(0, Vec::len);
    let width = bands.clamp(1, BLOCK);
    let inverse_workload = InverseWorkload::new(recurrence);
    let mut blocks: Vec<Block> = Vec::with_capacity(n.div_ceil(width));
    let mut error = 0.0;
    for first in (0..n).step_by(width).rev() {
        let part = first..(first + width).min(n);
        let count = part.len();
        let entries = inverse_workload.product(columns, part);
        let (diagonal, below) = entries.view().split_at(Axis(0), count);
        let inverse = linalg::inverse_of_lower(diagonal);
        let images = linalg::matmul(below, inverse.view());
        let products = linalg::matmul(window(&blocks, below.nrows()).view(), images.view());
        let mut selected = Array2::zeros(entries.raw_dim());
        let (mut at_block, mut coupled) = selected.view_mut().split_at(Axis(0), count);
        at_block.assign(&linalg::matmul(inverse.t(), inverse.view()));
        at_block += &linalg::matmul(images.t(), products.view());
        coupled.assign(&-products);
        error += at_block.diag().sum();
        // ndarray's copy of an empty view fails its own check in builds with debug assertions.
        let below = match below.is_empty() {
            true => Array2::zeros(below.raw_dim()),
            false => below.to_owned(),
        };
        blocks.push(Block { below, inverse, images, selected });
    }
    let mut derivatives: Vec<Vec<f64>> = columns.iter().map(|c| vec![0.0; c.len()]).collect();
    // P in the window of the current block.
    let mut adjoint = Array2::<f64>::zeros((0, 0));
    let mut first = 0;
    while let Some(Block { below, inverse, images, .. }) = blocks.pop() {
        let (count, all) = (inverse.nrows(), inverse.nrows() + below.nrows());
        let mut extended = Array2::eye(all);
        let known = 0..adjoint.nrows();
        block_mut(&mut extended, known.clone(), known).assign(&adjoint);
        let at_block = block(&extended, 0..count, 0..count);
        let coupled = block(&extended, count..all, 0..count);
        let along = linalg::matmul(images.view(), at_block);
        let window = window(&blocks, below.nrows());
        let by_images = linalg::matmul(window.view(), (&along - &coupled).view()) * 2.0;
        let half = linalg::matmul((along * 0.5 - coupled).view(), images.t());
        let by_inverse = linalg::matmul(inverse.view(), at_block) * 2.0
            + linalg::matmul(below.t(), by_images.view());
        let by_inverse = linalg::matmul(inverse.t(), by_inverse.view());
        let by_diagonal = -linalg::matmul(by_inverse.view(), inverse.t());
        let by_below = linalg::matmul(by_images.view(), inverse.t());
        inverse_workload.add_derivatives(&by_diagonal, &by_below, first, &mut derivatives);
        adjoint = &block(&extended, count..all, count..all) + &half + half.t();
        first += count;
    }
    (error, derivatives)
}

/// L, with `1/a_j` on the diagonal and `−ρ_j/a_j` before it.
struct InverseWorkload {
    diagonal: Vec<f64>,
    below: Vec<f64>,
}

impl InverseWorkload {
    fn new(recurrence: &Recurrence) -> Self {
        let diagonal: Vec<f64> =
            recurrence.squared_gains().iter().map(|a| a.sqrt().recip()).collect();
        let factors = recurrence.squared_factors().iter();
        let below = factors.zip(&diagonal).map(|(factor, d)| -factor.sqrt() * d).collect();
        InverseWorkload { diagonal, below }
    }

    /// Returns the columns `part` of AL, from the first row of the block on.
    fn product(&self, columns: &[Vec<f64>], part: Range<usize>) -> Array2<f64> {
        let bands = columns.first().map_or(0, Vec::len);
        let rows = (part.end + bands).min(columns.len()) - part.start;
        let mut product = Array2::<f64>::zeros((rows, part.len()));
        for (mut out, j) in product.columns_mut().into_iter().zip(part.clone()) {
            let row = j - part.start;
            for (i, entry) in columns[j].iter().enumerate() {
                out[row + i] += entry * self.diagonal[j];
            }
            for (i, entry) in columns.get(j + 1).into_iter().flatten().enumerate() {
                out[row + 1 + i] += entry * self.below[j + 1];
            }
        }
        product
    }

    /// Adds the derivatives by A to `derivatives`, from those by the columns from `first` on of AL.
    fn add_derivatives(
        &self,
        by_diagonal: &Array2<f64>,
        by_below: &Array2<f64>,
        first: usize,
        derivatives: &mut [Vec<f64>],
    ) {
        for (c, (top, rest)) in
            by_diagonal.columns().into_iter().zip(by_below.columns()).enumerate()
        {
            let j = first + c;
            let by_column = || top.iter().skip(c).chain(rest);
            derivatives[j]
                .iter_mut()
                .zip(by_column())
                .for_each(|(x, by)| *x += by * self.diagonal[j]);
            if let Some(later) = derivatives.get_mut(j + 1) {
                let by_later = later.iter_mut().zip(by_column().skip(1));
                by_later.for_each(|(x, by)| *x += by * self.below[j + 1]);
            }
        }
    }
}

/// Returns `S_RR` for the next `rows` rows, from the blocks after the current one, last one first.
fn window(blocks: &[Block], rows: usize) -> Array2<f64> {
    let mut window = Array2::zeros((rows, rows));
    let mut first = 0;
    for next in blocks.iter().rev() {
        if first >= rows {
            break;
        }
        let columns = next.inverse.nrows().min(rows - first);
        let end = rows.min(first + next.selected.nrows());
        let part = block(&next.selected, 0..end - first, 0..columns);
        block_mut(&mut window, first..end, first..first + columns).assign(&part);
        block_mut(&mut window, first..first + columns, first..end).assign(&part.t());
        first += columns;
    }
    window
}

/// Returns some rows and columns of a matrix.
fn block_mut(
    matrix: &mut Array2<f64>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayViewMut2<'_, f64> {
    let mut view = matrix.view_mut();
    view.slice_axis_inplace(Axis(0), Slice::from(rows));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}
