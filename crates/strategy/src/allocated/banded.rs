//! Lower triangular strategies with p bands.

use ndarray::Array2;

use super::form::{AllocatedForm, banded_square_root};

/// All lower triangular strategies with entries in p bands.
#[derive(Debug, Clone, Copy)]
pub struct Banded {
    /// n.
    pub steps: usize,
    /// p, from 1 to n.
    pub bands: usize,
}

impl Banded {
    /// Iterates over the positions (t, s) of the variables.
    fn positions(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.steps)
            .flat_map(move |t| ((t + 1).saturating_sub(self.bands)..=t).map(move |s| (t, s)))
    }

    /// Returns the variables of a matrix; entries outside the bands are left out.
    pub fn variables(self, matrix: &Array2<f64>) -> Vec<f64> {
        self.positions().map(|position| matrix[position]).collect()
    }
}

impl AllocatedForm for Banded {
    fn start(&self, bands: usize) -> Vec<f64> {
        let c = banded_square_root(bands, self.bands);
        self.positions().map(|(t, s)| c[t - s]).collect()
    }

    fn matrix(&self, x: &[f64]) -> Array2<f64> {
        let mut matrix = Array2::zeros((self.steps, self.steps));
        self.positions().zip(x).for_each(|(position, x)| matrix[position] = *x);
        matrix
    }

    fn gradient(&self, _: &[f64], of_matrix: &Array2<f64>) -> Vec<f64> {
        self.variables(of_matrix)
    }
}
