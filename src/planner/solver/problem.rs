//! Problems of residual subspaces, and their solutions.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::planner::kernel::Kernel;
use crate::planner::subspace::SubspaceStrategy;
use crate::strategy::Proof;
use matmech_linalg as linalg;

/// A residual problem: minimise `tr(G V⁺)` over V ⪰ 0 with diagonal at most 1.
///
/// `G = Σ coefficient · ⊗ kernels`.
#[derive(Debug, Clone)]
pub struct SubspaceProblem<'a> {
    /// The sizes of the attributes.
    pub sizes: &'a [usize],
    /// The classes of the attributes, from [`SubspaceSolver::class`](super::SubspaceSolver::class).
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

impl SubspaceProblem<'_> {
    /// Returns the number of rows of G, if all queries are joint.
    pub(in crate::planner) fn joint_rows(&self) -> Option<usize> {
        self.terms.iter().try_fold(0usize, |count, (_, kernels)| match kernels.as_slice() {
            [joint] => joint.joint_rows().map(|rows| count.saturating_add(rows)),
            _ => None,
        })
    }

    /// Returns the rows of G, scaled by √coefficient.
    pub(in crate::planner) fn rows(&self) -> Result<Array2<f64>> {
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
