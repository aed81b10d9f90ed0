//! Lower triangular Toeplitz strategies whose inverse has few bands.

use ndarray::Array2;

use super::form::{AllocatedForm, square_root};

/// Lower triangular Toeplitz strategies with `C⁻¹ = I − Σ_k a_k Sᵏ`, k from 1 to p − 1, a ≥ 0 and the
/// shift S.
///
/// C is nonnegative. The noise of a step needs p − 1 earlier normals and no other state. With p = 2
/// this is DP-λCGD with a fitted λ = a₁ (Kalinin et al. 2026, arXiv 2601.22334). The banded inverse
/// fractional roots (BIFR, arXiv 2605.18379) and square roots are members.
///
/// The variables are a.
#[derive(Debug, Clone, Copy)]
pub struct InverseToeplitz {
    /// n.
    pub steps: usize,
    /// p, from 1 to n.
    pub bands: usize,
}

impl InverseToeplitz {
    /// Returns the first n coefficients of `1/(1 − Σ_k a_k xᵏ)`. O(n p).
    fn coefficients(&self, a: &[f64]) -> Vec<f64> {
        let mut c: Vec<f64> = Vec::with_capacity(self.steps);
        c.push(1.0);
        while c.len() < self.steps {
            let next = c.iter().rev().zip(a).map(|(c, a)| c * a).sum();
            c.push(next);
        }
        c
    }
}

impl AllocatedForm for InverseToeplitz {
    /// The coefficients of 1 − (1 − x)^½, for any number of bands of C.
    fn start(&self, _: usize) -> Vec<f64> {
        let roots = square_root(self.bands.max(2)).take(self.bands - 1);
        roots.enumerate().map(|(k, c)| c / (2.0 * (k + 1) as f64)).collect()
    }

    fn matrix(&self, x: &[f64]) -> Array2<f64> {
        let c = self.coefficients(x);
        Array2::from_shape_fn((self.steps, self.steps), |(t, s)| {
            t.checked_sub(s).map_or(0.0, |lag| c[lag])
        })
    }

    /// By ∂C/∂a_k = Sᵏ C². O(n²).
    fn gradient(&self, x: &[f64], of_matrix: &Array2<f64>) -> Vec<f64> {
        let n = self.steps;
        let c = self.coefficients(x);
        let square: Vec<f64> = (0..n)
            .map(|i| c[..=i].iter().zip(c[..=i].iter().rev()).map(|(a, b)| a * b).sum())
            .collect();
        let of_lags: Vec<f64> =
            (0..n).map(|lag| (lag..n).map(|t| of_matrix[[t, t - lag]]).sum()).collect();
        let sum = |k: usize| of_lags[k..].iter().zip(&square).map(|(x, y)| x * y).sum();
        (1..=x.len()).map(sum).collect()
    }
}
