//! Cells that a schema declares impossible, in estimated marginals.

use crate::domain::AttributeSet;
use crate::schema::Schema;

/// Sets the cells of a marginal that cannot occur to 0, and scales the others to the same sum.
///
/// Tables of conditions on other attributes say nothing about the marginal.
pub fn clear(schema: &Schema, set: AttributeSet, marginal: &mut [f64]) {
    let sizes = set.select(&schema.sizes());
    let before: f64 = marginal.iter().sum();
    let mut is_changed = false;
    for cells in schema.impossible().iter().filter(|cells| cells.attributes().is_subset(set)) {
        for (x, is_impossible) in marginal.iter_mut().zip(cells.cells(set, &sizes)) {
            if is_impossible {
                *x = 0.0;
                is_changed = true;
            }
        }
    }
    let after: f64 = marginal.iter().sum();
    if is_changed && before > 0.0 && after > 0.0 {
        marginal.iter_mut().for_each(|x| *x *= before / after);
    }
}
