//! The certified optimum from weights near it.

use std::sync::{Mutex, PoisonError};

use super::{CertifiedSolver, Solved, SubspaceProblem, SubspaceSolver};
use crate::error::Result;

/// Solves every residual problem to its certified optimum, from weights of a central path.
#[derive(Debug)]
pub(in crate::planner) struct NearSolver {
    weights: Mutex<std::vec::IntoIter<Vec<f64>>>,
    solver: CertifiedSolver,
}

impl NearSolver {
    /// Creates a solver that uses each vector of weights once, in the order of the problems of a
    /// plan. Weights for another number of cells are ignored.
    pub fn new(solver: CertifiedSolver, weights: Vec<Vec<f64>>) -> Self {
        NearSolver { weights: Mutex::new(weights.into_iter()), solver }
    }
}

impl SubspaceSolver for NearSolver {
    fn name(&self) -> &str {
        self.solver.name()
    }

    fn check_fits(&self, sizes: &[usize], joint_rows: Option<usize>) -> Result<()> {
        self.solver.check_fits(sizes, joint_rows)
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let weights = self.weights.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.solver.solved(problem, None, weights.as_deref())
    }
}
