//! Solvers for one residual subspace: the certified optimum, a Fourier basis, or fixed bases.

mod bases;
mod certified;
mod fourier;
mod near;
mod proved;

pub use bases::{AttributeBasis, Bases, BasisSolver, PrefixBasis, ResidualBasis};
pub use certified::CertifiedSolver;
pub(super) use certified::{check_dense_memory, solves_by_rows};
pub use fourier::FourierSolver;
pub(super) use near::NearSolver;
pub use proved::ProvedSolver;

use ndarray::Array2;

use super::kernel::Kernel;
use super::subspace::SubspaceStrategy;
use crate::domain::AttributeKind;
use crate::error::{Error, Result};
use crate::strategy::Proof;
use matmech_linalg as linalg;

/// A residual problem: minimise `tr(G V⁺)` over V ⪰ 0 with diagonal at most 1.
///
/// `G = Σ coefficient · ⊗ kernels`.
#[derive(Debug, Clone)]
pub struct SubspaceProblem<'a> {
    /// The sizes of the attributes.
    pub sizes: &'a [usize],
    /// The classes of the attributes, from [`SubspaceSolver::class`].
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
    /// A certified lower bound on the error of all strategies, if the solver proves one.
    pub lower_bound: Option<f64>,
    /// The weights that prove the lower bound and the error, if the solver has them.
    pub proof: Option<Proof>,
    /// The number of eigendecompositions.
    pub iterations: usize,
}

/// Chooses strategies for residual subspaces.
///
/// A problem that is one product of kernels is solved factor by factor: for all solvers here, the
/// strategy of a product is the product of the factors' strategies.
pub trait SubspaceSolver: std::fmt::Debug + Send + Sync {
    /// Returns one word for reports.
    fn name(&self) -> &str;

    /// Returns the class of an attribute.
    ///
    /// Problems are equal if they differ only in attributes of the same class and size. Default:
    /// one class for all attributes.
    fn class(&self, _position: usize, _kind: AttributeKind) -> usize {
        0
    }

    /// Checks the memory of a problem that is not a product of kernels.
    ///
    /// It is called before queries are enumerated. `joint_rows` is the number of queries if all are
    /// joint. Default: every problem fits.
    ///
    /// # Errors
    /// The problem exceeds the memory limit.
    fn check_fits(&self, _sizes: &[usize], _joint_rows: Option<usize>) -> Result<()> {
        Ok(())
    }

    /// Returns whether the strategy of a problem depends on its sizes and classes only.
    ///
    /// Default: no.
    fn is_fixed(&self) -> bool {
        false
    }

    /// Solves one problem.
    ///
    /// # Errors
    /// The problem is too large, or the linear algebra fails.
    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved>;
}

impl SubspaceProblem<'_> {
    /// Returns whether G is one product of one-attribute kernels.
    ///
    /// Such problems are solved factor by factor.
    pub(super) fn is_product(&self) -> bool {
        matches!(self.terms.as_slice(), [(_, kernels)] if kernels.len() == self.sizes.len())
    }

    /// Returns the number of rows of G, if all queries are joint.
    pub(super) fn joint_rows(&self) -> Option<usize> {
        self.terms.iter().try_fold(0usize, |count, (_, kernels)| match kernels.as_slice() {
            [joint] => joint.joint_rows().map(|rows| count.saturating_add(rows)),
            _ => None,
        })
    }

    /// Returns the rows of G, scaled by √coefficient.
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

    /// Returns G as a dense matrix (cells × cells).
    ///
    /// # Errors
    /// The domain has too many cells.
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
