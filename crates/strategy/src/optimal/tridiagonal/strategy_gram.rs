//! The strategy's Gram matrix from the rational approximation.

use ndarray::Array2;

use super::evaluation::{approximation, scaled};
use super::iteration::Weights;
use crate::error::{Error, Result};
use crate::factor::GramSource;
use crate::workload::{MAX_DENSE_CELLS, Recurrence};

/// Error of the approximation of the strategy's entries.
const ERROR: f64 = 1e-14;

/// Products below this have no effect and are replaced by 0, because denormal numbers are slow.
const NEGLIGIBLE: f64 = 1e-250;

/// The strategy `X = D_μ^-½ K^½ D_μ^-½ / max v` of an optimum, computed on demand.
#[derive(Debug, Clone)]
pub(super) struct RecurrenceStrategy {
    /// The recurrence.
    pub recurrence: Recurrence,
    /// The weights μ and p.
    pub weights: Weights,
}

impl GramSource for RecurrenceStrategy {
    fn sensitivity_squared(&self) -> f64 {
        1.0
    }

    /// Computes `X_ij = a_i a_j Σ_t w_t h_i r_{i+1} ⋯ r_j` for i ≤ j, scaled, with
    /// `h_i = κ_i/(1 + tσ_iκ_i)` and `r_i = ρ_i κ_i/((1 + t m_i κ_i) κ_{i−1})`. O(cells² · nodes).
    fn gram(&self) -> Result<Array2<f64>> {
        let n = self.recurrence.cells();
        if n > MAX_DENSE_CELLS {
            return Err(Error::too_large(
                "matrix of the optimal strategy",
                "cells",
                MAX_DENSE_CELLS as f64,
                n as f64,
                "the bounds and the errors of the queries need no matrix; to save or to use the \
                 strategy's matrix, select it for fewer cells",
            ));
        }
        let (factors, gains) = (self.recurrence.squared_factors(), self.recurrence.squared_gains());
        let cells = scaled(&self.recurrence, &self.weights.cells);
        let queries = &self.weights.queries;
        let root = approximation(&self.recurrence, &cells, queries, ERROR);
        let nodes = root.shifts.len();
        let mut diagonal = Array2::zeros((n, nodes));
        let mut ratios = Array2::zeros((n, nodes));
        for (j, (&t, &w)) in root.shifts.iter().zip(&root.weights).enumerate() {
            let mut sigma = 0.0;
            for i in 0..n {
                let before = if i == 0 { 0.0 } else { queries[i - 1] };
                sigma = cells[i] + factors[i] * sigma / (1.0 + t * before * sigma);
                diagonal[[i, j]] = sigma;
            }
            let mut kappa = queries[n - 1];
            for i in (0..n).rev() {
                diagonal[[i, j]] = w * kappa / (1.0 + t * diagonal[[i, j]] * kappa);
                if i > 0 {
                    let quotient = kappa / (1.0 + t * cells[i] * kappa);
                    kappa = queries[i - 1] + factors[i] * quotient;
                    ratios[[i, j]] = factors[i].sqrt() * quotient / kappa;
                }
            }
        }
        let mut gram = Array2::zeros((n, n));
        let mut products = vec![0.0; nodes];
        for i in 0..n {
            products.iter_mut().zip(diagonal.row(i)).for_each(|(product, h)| *product = *h);
            gram[[i, i]] = gains[i] * products.iter().sum::<f64>();
            for j in i + 1..n {
                for (product, ratio) in products.iter_mut().zip(ratios.row(j)) {
                    let next = *product * ratio;
                    *product = if next > NEGLIGIBLE { next } else { 0.0 };
                }
                let entry = (gains[i] * gains[j]).sqrt() * products.iter().sum::<f64>();
                gram[[i, j]] = entry;
                gram[[j, i]] = entry;
            }
        }
        let largest = gram.diag().iter().copied().fold(0.0, f64::max);
        gram /= largest;
        Ok(gram)
    }
}
