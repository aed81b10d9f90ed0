//! The inner products of the contributions of the bins.

use ndarray::{Array2, ArrayView2, Axis};

use crate::error::{Error, Result};
use matmech_linalg::{cholesky, matmul};

/// Relative difference of entries that count as equal.
const EQUAL: f64 = 1e-9;

/// First share of the largest diagonal entry that is added to a singular M. A larger diagonal has a
/// larger δ.
const RIDGE: f64 = 1e-13;

/// M = SᵀS of a strategy, b×b with nonnegative entries.
#[derive(Debug, Clone)]
pub struct Bins {
    gram: Array2<f64>,
    /// A lower triangular F with FFᵀ ≥ M: M up to a ridge.
    factor: Array2<f64>,
}

impl Bins {
    /// Computes M of a lower triangular strategy C, n×n, for K epochs. O(n b (n + b)).
    ///
    /// # Errors
    /// C is not square or not lower triangular, K does not divide n, or M is not finite.
    pub fn of_strategy(strategy: ArrayView2<'_, f64>, epochs: usize) -> Result<Self> {
        let n = strategy.nrows();
        let refuse = |expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input("strategy of random allocation", expected, found, remedy))
        };
        if strategy.ncols() != n || n == 0 {
            let found = format!("{n} by {} numbers", strategy.ncols());
            return refuse("a square matrix, one row and column per step", found, "transpose it?");
        }
        if let Some(((t, s), x)) = strategy.indexed_iter().find(|((t, s), x)| s > t && **x != 0.0) {
            let found = format!("{x} in row {} and column {}", t + 1, s + 1);
            return refuse(
                "a lower triangular matrix",
                found,
                "noise must not depend on later steps",
            );
        }
        if epochs == 0 || !n.is_multiple_of(epochs) {
            let found = format!("{n} steps and {epochs} epochs");
            return refuse(
                "a number of steps that is a multiple of the epochs",
                found,
                "change one",
            );
        }
        let bins = n / epochs;
        let mut sums = Array2::<f64>::zeros((n, bins));
        for (s, column) in strategy.axis_iter(Axis(1)).enumerate() {
            sums.column_mut(s % bins).zip_mut_with(&column, |sum, x| *sum += x.abs());
        }
        Bins::of_gram(matmul(sums.t(), sums.view()))
    }

    /// Creates the inner products M.
    ///
    /// # Errors
    /// An entry is negative or not finite, or M is zero.
    pub fn of_gram(gram: Array2<f64>) -> Result<Self> {
        let largest = gram.diag().iter().copied().fold(0.0, f64::max);
        let valid = gram.iter().all(|x| *x >= 0.0 && x.is_finite());
        if !valid || largest <= 0.0 || gram.nrows() != gram.ncols() {
            return Err(Error::bad_input(
                "inner products of the bins",
                "a nonzero square matrix of finite numbers of at least 0",
                "another matrix",
                "use the absolute values of the strategy",
            ));
        }
        let mut ridge = RIDGE * largest;
        let factor = loop {
            let mut lifted = gram.clone();
            lifted.diag_mut().mapv_inplace(|x| x + ridge);
            match cholesky(lifted.view()) {
                Ok(factor) => break factor,
                Err(_) if ridge < 1e-6 * largest => ridge *= 10.0,
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Bins { gram, factor })
    }

    /// Returns b.
    pub fn count(&self) -> usize {
        self.gram.nrows()
    }

    /// Returns M.
    pub fn gram(&self) -> ArrayView2<'_, f64> {
        self.gram.view()
    }

    /// Returns F with FFᵀ = M up to a ridge, lower triangular.
    pub(super) fn factor(&self) -> ArrayView2<'_, f64> {
        self.factor.view()
    }

    /// Returns the largest diagonal entry and the largest other entry.
    pub fn largest(&self) -> (f64, f64) {
        let mut largest = (0.0, 0.0);
        for ((i, j), &x) in self.gram.indexed_iter() {
            let entry = if i == j { &mut largest.0 } else { &mut largest.1 };
            *entry = f64::max(*entry, x);
        }
        largest
    }

    /// Returns whether M = aI + c11ᵀ.
    pub fn is_exchangeable(&self) -> bool {
        let (diagonal, other) = self.largest();
        let near = |((i, j), x): ((usize, usize), &f64)| {
            let expected = if i == j { diagonal } else { other };
            (x - expected).abs() <= EQUAL * diagonal
        };
        self.gram.indexed_iter().all(near)
    }
}
