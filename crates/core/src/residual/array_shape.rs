//! Shapes of the arrays of in-axis operations: runs of neighbouring axes, and checks.

use crate::domain::AxisSet;
use crate::error::{Error, Result};

/// Merges neighbouring axes that are all kept or all not kept.
///
/// Returns whether they are kept, and the product of their sizes.
pub fn runs(sizes: &[usize], kept: AxisSet) -> Vec<(bool, usize)> {
    let mut runs: Vec<(bool, usize)> = Vec::with_capacity(sizes.len());
    for (axis, &n) in sizes.iter().enumerate() {
        let kept = kept.contains(axis);
        match runs.last_mut() {
            Some((kind, product)) if *kind == kept => *product *= n,
            _ => runs.push((kept, n)),
        }
    }
    runs
}

/// Checks sizes, kept axes and the length of an array.
///
/// The expected length is the product of `cells(size, is_kept)` over the axes. `what` is the
/// operation and `array` the name of its input.
///
/// # Errors
/// Sizes that do not describe a box, axes beyond the sizes, or an array of the wrong length.
pub(super) fn check(
    what: &str,
    array: &str,
    found: usize,
    sizes: &[usize],
    kept: AxisSet,
    cells: impl Fn(usize, bool) -> usize,
) -> Result<()> {
    let refuse = |expected: String, found: String, remedy: &str| {
        Err(Error::bad_input(what, expected, found, remedy))
    };
    if kept.end() > sizes.len() {
        let expected = format!("axes below {}", sizes.len());
        return refuse(expected, format!("{kept:?}"), "name axes of the array, from 0");
    }
    if sizes.contains(&0) || sizes.iter().try_fold(1usize, |all, &n| all.checked_mul(n)).is_none() {
        let expected = "sizes of at least 1 whose product fits in memory".into();
        return refuse(
            expected,
            format!("{sizes:?}"),
            "give the number of values of each attribute",
        );
    }
    let expected: usize =
        sizes.iter().enumerate().map(|(axis, &n)| cells(n, kept.contains(axis))).product();
    if found != expected {
        let expected =
            format!("a {array} of {expected} cells for sizes {sizes:?}, kept axes {kept:?}");
        return refuse(
            expected,
            found.to_string(),
            "pass row-major values, the last attribute fastest",
        );
    }
    Ok(())
}
