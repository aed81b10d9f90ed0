//! What the fit minimises for one cost: `ln tr(G (CᵀC)⁻¹) + ln cost(M(C))`.

use ndarray::{Array2, ArrayView2};

use super::cost::Cost;
use super::form::AllocatedForm;
use crate::error::{Error, Result};
use matmech_linalg::{Entries, SmoothFunction, inverse_of_lower, lower_of_product, matmul};

/// The loss of a form of strategies. An evaluation takes 5n³/3 flops for the error, and at most 2nb²
/// for the cost.
pub(super) struct Loss<'a> {
    pub form: &'a dyn AllocatedForm,
    /// G, n×n.
    pub gram: ArrayView2<'a, f64>,
    pub cost: &'a Cost,
    /// b.
    pub bins: usize,
}

/// The two parts of the loss and their derivatives by the entries of C on and below the diagonal.
#[derive(Debug)]
pub(super) struct Parts {
    /// tr(G (CᵀC)⁻¹).
    pub error: f64,
    pub of_error: Array2<f64>,
    /// The cost of M(C).
    pub cost: f64,
    pub of_cost: Array2<f64>,
}

/// Returns tr(G (CᵀC)⁻¹), or infinity if C is singular.
pub(super) fn total_error(gram: ArrayView2<'_, f64>, strategy: ArrayView2<'_, f64>) -> f64 {
    if strategy.diag().iter().any(|x| *x <= 0.0) {
        return f64::INFINITY;
    }
    let inverse = inverse_of_lower(strategy);
    let product = lower_of_product((gram, Entries::All), (inverse.view(), Entries::Lower));
    product.iter().zip(&inverse).map(|(a, b)| a * b).sum()
}

impl Parts {
    /// Computes the parts for b bins, or none if C is singular.
    pub fn of(
        gram: ArrayView2<'_, f64>,
        (cost, bins): (&Cost, usize),
        strategy: &Array2<f64>,
    ) -> Option<Self> {
        if strategy.diag().iter().any(|x| x.is_nan() || *x <= 0.0) {
            return None;
        }
        let n = strategy.nrows();
        // E = C⁻¹, and the lower triangles of GE, EᵀGE and EᵀGE Eᵀ: each needs no other entries of
        // the one before.
        let inverse = inverse_of_lower(strategy.view());
        let (lower, upper) = ((inverse.view(), Entries::Lower), (inverse.t(), Entries::Upper));
        let product = lower_of_product((gram, Entries::All), lower);
        let error = product.iter().zip(&inverse).map(|(a, b)| a * b).sum();
        // d tr(EᵀGE) = −2 ⟨EᵀGE Eᵀ, dC⟩.
        let covariance = lower_of_product(upper, (product.view(), Entries::Lower));
        let of_error = lower_of_product((covariance.view(), Entries::Lower), upper) * -2.0;
        let mut sums = Array2::<f64>::zeros((n, bins));
        for (mut sums, row) in sums.rows_mut().into_iter().zip(strategy.rows()) {
            row.iter().enumerate().for_each(|(s, x)| sums[s % bins] += x.abs());
        }
        let slope = cost.slope(&sums);
        let images = match bins == n {
            // One epoch: S = |C|.
            true => lower_of_product((sums.view(), Entries::Lower), (slope.view(), Entries::All)),
            false => matmul(sums.view(), slope.view()),
        };
        let cost = images.iter().zip(&sums).map(|(a, b)| a * b).sum();
        let of_cost = Array2::from_shape_fn((n, n), |(t, s)| {
            let sign = if strategy[[t, s]] < 0.0 { -1.0 } else { 1.0 };
            if s > t { 0.0 } else { 2.0 * sign * images[[t, s % bins]] }
        });
        Some(Parts { error, of_error, cost, of_cost })
    }
}

impl SmoothFunction for Loss<'_> {
    type Error = Error;

    const MEMORY: usize = 20;

    const FIRST_STEP: f64 = 0.05;

    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let strategy = self.form.matrix(x);
        let Some(parts) = Parts::of(self.gram, (self.cost, self.bins), &strategy) else {
            return Ok((f64::INFINITY, vec![0.0; x.len()]));
        };
        let value = parts.error.ln() + parts.cost.ln();
        let of_matrix = parts.of_error / parts.error + parts.of_cost / parts.cost;
        Ok((value, self.form.gradient(x, &of_matrix)))
    }
}
