//! Merges a finished level into the strategy.

use ndarray::Zip;

use super::boxes::add_box;
use super::inverse::Inverse;
use super::level::Level;
use crate::error::Result;
use matmech_linalg as linalg;

/// Maximum fall of the trace, as a factor, between two inversions.
///
/// Rounding errors of updates are relative to the matrices they start from.
const MAX_FALL: f64 = 4.0;

/// Maximum number of levels between two inversions.
const MAX_UPDATES: usize = 16;

impl Inverse {
    /// Merges a finished level: `V += EEᵀ`, `S −= Z Yᵀ`, `T −= Z Hᵀ + H Zᵀ`.
    ///
    /// O(n²·boxes) by matrix products, or O(n³) if S and T are recomputed.
    ///
    /// # Errors
    /// The matrices are no longer finite.
    pub(in crate::lsa) fn accept(&mut self, level: &Level) -> Result<()> {
        for part in level.parts() {
            add_box(&mut self.v, &part.cells, 1.0);
        }
        self.updates += 1;
        if self.updates >= MAX_UPDATES || level.trace() * MAX_FALL < self.trace_when_inverted {
            return self.invert();
        }
        let (y, z, h) = level.rows();
        let update = linalg::product(z.t(), y)?;
        Zip::from(&mut self.s).and(&update).and(update.t()).for_each(|s, a, b| *s -= 0.5 * (a + b));
        drop(update);
        let update = linalg::product(z.t(), h)?;
        Zip::from(&mut self.t).and(&update).and(update.t()).for_each(|t, a, b| *t -= a + b);
        self.trace = level.trace();
        Ok(())
    }
}
