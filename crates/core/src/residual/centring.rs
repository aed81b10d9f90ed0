//! In-place centring: Recon ∘ Decomp along all axes.

use super::array_shape::check;
use super::axis::total;
use super::slices::{Mean, Sum, change1, change2};
use crate::domain::AxisSet;
use crate::error::Result;
use matmech_linalg::{Loops, Wide};

/// Subtracts the mean along every axis from an array over a row-major box.
///
/// The result is the residual part `(⊗ (I − J/n_i)) x`, which is Recon(Decomp(x)) with all axes
/// kept. It is zero if an axis has a single value, and x if there is no axis.
///
/// *Time*: O(cells), two passes over memory and the rest in cache. *Memory*: two arrays of the size
/// of a slice.
///
/// # Errors
/// A size is 0, or the length of `values` is not Π `sizes`.
pub fn centre_in_place(sizes: &[usize], values: &mut [f64]) -> Result<()> {
    check("centring", "box", values.len(), sizes, AxisSet::all(sizes.len()), |n, _| n)?;
    centre_box(sizes, values);
    Ok(())
}

/// [`centre_in_place`] without checks.
///
/// The caller guarantees that `values` has Π `sizes` cells.
pub fn centre_box(sizes: &[usize], values: &mut [f64]) {
    debug_assert_eq!(values.len(), sizes.iter().product::<usize>());
    if sizes.contains(&1) {
        values.fill(0.0);
    } else if !values.is_empty() {
        let scratch: usize =
            (1..sizes.len()).map(|level| 2 * sizes[level..].iter().product::<usize>()).sum();
        centre(Wide::detect(), values, sizes, None, &mut vec![0.0; scratch]);
    }
}

/// Computes `x ← (⊗ (I − J/n_i)) x − minus`.
///
/// Every slice along the first axis is centred along the other axes, and loses the centred mean of
/// all slices. The recursion passes that mean down in `minus`.
fn centre(wide: Wide, x: &mut [f64], sizes: &[usize], minus: Option<&[f64]>, scratch: &mut [f64]) {
    match *sizes {
        [] => {}
        [_] => row(x, minus),
        [m, n] => wide.run(Plane { x, m, minus, mean: &mut scratch[..n] }),
        [m, ref tail @ ..] => {
            let cells: usize = tail.iter().product();
            let (mean, scratch) = scratch.split_at_mut(cells);
            wide.run(Mean { slices: x, count: m, to: mean });
            centre(wide, mean, tail, None, scratch);
            let slices = x.chunks_exact_mut(cells);
            let Some(minus) = minus else {
                // Backwards: the last slices that were summed are still in cache.
                return slices
                    .rev()
                    .for_each(|slice| centre(wide, slice, tail, Some(mean), scratch));
            };
            let (both, scratch) = scratch.split_at_mut(cells);
            for (slice, minus) in slices.zip(minus.chunks_exact(cells)) {
                wide.run(Sum { a: mean, b: minus, to: both });
                centre(wide, slice, tail, Some(both), scratch);
            }
        }
    }
}

/// [`centre`] along two axes.
///
/// `mean` is scratch space for one row.
pub(super) struct Plane<'a> {
    pub x: &'a mut [f64],
    pub m: usize,
    pub minus: Option<&'a [f64]>,
    pub mean: &'a mut [f64],
}

impl Loops for Plane<'_> {
    #[inline(always)]
    fn run(self) {
        let Plane { x, m, minus, mean } = self;
        let n = mean.len();
        Mean { slices: x, count: m, to: mean }.run();
        row(mean, None);
        let rows = x.chunks_exact_mut(n);
        let Some(minus) = minus else {
            return rows.for_each(|x| row(x, Some(mean)));
        };
        for (x, minus) in rows.zip(minus.chunks_exact(n)) {
            let row_mean = total(x) / n as f64;
            change2(x, mean, minus, |x, mean, minus| (x - row_mean) - (mean + minus));
        }
    }
}

/// [`centre`] along one axis.
#[inline(always)]
pub(super) fn row(x: &mut [f64], minus: Option<&[f64]>) {
    let mean = total(x) / x.len() as f64;
    match minus {
        None => {
            for x in x {
                *x -= mean;
            }
        }
        Some(minus) => change1(x, minus, |x, minus| (x - mean) - minus),
    }
}
