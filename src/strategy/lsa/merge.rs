//! A finished level becomes part of the strategy.

use ndarray::Zip;

use super::boxes::add_box;
use super::inverse::Inverse;
use super::level::Level;
use crate::error::Result;
use crate::linalg;

/// Rounding errors of updates are relative to the matrices they started from: start anew when the
/// trace has fallen by this factor, or after [`MOST_UPDATES`] levels.
const LARGEST_FALL: f64 = 4.0;

/// Most levels between two inversions from scratch.
const MOST_UPDATES: usize = 16;

impl Inverse {
    /// Makes a finished level part of the strategy: `V += EEᵀ`, `S −= Z Yᵀ`, `T −= Z Hᵀ + H Zᵀ`.
    /// O(n²·boxes) by matrix products, O(n³) when it is time to invert anew.
    ///
    /// # Errors
    /// The matrices are not finite any more.
    pub(in crate::strategy::lsa) fn accept(&mut self, level: &Level) -> Result<()> {
        for part in level.parts() {
            add_box(&mut self.v, &part.cells, 1.0);
        }
        self.updates += 1;
        if self.updates >= MOST_UPDATES || level.trace() * LARGEST_FALL < self.trace_when_inverted {
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
