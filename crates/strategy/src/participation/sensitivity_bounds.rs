//! The squared sensitivity of a strategy, exact or with an upper bound.

/// The squared sensitivity of a strategy under a participation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// The squared sensitivity, or an upper bound on it.
    pub squared: f64,
    /// A value that some contribution attains.
    pub attained: f64,
    /// The name of the upper bound, or `None` if the value is exact.
    pub bound: Option<&'static str>,
}

impl Sensitivity {
    /// Creates an exact value.
    pub(crate) fn exact(squared: f64) -> Self {
        Sensitivity { squared, attained: squared, bound: None }
    }
}
