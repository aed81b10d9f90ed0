//! What measures one residual subspace: the certified optimum, a Fourier basis, or given bases.

mod bases;
mod certified;
mod fourier;

pub use bases::{AttributeBasis, Bases, BasisSolver, PrefixBasis, ResidualBasis};
pub use certified::CertifiedSolver;
pub(super) use certified::{go_by_rows, refuse_beyond};
pub use fourier::FourierSolver;

use ndarray::Array2;

use super::kernel::Kernel;
use super::subspace::SubspaceStrategy;
use crate::domain::AttributeKind;
use crate::error::{Error, Result};
use crate::linalg;

/// One residual problem: minimise `tr(G V⁺)` over V ⪰ 0 with diagonal at most 1,
/// `G = Σ coefficient · ⊗ kernels`.
#[derive(Debug, Clone)]
pub struct SubspaceProblem<'a> {
    /// The sizes of the attributes.
    pub sizes: &'a [usize],
    /// The classes of the attributes, as [`SubspaceSolver::class`] gives them.
    pub classes: &'a [usize],
    /// The terms of G: a coefficient, and one kernel per attribute or one over all.
    pub terms: Vec<(f64, Vec<&'a Kernel>)>,
}

/// A strategy for a residual problem.
#[derive(Debug)]
pub struct Solved {
    /// The strategy, at unit privacy cost.
    pub strategy: SubspaceStrategy,
    /// `tr(G V⁺)`.
    pub error: f64,
    /// No strategy for the problem has a smaller error; for solvers that prove it.
    pub lower_bound: Option<f64>,
    /// Eigendecompositions used.
    pub iterations: usize,
}

/// Chooses strategies for residual subspaces. Problems that are one product of kernels reach it
/// factor by factor, because for all solvers here the product of the factors' strategies is the
/// strategy of the product.
pub trait SubspaceSolver: std::fmt::Debug + Send + Sync {
    /// One word for reports.
    fn name(&self) -> &str;

    /// The class of an attribute: problems that differ only in attributes of the same class and
    /// size are equal. By default all attributes are of one class.
    fn class(&self, _position: usize, _kind: AttributeKind) -> usize {
        0
    }

    /// Refuses a problem that is no product of kernels from its size alone, before any query is
    /// gone through: `joint_rows` is their number if it consists of joint queries only. By default
    /// everything fits.
    ///
    /// # Errors
    /// The problem needs more memory than it may.
    fn check_fits(&self, _sizes: &[usize], _joint_rows: Option<usize>) -> Result<()> {
        Ok(())
    }

    /// Solves one problem.
    ///
    /// # Errors
    /// The problem is too large, or a kernel of the linear algebra fails.
    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved>;
}

impl SubspaceProblem<'_> {
    /// Whether G is one product of one-attribute kernels, which is solved factor by factor.
    pub(super) fn is_product(&self) -> bool {
        matches!(self.terms.as_slice(), [(_, kernels)] if kernels.len() == self.sizes.len())
    }

    /// The number of rows of G, if it consists of joint queries only.
    pub(super) fn joint_rows(&self) -> Option<usize> {
        self.terms.iter().try_fold(0usize, |count, (_, kernels)| match kernels.as_slice() {
            [joint] => joint.joint_rows().map(|rows| count.saturating_add(rows)),
            _ => None,
        })
    }

    /// The rows of G, √coefficient each.
    pub(super) fn rows(&self) -> Result<Array2<f64>> {
        let cells: usize = self.sizes.iter().product();
        let mut values = Vec::with_capacity(self.joint_rows().unwrap_or(0) * cells);
        for (coefficient, kernels) in &self.terms {
            for kernel in kernels {
                for row in kernel.rows()? {
                    values.extend(row.into_iter().map(|x| x * coefficient.sqrt()));
                }
            }
        }
        Array2::from_shape_vec((values.len() / cells, cells), values)
            .map_err(|e| Error::bug("rows of joint queries", "one value per cell", e))
    }

    /// G as one dense matrix, cells × cells.
    ///
    /// # Errors
    /// Too many cells.
    pub fn gram(&self) -> Result<Array2<f64>> {
        let cells: usize = self.sizes.iter().product();
        let mut sum = Array2::zeros((cells, cells));
        for (coefficient, kernels) in &self.terms {
            match kernels.as_slice() {
                [single] => sum.scaled_add(*coefficient, single.gram()?.as_ref()),
                several => {
                    let grams = several.iter().map(|k| k.gram()).collect::<Result<Vec<_>>>()?;
                    sum.scaled_add(*coefficient, &linalg::kron_all(grams.iter().map(|g| g.view())));
                }
            }
        }
        Ok(sum)
    }
}
