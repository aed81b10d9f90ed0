//! Recon: from a residual to its part of a marginal (S4, Alg. 2).

use super::axis::{self, Lanes, add_slices, total};
use super::{check, runs};
use crate::error::Result;

/// The part `Recon(ζ_τ, τ, γ)` of the marginal on γ that its residual on τ carries: centred along the kept axes, spread evenly over
/// the others. Π `sizes` cells, row-major. The pseudoinverse of [`decomp`](super::decomp).
///
/// *Time*: O(n_γ): the kept axes are centred while the array is small, in two passes over the residual however many they are, and
/// the last spreading writes each cell once. *Memory*: the result, at most one more array, and one of a slice's size.
/// *Source*: S4, Alg. 2, Thm 3.2.
///
/// # Errors
/// `sizes` and `kept` of different lengths, a size of 0, or a residual of another length than Π_{kept} (n_i − 1).
pub fn recon(residual: &[f64], sizes: &[usize], kept: &[bool]) -> Result<Vec<f64>> {
    let mut part = Vec::new();
    recon_into(residual, sizes, kept, &mut part)?;
    Ok(part)
}

/// [`recon`] into a vector that is used again: it gets the marginal's length, and what it held is overwritten.
///
/// # Errors
/// As [`recon`].
pub fn recon_into(residual: &[f64], sizes: &[usize], kept: &[bool], part: &mut Vec<f64>) -> Result<()> {
    check("Recon", "residual", residual.len(), sizes, kept, |n, kept| if kept { n - 1 } else { 1 })?;
    let own: Vec<usize> = sizes.iter().zip(kept).filter(|(_, kept)| **kept).map(|(&n, _)| n).collect();
    part.resize(own.iter().product(), 0.0);
    if residual.is_empty() {
        // An attribute of one value has no differences: its residuals carry nothing.
        part.resize(sizes.iter().product(), 0.0);
        part.fill(0.0);
        return Ok(());
    }
    let mut scratch = vec![0.0; scratch_cells(&own)];
    centred(residual, &own, None, part, &mut scratch);
    smear_all(part, &runs(sizes, kept));
    Ok(())
}

/// Spreads an array over the kept runs over the others too, the longest last: the array is small until then.
fn smear_all(part: &mut Vec<f64>, runs: &[(bool, usize)]) {
    let mut lengths: Vec<usize> = runs.iter().map(|&(kept, n)| if kept { n } else { 1 }).collect();
    let mut others: Vec<usize> = (0..runs.len()).filter(|&place| !runs[place].0).collect();
    others.sort_by_key(|&place| runs[place].1);
    let mut next = Vec::new();
    for place in others {
        lengths[place] = runs[place].1;
        let lanes = Lanes::of(&lengths, place);
        next.resize(lanes.outer * lanes.n * lanes.inner, 0.0);
        axis::smear(part, lanes, &mut next);
        std::mem::swap(part, &mut next);
    }
}

/// Scratch that [`centred`] needs: at every level the slice to be subtracted, twice, and the sum of the slices it is made from.
fn scratch_cells(sizes: &[usize]) -> usize {
    (1..sizes.len()).map(|level| 3 * sizes[level..].iter().product::<usize>()).sum()
}

/// `to = (⊗ S⁺) from − minus`; `sizes` are those of `to`, every one at least 2.
///
/// With C the centring along the axes after the first and m = C(Σ_i from[i])/n, the first slice of the result is −m and the others
/// are `C(from[i]) − m`: m goes down with the recursion as what is still to be subtracted.
fn centred(from: &[f64], sizes: &[usize], minus: Option<&[f64]>, to: &mut [f64], scratch: &mut [f64]) {
    match *sizes {
        [] => to[0] = from[0] - minus.map_or(0.0, |minus| minus[0]),
        [_] => row(from, minus, to),
        [m, ref tail @ ..] => {
            let cells: usize = tail.iter().product();
            let entries: usize = tail.iter().map(|n| n - 1).product();
            let (sums, scratch) = scratch.split_at_mut(entries);
            let (mean, scratch) = scratch.split_at_mut(cells);
            add_slices(from, sums);
            sums.iter_mut().for_each(|sum| *sum /= m as f64);
            centred(sums, tail, None, mean, scratch);
            let (first, others) = to.split_at_mut(cells);
            let blocks = from.chunks_exact(entries).zip(others.chunks_exact_mut(cells));
            match (minus, tail) {
                (None, _) => {
                    first.iter_mut().zip(&*mean).for_each(|(to, mean)| *to = -mean);
                    blocks.for_each(|(from, to)| centred(from, tail, Some(mean), to, scratch));
                }
                (Some(minus), [_]) => {
                    negated(mean, &minus[..cells], first);
                    for ((from, to), minus) in blocks.zip(minus[cells..].chunks_exact(cells)) {
                        row_minus_both(from, mean, minus, to);
                    }
                }
                (Some(minus), _) => {
                    negated(mean, &minus[..cells], first);
                    let (both, scratch) = scratch.split_at_mut(cells);
                    for ((from, to), minus) in blocks.zip(minus[cells..].chunks_exact(cells)) {
                        for ((both, mean), minus) in both.iter_mut().zip(&*mean).zip(minus) {
                            *both = mean + minus;
                        }
                        centred(from, tail, Some(both), to, scratch);
                    }
                }
            }
        }
    }
}

fn negated(a: &[f64], b: &[f64], to: &mut [f64]) {
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = -(a + b);
    }
}

fn row(from: &[f64], minus: Option<&[f64]>, to: &mut [f64]) {
    let mean = total(from) / to.len() as f64;
    let (first, others) = to.split_at_mut(1);
    first[0] = -mean;
    match minus {
        None => others.iter_mut().zip(from).for_each(|(to, x)| *to = x - mean),
        Some(minus) => {
            first[0] -= minus[0];
            for ((to, x), minus) in others.iter_mut().zip(from).zip(&minus[1..]) {
                *to = (x - mean) - minus;
            }
        }
    }
}

/// A row less its mean and two rows more: the innermost loop of three axes or more.
fn row_minus_both(from: &[f64], a: &[f64], b: &[f64], to: &mut [f64]) {
    let mean = total(from) / to.len() as f64;
    to[0] = -mean - (a[0] + b[0]);
    for (((to, x), a), b) in to[1..].iter_mut().zip(from).zip(&a[1..]).zip(&b[1..]) {
        *to = (x - mean) - (a + b);
    }
}
