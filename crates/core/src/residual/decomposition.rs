//! Decomp, from a marginal to a residual (S4, Alg. 1), sums and means over some axes, and the
//! privacy cost and variance of measured residuals (S4, Sec. 4.3).

use super::array_shape::{check, runs};
use super::axis::{self, AxisView};
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

/// Returns the privacy coefficient `p_τ = Π_{i∈τ} (n_i − 1)/n_i`.
///
/// Measuring the residual on τ with noise of variance σ² costs ρ = p_τ/(2σ²) (S4, Prop. 4.3).
pub fn privacy_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    tau.select(sizes).iter().map(|&n| (n as f64 - 1.0) / n as f64).product()
}

/// Returns the variance coefficient `v_τ = p_τ · Π_{j∈γ∖τ} n_j⁻²`.
///
/// Noise of variance σ² on the residual on τ adds v_τ σ² to the variance of every cell of the
/// marginal on γ (S4, Prop. 4.4 and Eq. 6).
pub fn variance_coefficient(sizes: &[usize], tau: AxisSet) -> f64 {
    privacy_coefficient(sizes, tau) / cells_summed_out(sizes, tau).powi(2)
}

/// Returns n_{γ∖τ}, the number of marginal cells over which one residual cell is spread.
pub fn cells_summed_out(sizes: &[usize], tau: AxisSet) -> f64 {
    sizes
        .iter()
        .enumerate()
        .filter(|&(axis, _)| !tau.contains(axis))
        .map(|(_, &n)| n as f64)
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_equal_the_closed_forms() {
        let (sizes, first) = ([2, 5], AxisSet::from_number(0b01));
        assert_eq!(privacy_coefficient(&sizes, first), 0.5);
        assert_eq!(variance_coefficient(&sizes, first), 0.5 / 25.0);
        assert_eq!(
            (privacy_coefficient(&sizes, AxisSet::EMPTY), cells_summed_out(&sizes, AxisSet::EMPTY)),
            (1.0, 10.0)
        );
        assert_eq!(privacy_coefficient(&[1, 5], first), 0.0);
    }

    /// For independent noise of variance 1 on the cells, Σ_τ v_τ σ_τ² is 1.
    ///
    /// On the residuals it is noise of variance σ_τ² = n_{γ∖τ}.
    #[test]
    fn variance_coefficients_of_isotropic_noise_sum_to_one() {
        let sizes = [3, 4, 2];
        let sum: f64 = AxisSet::subsets(3)
            .map(|tau| variance_coefficient(&sizes, tau) * cells_summed_out(&sizes, tau))
            .sum();
        assert!((sum - 1.0).abs() < 1e-15, "{sum}");
    }
}
