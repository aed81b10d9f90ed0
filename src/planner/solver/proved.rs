//! The strategies of proofs, without a search.

use std::sync::{Mutex, PoisonError};

use super::{CertifiedSolver, Solved, SubspaceProblem, SubspaceSolver};
use crate::error::{Error, Result};
use crate::strategy::Proof;

/// Takes the strategy of every residual problem from a proof, one after the other.
///
/// With the proofs of a plan ([`Plan::proofs`](crate::planner::Plan::proofs)) and its measure, the
/// plan, its error and its lower bound are computed again.
#[derive(Debug)]
pub struct ProvedSolver {
    proofs: Mutex<std::vec::IntoIter<Proof>>,
    solver: CertifiedSolver,
}

impl ProvedSolver {
    /// Creates a solver that uses each proof once, in the order of the problems of a plan.
    pub fn new(proofs: Vec<Proof>) -> Self {
        let solver = CertifiedSolver::default();
        ProvedSolver { proofs: Mutex::new(proofs.into_iter()), solver }
    }

    /// Returns the number of proofs that no problem has used.
    pub fn unused(&self) -> usize {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl SubspaceSolver for ProvedSolver {
    fn name(&self) -> &str {
        "proved"
    }

    fn check_fits(&self, sizes: &[usize], joint_rows: Option<usize>) -> Result<()> {
        self.solver.check_fits(sizes, joint_rows)
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let next = self.proofs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let proof = next.ok_or_else(|| {
            let found = "fewer";
            let remedy = "use the proofs of the plan for this workload and measure";
            Error::bad_input("proofs of a plan", "one per residual problem", found, remedy)
        })?;
        self.solver.solved(problem, Some(&proof), None)
    }
}
