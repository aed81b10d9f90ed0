//! Lower triangular Toeplitz strategies.

use ndarray::Array2;

use super::form::{AllocatedForm, banded_square_root};

/// Lower triangular Toeplitz strategies with p bands.
#[derive(Debug, Clone, Copy)]
pub struct Toeplitz {
    /// n.
    pub steps: usize,
    /// p, from 1 to n.
    pub bands: usize,
}

impl AllocatedForm for Toeplitz {
    fn start(&self, bands: usize) -> Vec<f64> {
        banded_square_root(bands, self.bands)
    }

    fn matrix(&self, x: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((self.steps, self.steps), |(t, s)| {
            t.checked_sub(s).and_then(|lag| x.get(lag)).copied().unwrap_or(0.0)
        })
    }

    fn gradient(&self, x: &[f64], of_matrix: &Array2<f64>) -> Vec<f64> {
        let diagonal = |lag: usize| (lag..self.steps).map(|t| of_matrix[[t, t - lag]]).sum();
        (0..x.len()).map(diagonal).collect()
    }
}
