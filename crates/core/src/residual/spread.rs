//! Adding a centred residual to a marginal that contains its attributes.

use super::array_shape::{check, runs};
use crate::domain::AxisSet;
use crate::error::Result;

/// Adds Recon of a centred residual: `marginal += centred / n_{γ∖τ}`.
///
/// The addend is the same for all cells that agree on the kept axes. With
/// `centred = (⊗_{i∈τ} (I − J/n_i)) μ_τ`, the sum over all τ ⊆ γ is μ_γ (S4, Prop. 3.1).
///
/// *Time*: O(n_γ), one pass. Adds a vector along kept inner axes and a constant along the others.
///
/// # Errors
/// `kept` has axes beyond `sizes`, a size is 0, or an array has the wrong length.
pub fn add_spread(
    marginal: &mut [f64],
    sizes: &[usize],
    kept: AxisSet,
    centred: &[f64],
) -> Result<()> {
    check("spreading a residual", "marginal", marginal.len(), sizes, kept, |n, _| n)?;
    check("spreading a residual", "residual", centred.len(), sizes, kept, |n, kept| {
        if kept { n } else { 1 }
    })?;
    spread_onto(marginal, sizes, kept, centred);
    Ok(())
}

/// [`add_spread`] without checks.
///
/// The caller guarantees the lengths of the arrays.
pub fn spread_onto(marginal: &mut [f64], sizes: &[usize], kept: AxisSet, centred: &[f64]) {
    debug_assert_eq!(marginal.len(), sizes.iter().product::<usize>());
    debug_assert_eq!(centred.len(), kept.select(sizes).iter().product::<usize>());
    if !marginal.is_empty() {
        let share = centred.len() as f64 / marginal.len() as f64;
        spread(marginal, &runs(sizes, kept), centred, share);
    }
}

/// [`spread_onto`] along merged axes, with a given share.
///
/// Recurses over the leading runs until one or two remain.
fn spread(marginal: &mut [f64], runs: &[(bool, usize)], centred: &[f64], share: f64) {
    match *runs {
        [] | [(true, _)] => add_scaled(marginal, centred, share),
        [(false, _)] => add_constant(marginal, centred[0] * share),
        [(true, _), _] => add_to_runs(marginal, centred, share),
        [(false, _), _] => add_to_slices(marginal, centred, share),
        [(true, blocks), ref rest @ ..] => {
            let parts = centred.chunks_exact(centred.len() / blocks);
            for (block, part) in marginal.chunks_exact_mut(marginal.len() / blocks).zip(parts) {
                spread(block, rest, part, share);
            }
        }
        [(false, blocks), ref rest @ ..] => {
            for block in marginal.chunks_exact_mut(marginal.len() / blocks) {
                spread(block, rest, centred, share);
            }
        }
    }
}

fn add_scaled(cells: &mut [f64], values: &[f64], share: f64) {
    for (cell, value) in cells.iter_mut().zip(values) {
        *cell += share * value;
    }
}

fn add_constant(cells: &mut [f64], value: f64) {
    cells.iter_mut().for_each(|cell| *cell += value);
}

/// Adds one value to each run of neighbouring cells.
///
/// Short runs have a length known at compile time, because a loop would cost more than the
/// additions.
fn add_to_runs(marginal: &mut [f64], values: &[f64], share: f64) {
    fn short<const N: usize>(marginal: &mut [f64], values: &[f64], share: f64) {
        for (run, value) in marginal.as_chunks_mut::<N>().0.iter_mut().zip(values) {
            add_constant(run, value * share);
        }
    }
    match marginal.len() / values.len() {
        1 => add_scaled(marginal, values, share),
        2 => short::<2>(marginal, values, share),
        3 => short::<3>(marginal, values, share),
        4 => short::<4>(marginal, values, share),
        5 => short::<5>(marginal, values, share),
        6 => short::<6>(marginal, values, share),
        7 => short::<7>(marginal, values, share),
        8 => short::<8>(marginal, values, share),
        length => {
            for (run, value) in marginal.chunks_exact_mut(length).zip(values) {
                add_constant(run, value * share);
            }
        }
    }
}

/// Adds the same values to each slice.
///
/// Repeats short slices in a buffer, so that the inner loop is longer.
fn add_to_slices(marginal: &mut [f64], values: &[f64], share: f64) {
    const BUFFER: usize = 64;
    let slice = values.len();
    if slice > BUFFER / 4 || marginal.len() < 2 * BUFFER {
        marginal.chunks_exact_mut(slice).for_each(|cells| add_scaled(cells, values, share));
        return;
    }
    let mut copies = [0.0; BUFFER];
    let length = BUFFER / slice * slice;
    let copies = &mut copies[..length];
    for copy in copies.chunks_exact_mut(slice) {
        copy.iter_mut().zip(values).for_each(|(copy, value)| *copy = share * value);
    }
    let mut chunks = marginal.chunks_exact_mut(length);
    for chunk in &mut chunks {
        chunk.iter_mut().zip(&*copies).for_each(|(cell, value)| *cell += value);
    }
    chunks.into_remainder().iter_mut().zip(&*copies).for_each(|(cell, value)| *cell += value);
}
