//! The norm of the columns that is bounded.

/// The norm of the strategy's columns that is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnNorm {
    /// The L2 norm: Gaussian noise, zCDP and (ε, δ).
    L2,
    /// The L1 norm: Laplace noise, pure ε.
    L1,
}

impl ColumnNorm {
    /// Returns p; the objective is `Σ c_i/u_i^p`.
    pub fn exponent(self) -> f64 {
        match self {
            ColumnNorm::L2 => 1.0,
            ColumnNorm::L1 => 2.0,
        }
    }
}
