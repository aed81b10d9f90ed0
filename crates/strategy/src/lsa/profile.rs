//! Splits of a box, and the cumulative sums that the search for them needs.

use ndarray::{Array2, ArrayView1, Axis};

use super::boxes::GridBox;
use super::inverse::Inverse;

/// A split of a box: the second half begins at `position` of `dimension`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    pub(super) dimension: usize,
    pub(super) position: usize,
    /// The decrease of the trace.
    pub(super) gain: f64,
}

/// Cumulative sums of a box's blocks of S and T, over the slabs across one dimension.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    pub(super) dimension: usize,
    pub(super) low: usize,
    /// The number of cells of the box per step along the dimension: the product of the later side
    /// lengths.
    pub(super) stride: usize,
    pub(super) s: Sums,
    pub(super) t: Sums,
}

/// The cumulative sums of one matrix over the slabs of a box.
///
/// `diagonal[i]` is the sum over (slab ≤ i) × (slab ≤ i), and `edge[i]` over
/// (slab ≤ i) × (all slabs).
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) diagonal: Vec<f64>,
    pub(super) edge: Vec<f64>,
}

impl Sums {
    pub(super) fn zeros(length: usize) -> Self {
        Sums { diagonal: vec![0.0; length], edge: vec![0.0; length] }
    }

    /// Replaces the entries by their cumulative sums.
    fn accumulate(&mut self) {
        for sums in [&mut self.diagonal, &mut self.edge] {
            let mut total = 0.0;
            for x in sums {
                total += *x;
                *x = total;
            }
        }
    }

    /// Returns these sums minus others.
    pub(super) fn corrected(&self, by: &Sums) -> Self {
        let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        Sums { diagonal: minus(&self.diagonal, &by.diagonal), edge: minus(&self.edge, &by.edge) }
    }

    /// Returns `(q₁ᵀAq₁, q₁ᵀAq₂, q₂ᵀAq₂)` for the cut after slab i.
    pub(super) fn halves(&self, i: usize) -> (f64, f64, f64) {
        let total = self.edge[self.edge.len() - 1];
        let (first, edge) = (self.diagonal[i], self.edge[i]);
        (first, edge - first, total - 2.0 * edge + first)
    }
}

impl Profile {
    /// Returns the profiles of a box across every dimension along which it can be split, for the
    /// strategy without the level. O(d·|box|²).
    pub(super) fn of_box(inverse: &Inverse, query: &GridBox, cells: &[usize]) -> Vec<Self> {
        let lengths = query.lengths();
        let mut out: Vec<Profile> = (0..lengths.len())
            .filter(|&j| lengths[j] > 1)
            .map(|j| Profile {
                dimension: j,
                low: query.low()[j],
                stride: lengths[j + 1..].iter().product(),
                s: Sums::zeros(lengths[j]),
                t: Sums::zeros(lengths[j]),
            })
            .collect();
        let mut slabs = Vec::new();
        let mut block_row = Vec::new();
        for (row, &cell) in cells.iter().enumerate() {
            for (matrix, of_t) in [(&inverse.s, false), (&inverse.t, true)] {
                gather(matrix, cell, cells, &mut block_row);
                for profile in &mut out {
                    let sums = if of_t { &mut profile.t } else { &mut profile.s };
                    let length = sums.edge.len();
                    let values = by_slab(&block_row, length, profile.stride, &mut slabs);
                    let slab = row / profile.stride % length;
                    let (before, rest) = values.split_at(slab);
                    let before = ArrayView1::from(before).sum();
                    // By symmetry, the column sums above the diagonal equal the row sums to its
                    // left.
                    sums.diagonal[slab] += 2.0 * before + rest[0];
                    sums.edge[slab] += before + ArrayView1::from(rest).sum();
                }
            }
        }
        for profile in &mut out {
            profile.s.accumulate();
            profile.t.accumulate();
        }
        out
    }
}

/// Collects the entries of a matrix row at some cells.
fn gather(matrix: &Array2<f64>, row: usize, cells: &[usize], out: &mut Vec<f64>) {
    let row = matrix.index_axis(Axis(0), row);
    out.clear();
    match (row.as_slice(), cells.first(), cells.last()) {
        (Some(values), Some(&first), Some(&last)) if last - first + 1 == cells.len() => {
            out.extend_from_slice(&values[first..=last]);
        }
        _ => out.extend(cells.iter().map(|&cell| row[cell])),
    }
}

/// Returns the sums over the slabs across one dimension of values over the cells of a box.
pub(super) fn by_slab<'a>(
    values: &'a [f64],
    length: usize,
    stride: usize,
    slabs: &'a mut Vec<f64>,
) -> &'a [f64] {
    if values.len() == length {
        return values;
    }
    slabs.clear();
    slabs.resize(length, 0.0);
    for outer in values.chunks_exact(length * stride) {
        if stride == 1 {
            slabs.iter_mut().zip(outer).for_each(|(sum, x)| *sum += x);
            continue;
        }
        for (sum, slab) in slabs.iter_mut().zip(outer.chunks_exact(stride)) {
            *sum += slab.iter().sum::<f64>();
        }
    }
    slabs
}
