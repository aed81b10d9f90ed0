//! The multiplicative method `y ← y ∘ g / F`, which keeps y on the simplex and increases F.

use super::reduced::{Reduced, Search};

/// Runs from the best point until the gap reaches the tolerance or the updates are used up.
///
/// O(k n) per update.
pub(super) fn run(reduced: &Reduced, search: &mut Search, tolerance: f64, updates: usize) {
    let mut y = &search.dual / search.dual.sum();
    for _ in 0..updates {
        let point = reduced.at(&y);
        search.record(&y, &point);
        if search.gap() <= tolerance {
            return;
        }
        y.zip_mut_with(&point.g, |y, g| *y *= g / point.value);
    }
}
