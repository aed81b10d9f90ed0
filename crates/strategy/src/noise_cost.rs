//! What it takes to draw the noise of a strategy of prefix sums forward in time.

/// Memory and random numbers of noise that is drawn forward in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoiseCost {
    /// Numbers stored per coordinate.
    pub buffers: f64,
    /// Normals drawn per coordinate and step, those of earlier steps that are drawn again included:
    /// the largest number of a step, or the average for a tree.
    pub normals: f64,
    /// Coefficients stored once for all coordinates.
    pub coefficients: f64,
}

impl NoiseCost {
    /// Returns the details of a selection.
    pub fn details(self) -> Vec<(&'static str, f64)> {
        vec![
            ("buffers", self.buffers),
            ("normals", self.normals),
            ("coefficients", self.coefficients),
        ]
    }
}
