//! Decomp, from a marginal to a residual (S4, Alg. 1), and sums and means over some axes.

use super::array_check::check;
use super::axis::{self, AxisView};
use super::axis_runs::runs;
use super::slices::{Sum, fill1, fill2, fill3};
use crate::domain::AxisSet;
use crate::error::Result;
use matmech_linalg::{Loops, Wide};

/// Returns the residual `ζ_τ = Decomp(μ_γ, γ, τ)`.
///
/// The marginal is summed over the axes that are not kept. Along the kept axes the first slice is
/// subtracted from the others. The result has Π_{kept} (n_i − 1) entries, row-major; if no axis is
/// kept, one entry, the total.
///
/// *Time*: O(n_γ). Each cell of the marginal is read once from memory: sums come first and shrink
/// the array, and differences along all axes are computed block by block in cache. *Memory*: the
/// result and two arrays of the size of a slice. *Source*: S4, Alg. 1, Thm 3.2.
///
/// # Errors
/// `kept` has axes beyond `sizes`, a size is 0, or the length of the marginal is not Π `sizes`.
pub fn decomp(marginal: &[f64], sizes: &[usize], kept: AxisSet) -> Result<Vec<f64>> {
    let mut residual = Vec::new();
    decomp_into(marginal, sizes, kept, &mut residual)?;
    Ok(residual)
}

/// [`decomp`] into an existing vector.
///
/// The vector is resized and overwritten.
///
/// # Errors
/// As [`decomp`].
pub fn decomp_into(
    marginal: &[f64],
    sizes: &[usize],
    kept: AxisSet,
    residual: &mut Vec<f64>,
) -> Result<()> {
    check("Decomp", "marginal", marginal.len(), sizes, kept, |n, _| n)?;
    let kept_sizes = kept.select(sizes);
    residual.resize(kept_sizes.iter().map(|n| n - 1).product(), 0.0);
    if residual.is_empty() {
        return Ok(());
    }
    let sums = sums(marginal, sizes, kept);
    let mut scratch = vec![0.0; scratch_cells(&kept_sizes)];
    differences(
        Wide::detect(),
        sums.as_deref().unwrap_or(marginal),
        &kept_sizes,
        None,
        residual,
        &mut scratch,
    );
    Ok(())
}

/// Returns the means of a row-major box along the axes that are not kept.
pub fn averaged(sizes: &[usize], kept: AxisSet, values: Vec<f64>) -> Vec<f64> {
    let Some(mut means) = sums(&values, sizes, kept) else { return values };
    let cells = values.len() as f64 / means.len() as f64;
    means.iter_mut().for_each(|sum| *sum /= cells);
    means
}

/// Returns the marginal on the kept axes: the sums over the others.
///
/// # Errors
/// `kept` has axes beyond `sizes`, a size is 0, or an array has the wrong length.
pub fn marginalised(marginal: &[f64], sizes: &[usize], kept: AxisSet) -> Result<Vec<f64>> {
    check("marginalising", "marginal", marginal.len(), sizes, kept, |n, _| n)?;
    Ok(summed(sizes, kept, marginal))
}

/// [`marginalised`] without checks.
///
/// The caller guarantees the length of the array.
pub fn summed(sizes: &[usize], kept: AxisSet, values: &[f64]) -> Vec<f64> {
    sums(values, sizes, kept).unwrap_or_else(|| values.to_vec())
}

/// Returns the sums over the axes that are not kept, or `None` if all are kept.
///
/// Axes that shrink the array most are summed first.
fn sums(values: &[f64], sizes: &[usize], kept: AxisSet) -> Option<Vec<f64>> {
    let mut runs = runs(sizes, kept);
    let mut current: Option<Vec<f64>> = None;
    let mut next = Vec::new();
    while let Some((index, _)) =
        runs.iter().enumerate().filter(|(_, run)| !run.0).max_by_key(|(_, run)| run.1)
    {
        let lengths: Vec<usize> = runs.iter().map(|run| run.1).collect();
        let view = AxisView::of(&lengths, index);
        next.resize(view.outer * view.inner, 0.0);
        axis::sum(current.as_deref().unwrap_or(values), view, &mut next);
        let read = current.replace(std::mem::take(&mut next));
        next = read.unwrap_or_default();
        runs.remove(index);
    }
    current
}

/// Returns the scratch cells that [`differences`] needs.
///
/// Two slices of differences per level, and one row at the last level.
fn scratch_cells(sizes: &[usize]) -> usize {
    (1..sizes.len()).map(|level| 2 * sizes[level..].iter().map(|n| n - 1).product::<usize>()).sum()
}

/// Computes `to = (⊗ S) from − minus`.
///
/// Every size is at least 2.
///
/// With D the differences along the axes after the first, `to[i] = D(from[i]) − D(from[0])`. The
/// second term is the same for all i. The recursion passes it down in `minus`. So each cell is read
/// from memory once, and the rest of its difference is at most one slice, in cache.
fn differences(
    wide: Wide,
    from: &[f64],
    sizes: &[usize],
    minus: Option<&[f64]>,
    to: &mut [f64],
    scratch: &mut [f64],
) {
    match *sizes {
        [] => to[0] = from[0],
        [_] => row(from, minus, to),
        [_, n] => wide.run(Plane { from, n, minus, to, corner: &mut scratch[..n - 1] }),
        [_, ref tail @ ..] => {
            let cells: usize = tail.iter().product();
            let entries: usize = tail.iter().map(|n| n - 1).product();
            let (corner, scratch) = scratch.split_at_mut(entries);
            let (first, others) = from.split_at(cells);
            differences(wide, first, tail, None, corner, scratch);
            let blocks = others.chunks_exact(cells).zip(to.chunks_exact_mut(entries));
            let Some(minus) = minus else {
                return blocks.for_each(|(from, to)| {
                    differences(wide, from, tail, Some(corner), to, scratch)
                });
            };
            let (both, scratch) = scratch.split_at_mut(entries);
            for ((from, to), minus) in blocks.zip(minus.chunks_exact(entries)) {
                wide.run(Sum { a: corner, b: minus, to: both });
                differences(wide, from, tail, Some(both), to, scratch);
            }
        }
    }
}

/// [`differences`] along two axes.
///
/// `corner` is scratch space for one row of differences.
struct Plane<'a> {
    from: &'a [f64],
    n: usize,
    minus: Option<&'a [f64]>,
    to: &'a mut [f64],
    corner: &'a mut [f64],
}

impl Loops for Plane<'_> {
    #[inline(always)]
    fn run(self) {
        let Plane { from, n, minus, to, corner } = self;
        let (first, others) = from.split_at(n);
        row(first, None, corner);
        let rows = others.chunks_exact(n).zip(to.chunks_exact_mut(n - 1));
        let Some(minus) = minus else {
            return rows.for_each(|(from, to)| row(from, Some(corner), to));
        };
        for ((from, to), minus) in rows.zip(minus.chunks_exact(n - 1)) {
            let first = from[0];
            fill3(to, &from[1..], corner, minus, |x, corner, minus| (x - first) - (corner + minus));
        }
    }
}

/// [`differences`] along one axis.
#[inline(always)]
fn row(from: &[f64], minus: Option<&[f64]>, to: &mut [f64]) {
    let (first, others) = (from[0], &from[1..]);
    match minus {
        None => fill1(to, others, |x| x - first),
        Some(minus) => fill2(to, others, minus, |x, minus| (x - first) - minus),
    }
}
