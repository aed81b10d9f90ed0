//! The trait of all solvers.

use super::problem::{Solved, SubspaceProblem};
use crate::domain::AttributeKind;
use crate::error::Result;

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
