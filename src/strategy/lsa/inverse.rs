//! The strategy found so far, seen from the workload: `S = V⁻¹`, `T = S G S`, `tr(S G)`.

use ndarray::{Array1, Array2, Axis, Zip};

use crate::error::{Error, Result};
use crate::linalg;

/// `V = AᵀA` of the strategy found so far with its inverse, and the workload's Gram G as both see
/// it. Five dense matrices.
#[derive(Debug, Clone)]
pub(in crate::strategy::lsa) struct Inverse {
    gram: Array2<f64>,
    pub(super) v: Array2<f64>,
    /// `S = V⁻¹`, row-major and exactly symmetric.
    pub(super) s: Array2<f64>,
    /// `T = S G S`, row-major and exactly symmetric.
    pub(super) t: Array2<f64>,
    /// `tr(S G)`: the workload's total variance at unit noise.
    pub(super) trace: f64,
    pub(super) trace_when_inverted: f64,
    /// Levels merged in since S and T were computed from V alone.
    pub(super) updates: usize,
}

impl Inverse {
    /// Starts from the strategy with Gram `v`.
    ///
    /// # Errors
    /// `v` is not positive definite.
    pub(in crate::strategy::lsa) fn new(gram: Array2<f64>, v: Array2<f64>) -> Result<Self> {
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

    /// `tr(V⁻¹ G)`.
    pub(in crate::strategy::lsa) fn trace(&self) -> f64 {
        self.trace
    }

    /// Everything from `V` alone. O(n³).
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

/// `(A + Aᵀ)/2`, row-major.
fn symmetric_part(a: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros(a.dim());
    Zip::from(&mut out).and(a).and(a.t()).for_each(|out, a, b| *out = 0.5 * (a + b));
    out
}

/// Refuses Grams that no workload has (not positive semidefinite), and those without a query.
///
/// # Errors
/// As said.
pub(in crate::strategy::lsa) fn check_gram(what: &str, gram: &Array2<f64>) -> Result<()> {
    // Rounding in the Cholesky factorisation stays far below this share of the trace, and so do
    // harmless eigenvalues.
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
        let least = linalg::eigvalsh(gram.view()).ok().and_then(|values| values.first().copied());
        let found =
            least.map_or("a negative pivot".to_string(), |e| format!("the eigenvalue {e:.3e}"));
        Error::bad_input(
            what,
            "a positive semidefinite Gram matrix",
            found,
            "pass WᵀW of a workload matrix W with one column per cell",
        )
    })
}

/// The sum of the rows of a symmetric matrix over some cells: `A 1_cells`.
pub(super) fn sum_rows(a: &Array2<f64>, cells: &[usize]) -> Array1<f64> {
    let mut out = Array1::zeros(a.ncols());
    for &cell in cells {
        out += &a.index_axis(Axis(0), cell);
    }
    out
}
