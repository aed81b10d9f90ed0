//! The coefficients of all forms, and their matrices.

use ndarray::{Array1, Array2, ArrayView2};

use super::{Chains, Form, NoiseRecurrence, Truncated};
use crate::error::{Error, Result};
use crate::workload::MAX_DENSE_CELLS;
use matmech_linalg as linalg;

/// The coefficients of streaming noise. Its squared sensitivity for standard normals is that of
/// [`assess`](Coefficients::assess), 1 up to rounding after a fit.
#[derive(Debug, Clone)]
pub enum Coefficients {
    /// One fitted recurrence.
    Recurrence(NoiseRecurrence),
    /// A sum of chains.
    Chains(Chains),
    /// Truncated exponentials.
    Truncated(Truncated),
}

impl Coefficients {
    /// Returns the form.
    pub fn form(&self) -> Form {
        match self {
            Coefficients::Recurrence(_) => Form::Recurrence,
            Coefficients::Chains(_) => Form::Chains,
            Coefficients::Truncated(_) => Form::Truncated,
        }
    }

    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        match self {
            Coefficients::Recurrence(form) => form.steps(),
            Coefficients::Chains(form) => form.steps(),
            Coefficients::Truncated(form) => form.steps(),
        }
    }

    /// Returns the number of numbers that are stored per coordinate.
    pub fn buffers(&self) -> usize {
        match self {
            Coefficients::Recurrence(form) => form.buffers(),
            Coefficients::Chains(form) => form.chains(),
            Coefficients::Truncated(form) => form.buffers(),
        }
    }

    /// Returns the number of independent normals per coordinate and step.
    pub fn normals_per_step(&self) -> usize {
        match self {
            Coefficients::Chains(form) => form.chains(),
            Coefficients::Recurrence(_) | Coefficients::Truncated(_) => 1,
        }
    }

    /// Returns the largest number of normals per coordinate that a step draws: new ones, and those
    /// of earlier steps again.
    pub fn draws_per_step(&self) -> usize {
        self.normals_per_step() + self.lags()
    }

    /// Returns the number of coefficients, which are stored once for all coordinates.
    pub fn stored(&self) -> usize {
        let (steps, buffers) = (self.steps(), self.buffers());
        match self {
            Coefficients::Recurrence(form) => buffers + steps * (2 * buffers + 2) + form.taps.len(),
            Coefficients::Chains(_) => steps * (2 * buffers + 2),
            Coefficients::Truncated(form) => {
                let rates = form.rates.len();
                rates + steps * (2 * rates + 2)
            }
        }
    }

    /// Returns the number of earlier steps whose normals are drawn again.
    pub(super) fn lags(&self) -> usize {
        match self {
            Coefficients::Recurrence(form) => form.epochs() - 1,
            Coefficients::Chains(_) => 0,
            Coefficients::Truncated(form) if form.keeps_history() => 0,
            Coefficients::Truncated(form) => form.copies() - 1,
        }
    }

    /// Returns the distance of the steps whose normals are drawn again.
    pub(super) fn lag(&self) -> usize {
        match self {
            Coefficients::Recurrence(form) => form.period,
            Coefficients::Chains(_) => 0,
            Coefficients::Truncated(form) => form.bands,
        }
    }

    /// Returns the linear map from the standard normals to the noise of the steps, n × normals, the
    /// normals in the order of the steps.
    ///
    /// # Errors
    /// Too many steps for a matrix.
    pub fn noise_matrix(&self) -> Result<Array2<f64>> {
        self.check_dense()?;
        Ok(match self {
            Coefficients::Recurrence(form) => form.noise_matrix(),
            Coefficients::Chains(form) => form.noise_matrix(),
            Coefficients::Truncated(form) => form.noise_matrix(),
        })
    }

    /// Returns the covariance of the noise of the steps, n × n. O(n³).
    ///
    /// # Errors
    /// Too many steps for a matrix.
    pub fn covariance(&self) -> Result<Array2<f64>> {
        self.check_dense()?;
        if let Coefficients::Chains(form) = self {
            return Ok(form.covariance());
        }
        let noise = self.noise_matrix()?;
        Ok(linalg::gram_of(noise.t()))
    }

    /// Returns the strategy C, n × n and lower triangular: C⁻¹C⁻ᵀ is the covariance. O(n³).
    ///
    /// # Errors
    /// Too many steps for a matrix, or the covariance of chains is singular to rounding.
    pub fn strategy_matrix(&self) -> Result<Array2<f64>> {
        self.check_dense()?;
        match self {
            Coefficients::Recurrence(form) => Ok(inverse(form.noise_matrix().view())),
            Coefficients::Truncated(form) => Ok(form.strategy_matrix()),
            Coefficients::Chains(form) => {
                Ok(inverse(linalg::cholesky(form.covariance().view())?.view()))
            }
        }
    }

    /// Returns `X = CᵀC`, n × n. O(n³).
    pub(super) fn gram(&self) -> Result<Array2<f64>> {
        Ok(linalg::gram_of(self.strategy_matrix()?.view()))
    }

    fn check_dense(&self) -> Result<()> {
        if self.steps() > MAX_DENSE_CELLS { Err(self.too_large()) } else { Ok(()) }
    }

    /// Returns the error of too many steps.
    pub(super) fn too_large(&self) -> Error {
        Error::too_large(
            "matrix of streaming noise",
            "steps",
            MAX_DENSE_CELLS as f64,
            self.steps() as f64,
            "drawing the noise needs no matrix; for a matrix, use fewer steps",
        )
    }
}

/// Returns the inverse of a lower triangular matrix, row by row. O(n³).
fn inverse(matrix: ArrayView2<'_, f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let mut inverse: Array2<f64> = Array2::zeros((n, n));
    for t in 0..n {
        let mut row: Array1<f64> = Array1::zeros(n);
        for s in 0..t {
            row.scaled_add(-matrix[[t, s]], &inverse.row(s));
        }
        row[t] = 1.0;
        row /= matrix[[t, t]];
        inverse.row_mut(t).assign(&row);
    }
    inverse
}
