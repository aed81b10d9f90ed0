//! Centring in place: Recon ∘ Decomp along all axes.

use super::axis::total;
use super::check;
use super::wide::{Loops, Mean, Sum, Wide, change1, change2};
use crate::domain::AxisSet;
use crate::error::Result;

/// Subtracts from a vector over a row-major box its mean along every axis in turn: its residual
/// part, `(⊗ (I − J/n_i)) x`, which is Recon(Decomp(x)) with all axes kept. Zero if some axis has
/// one value only; the identity if there is no axis.
///
/// *Time*: O(cells): two passes over memory, the rest in cache. *Memory*: two arrays of a slice's
/// size.
///
/// # Errors
/// A size of 0, or `values` of another length than Π `sizes`.
pub fn centre_in_place(sizes: &[usize], values: &mut [f64]) -> Result<()> {
    check("centring", "box", values.len(), sizes, AxisSet::all(sizes.len()), |n, _| n)?;
    centre_box(sizes, values);
    Ok(())
}

/// [`centre_in_place`] of a box that the caller has made from these sizes.
pub(crate) fn centre_box(sizes: &[usize], values: &mut [f64]) {
    debug_assert_eq!(values.len(), sizes.iter().product::<usize>());
    if sizes.contains(&1) {
        values.fill(0.0);
    } else if !values.is_empty() {
        let scratch: usize =
            (1..sizes.len()).map(|level| 2 * sizes[level..].iter().product::<usize>()).sum();
        centre(Wide::new(), values, sizes, None, &mut vec![0.0; scratch]);
    }
}

/// `x ← (⊗ (I − J/n_i)) x − minus`. The mean of the slices along the first axis, centred along the
/// others, is what all slices lose beside their own centring; it goes down with the recursion.
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

/// [`centre`] along two axes; `mean` is scratch for one row.
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
            let own = total(x) / n as f64;
            change2(x, mean, minus, |x, mean, minus| (x - own) - (mean + minus));
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
