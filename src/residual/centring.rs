//! Centring in place: Recon ∘ Decomp along all axes.

use super::axis::{add_slices, total};

/// Subtracts from a vector over a row-major box its mean along every axis in turn: its residual part, `(⊗ (I − J/n_i)) x`, which is
/// Recon(Decomp(x)) with all axes kept. Zero if some axis has one value only; the identity if there is no axis.
///
/// *Time*: O(cells): two passes over memory, the rest in cache. *Memory*: two arrays of a slice's size.
///
/// # Panics
/// `values` of another length than Π `sizes`.
pub fn centre_in_place(sizes: &[usize], values: &mut [f64]) {
    assert_eq!(values.len(), sizes.iter().product::<usize>(), "centring: length of the array of sizes {sizes:?}");
    if sizes.contains(&1) {
        values.fill(0.0);
    } else if !values.is_empty() {
        let scratch: usize = (1..sizes.len()).map(|level| 2 * sizes[level..].iter().product::<usize>()).sum();
        centre(values, sizes, None, &mut vec![0.0; scratch]);
    }
}

/// `x ← (⊗ (I − J/n_i)) x − minus`. The mean of the slices along the first axis, centred along the others, is what all slices lose
/// beside their own centring; it goes down with the recursion.
fn centre(x: &mut [f64], sizes: &[usize], minus: Option<&[f64]>, scratch: &mut [f64]) {
    match *sizes {
        [] => x[0] -= minus.map_or(0.0, |minus| minus[0]),
        [_] => row(x, minus),
        [m, ref tail @ ..] => {
            let cells: usize = tail.iter().product();
            let (mean, scratch) = scratch.split_at_mut(cells);
            add_slices(x, mean);
            mean.iter_mut().for_each(|sum| *sum /= m as f64);
            centre(mean, tail, None, scratch);
            let slices = x.chunks_exact_mut(cells);
            match (minus, tail) {
                (None, _) => slices.for_each(|slice| centre(slice, tail, Some(mean), scratch)),
                (Some(minus), [_]) => {
                    for (slice, minus) in slices.zip(minus.chunks_exact(cells)) {
                        let own = total(slice) / cells as f64;
                        for ((x, mean), minus) in slice.iter_mut().zip(&*mean).zip(minus) {
                            *x = (*x - own) - (mean + minus);
                        }
                    }
                }
                (Some(minus), _) => {
                    let (both, scratch) = scratch.split_at_mut(cells);
                    for (slice, minus) in slices.zip(minus.chunks_exact(cells)) {
                        for ((both, mean), minus) in both.iter_mut().zip(&*mean).zip(minus) {
                            *both = mean + minus;
                        }
                        centre(slice, tail, Some(both), scratch);
                    }
                }
            }
        }
    }
}

fn row(x: &mut [f64], minus: Option<&[f64]>) {
    let mean = total(x) / x.len() as f64;
    match minus {
        None => x.iter_mut().for_each(|x| *x -= mean),
        Some(minus) => x.iter_mut().zip(minus).for_each(|(x, minus)| *x = (*x - mean) - minus),
    }
}
