//! The current strategy relative to the workload: `S = V⁻¹`, `T = S G S`, `tr(S G)`.

use ndarray::{Array1, Array2, Axis, Zip};

use crate::error::{Error, Result};
use matmech_linalg as linalg;

/// `V = AᵀA` of the current strategy, its inverse, and the workload's Gram matrix G.
///
/// Five dense matrices with T.
#[derive(Debug, Clone)]
pub(in crate::lsa) struct Inverse {
    gram: Array2<f64>,
    pub(super) v: Array2<f64>,
    /// `S = V⁻¹`, row-major and exactly symmetric.
    pub(super) s: Array2<f64>,
    /// `T = S G S`, row-major and exactly symmetric.
    pub(super) t: Array2<f64>,
    /// `tr(S G)`, the workload's total variance at unit noise.
    pub(super) trace: f64,
    pub(super) trace_when_inverted: f64,
    /// Levels merged since S and T were last computed from V.
    pub(super) updates: usize,
}

impl Inverse {
    /// Creates the state for the strategy with Gram matrix `v`.
    ///
    /// # Errors
    /// `v` is not positive definite.
    pub(in crate::lsa) fn new(gram: Array2<f64>, v: Array2<f64>) -> Result<Self> {
        let zeros = Array2::zeros((0, 0));
        let mut out = Inverse {
            gram,
            v,
            s: zeros.clone(),
            t: zeros,
            trace: 0.0,
            trace_when_inverted: 0.0,
            updates: 0,
        };
        out.invert()?;
        Ok(out)
    }

    /// Returns `tr(V⁻¹ G)`.
    pub(in crate::lsa) fn trace(&self) -> f64 {
        self.trace
    }

    /// Recomputes S, T and the traces from V. O(n³).
    pub(super) fn invert(&mut self) -> Result<()> {
        self.s = symmetric_part(&linalg::spd_inverse(self.v.view())?);
        let gs = linalg::product(self.gram.view(), self.s.view())?;
        self.t = symmetric_part(&linalg::product(self.s.view(), gs.view())?);
        self.trace = gs.diag().sum();
        self.trace_when_inverted = self.trace;
        self.updates = 0;
        Ok(())
    }
}

/// Returns `(A + Aᵀ)/2`, row-major.
fn symmetric_part(a: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros(a.dim());
    Zip::from(&mut out).and(a).and(a.t()).for_each(|out, a, b| *out = 0.5 * (a + b));
    out
}

/// Checks that a Gram matrix is positive semidefinite and not zero.
///
/// # Errors
/// The matrix is zero, or it has a negative eigenvalue.
pub(in crate::lsa) fn check_gram(what: &str, gram: &Array2<f64>) -> Result<()> {
    // Rounding of the Cholesky factorisation is far below this share of the trace.
    const NEGLIGIBLE: f64 = 1e-10;
    let trace = gram.diag().sum();
    if trace.is_nan() || trace <= 0.0 {
        return Err(Error::bad_input(
            what,
            "a workload with at least one non-zero query",
            "a Gram matrix of zeros",
            "drop this workload: it needs no measurement",
        ));
    }
    let mut shifted = gram.clone();
    shifted.diag_mut().mapv_inplace(|d| d + NEGLIGIBLE * trace);
    linalg::cholesky(shifted.view()).map(drop).map_err(|_| {
        let smallest =
            linalg::eigvalsh(gram.view()).ok().and_then(|values| values.first().copied());
        let found =
            smallest.map_or("a negative pivot".to_string(), |e| format!("the eigenvalue {e:.3e}"));
        Error::bad_input(
            what,
            "a positive semidefinite Gram matrix",
            found,
            "pass WᵀW of a workload matrix W with one column per cell",
        )
    })
}

/// Returns `A 1_cells`, the sum of the rows of a symmetric matrix over some cells.
pub(super) fn sum_rows(a: &Array2<f64>, cells: &[usize]) -> Array1<f64> {
    let mut out = Array1::zeros(a.ncols());
    for &cell in cells {
        out += &a.index_axis(Axis(0), cell);
    }
    out
}
