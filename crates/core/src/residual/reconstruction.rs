//! Recon: from a residual to its part of a marginal (S4, Alg. 2).

use super::array_shape::{check, runs};
use super::axis::{self, AxisView, total};
use super::slices::{Mean, Sum, fill1, fill2, fill3};
use super::three_axes::{self, ThreeAxes};
use crate::domain::AxisSet;
use crate::error::Result;
use matmech_linalg::{Loops, Wide};

/// Returns the part `Recon(ζ_τ, τ, γ)` of the marginal on γ that its residual on τ determines.
///
/// It is centred along the kept axes and spread evenly over the others: Π `sizes` cells, row-major.
/// Recon is the pseudoinverse of [`decomp`](super::decomp).
///
/// *Time*: O(n_γ). The kept axes are centred first, while the array is small, in two passes over
/// the residual. The last spreading writes each cell once. *Memory*: the result, at most one more
/// array of its size, and a few of the size of a slice. *Source*: S4, Alg. 2, Thm 3.2.
///
/// # Errors
/// `kept` has axes beyond `sizes`, a size is 0, or the length of the residual is not Π_{kept} (n_i
/// − 1).
pub fn recon(residual: &[f64], sizes: &[usize], kept: AxisSet) -> Result<Vec<f64>> {
    let mut part = Vec::new();
    recon_into(residual, sizes, kept, &mut part)?;
    Ok(part)
}

/// [`recon`] into an existing vector.
///
/// The vector is resized and overwritten.
///
/// # Errors
/// As [`recon`].
pub fn recon_into(
    residual: &[f64],
    sizes: &[usize],
    kept: AxisSet,
    part: &mut Vec<f64>,
) -> Result<()> {
    check(
        "Recon",
        "residual",
        residual.len(),
        sizes,
        kept,
        |n, kept| if kept { n - 1 } else { 1 },
    )?;
    let kept_sizes = kept.select(sizes);
    part.resize(kept_sizes.iter().product(), 0.0);
    if residual.is_empty() {
        // An attribute of one value has no differences: its residuals are empty.
        part.resize(sizes.iter().product(), 0.0);
        part.fill(0.0);
        return Ok(());
    }
    if let [l, m, n] = kept_sizes[..]
        && n >= three_axes::MIN_LAST_AXIS
    {
        let mut scratch = vec![0.0; three_axes::scratch_cells([l, m, n])];
        Wide::detect().run(ThreeAxes {
            from: residual,
            sizes: [l, m, n],
            to: part,
            scratch: &mut scratch,
        });
    } else {
        let mut scratch = vec![0.0; scratch_cells(&kept_sizes)];
        centred(Wide::detect(), residual, &kept_sizes, None, part, &mut scratch);
    }
    smear_all(part, &runs(sizes, kept));
    Ok(())
}

/// Spreads an array over the runs that are not kept.
///
/// The longest run is last, so that the array stays small.
fn smear_all(part: &mut Vec<f64>, runs: &[(bool, usize)]) {
    let mut lengths: Vec<usize> = runs.iter().map(|&(kept, n)| if kept { n } else { 1 }).collect();
    let mut others: Vec<usize> = (0..runs.len()).filter(|&index| !runs[index].0).collect();
    others.sort_by_key(|&index| runs[index].1);
    let mut next = Vec::new();
    for index in others {
        lengths[index] = runs[index].1;
        let view = AxisView::of(&lengths, index);
        next.resize(view.outer * view.n * view.inner, 0.0);
        axis::smear(part, view, &mut next);
        std::mem::swap(part, &mut next);
    }
}

/// Returns the scratch cells that [`centred`] needs.
///
/// Per level, two slices to be subtracted and one sum of slices.
fn scratch_cells(sizes: &[usize]) -> usize {
    (1..sizes.len()).map(|level| 3 * sizes[level..].iter().product::<usize>()).sum()
}

/// Computes `to = (⊗ S⁺) from − minus`.
///
/// `sizes` are those of `to`, each at least 2.
///
/// With C the centring along the axes after the first and m = C(Σ_i from[i])/n, the first slice of
/// the result is −m and the others are `C(from[i]) − m`. The recursion passes m down in `minus`.
fn centred(
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
        [m, n] => {
            let (sums, mean) = scratch.split_at_mut(n - 1);
            wide.run(Plane { from, m, minus, to, sums, mean: &mut mean[..n] });
        }
        [m, ref tail @ ..] => {
            let cells: usize = tail.iter().product();
            let entries: usize = tail.iter().map(|n| n - 1).product();
            let (sums, scratch) = scratch.split_at_mut(entries);
            let (mean, scratch) = scratch.split_at_mut(cells);
            wide.run(Mean { slices: from, count: m, to: sums });
            centred(wide, sums, tail, None, mean, scratch);
            let (first, others) = to.split_at_mut(cells);
            let blocks = from.chunks_exact(entries).zip(others.chunks_exact_mut(cells));
            let Some(minus) = minus else {
                fill1(first, mean, |mean| -mean);
                // Backwards: the last slices that were summed are still in cache.
                return blocks
                    .rev()
                    .for_each(|(from, to)| centred(wide, from, tail, Some(mean), to, scratch));
            };
            let (both, scratch) = scratch.split_at_mut(cells);
            fill2(first, mean, &minus[..cells], |mean, minus| -(mean + minus));
            for ((from, to), minus) in blocks.zip(minus[cells..].chunks_exact(cells)) {
                wide.run(Sum { a: mean, b: minus, to: both });
                centred(wide, from, tail, Some(both), to, scratch);
            }
        }
    }
}

/// [`centred`] along two axes.
///
/// `sums` and `mean` are scratch space for a row of the residual and a row of the result.
struct Plane<'a> {
    from: &'a [f64],
    m: usize,
    minus: Option<&'a [f64]>,
    to: &'a mut [f64],
    sums: &'a mut [f64],
    mean: &'a mut [f64],
}

impl Loops for Plane<'_> {
    #[inline(always)]
    fn run(self) {
        let Plane { from, m, minus, to, sums, mean } = self;
        let n = mean.len();
        Mean { slices: from, count: m, to: sums }.run();
        row(sums, None, mean);
        let (first, others) = to.split_at_mut(n);
        let rows = from.chunks_exact(n - 1).zip(others.chunks_exact_mut(n));
        let Some(minus) = minus else {
            fill1(first, mean, |mean| -mean);
            return rows.for_each(|(from, to)| row(from, Some(mean), to));
        };
        fill2(first, mean, &minus[..n], |mean, minus| -(mean + minus));
        for ((from, to), minus) in rows.zip(minus[n..].chunks_exact(n)) {
            let row_mean = total(from) / n as f64;
            to[0] = -row_mean - (mean[0] + minus[0]);
            fill3(&mut to[1..], from, &mean[1..], &minus[1..], |x, mean, minus| {
                (x - row_mean) - (mean + minus)
            });
        }
    }
}

/// [`centred`] along one axis.
#[inline(always)]
fn row(from: &[f64], minus: Option<&[f64]>, to: &mut [f64]) {
    let mean = total(from) / to.len() as f64;
    let (first, others) = to.split_at_mut(1);
    first[0] = -mean;
    match minus {
        None => fill1(others, from, |x| x - mean),
        Some(minus) => {
            first[0] -= minus[0];
            fill2(others, from, &minus[1..], |x, minus| (x - mean) - minus);
        }
    }
}
