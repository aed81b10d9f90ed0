//! The limits of a fit.

/// The limits of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamOptions {
    /// Relative gap of the certified optimum. Default 1e-7.
    pub tolerance: f64,
    /// Maximum number of steps of the fit. By default the limit of the form.
    pub max_iterations: Option<usize>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { tolerance: 1e-7, max_iterations: None }
    }
}
