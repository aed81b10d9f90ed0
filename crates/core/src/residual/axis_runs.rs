//! Runs of neighbouring axes.

use crate::domain::AxisSet;

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
