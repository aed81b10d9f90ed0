//! The certified optimum of every residual subspace.

use super::{Solved, SubspaceProblem, SubspaceSolver};
use crate::error::{Error, Result};
use crate::planner::SubspaceStrategy;
use crate::strategy::{Optimal, OptimalOptions, Proof, StrategyFactor, StrategySelector};
use crate::workload::Gram;

/// Solves every residual problem to its certified optimum.
///
/// *Cost* of joint queries that are few compared with the cells (affine, absolute difference):
/// O(rows² · cells) time per iteration and about 120·rows·cells bytes, because they are solved by
/// rows. *Cost* of other problems that are not products: O(cells³) time per iteration and about
/// 96·cells² bytes for the largest problem.
#[derive(Debug, Clone, Copy)]
pub struct CertifiedSolver {
    /// Precision and limits of the iteration.
    ///
    /// Default [`OptimalOptions::default`]: a relative gap of 1e-7, 500 iterations.
    pub options: OptimalOptions,
    /// The memory limit in bytes.
    ///
    /// Larger problems are refused before they start. Default 8 GiB.
    pub memory_limit: u64,
}

/// The peak number of dense cells × cells matrices of a certified solve.
///
/// Gram, blocks, roots, spectra of three points.
const PEAK_MATRICES: u64 = 12;

/// The peak number of rows × cells matrices of a certified solve by rows.
///
/// Rows, roots, strategy, spectra of three points.
const PEAK_ROW_MATRICES: u64 = 15;

/// Joint queries are solved by rows if there are at least this many cells per row.
const MIN_CELLS_PER_ROW: usize = 2;

impl Default for CertifiedSolver {
    fn default() -> Self {
        CertifiedSolver { options: OptimalOptions::default(), memory_limit: 8 << 30 }
    }
}

impl SubspaceSolver for CertifiedSolver {
    fn name(&self) -> &str {
        "certified-optimum"
    }

    fn check_fits(&self, sizes: &[usize], joint_rows: Option<usize>) -> Result<()> {
        match joint_rows.filter(|&rows| solves_by_rows(sizes, rows)) {
            Some(rows) => {
                let cells: f64 = sizes.iter().map(|&n| n as f64).product();
                check_memory(
                    sizes,
                    rows as f64 * cells * 8.0 * PEAK_ROW_MATRICES as f64,
                    self.memory_limit,
                )
            }
            None => check_dense_memory(sizes, self.memory_limit),
        }
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        self.solved(problem, None, None)
    }
}

impl CertifiedSolver {
    /// Solves a problem, or returns the strategy of a proof.
    ///
    /// # Errors
    /// As [`SubspaceSolver::solve`], or the proof does not fit.
    pub(in crate::planner) fn solved(
        &self,
        problem: &SubspaceProblem<'_>,
        known: Option<&Proof>,
        near: Option<&[f64]>,
    ) -> Result<Solved> {
        let optimal = Optimal::new(self.options)?;
        let joint_rows = problem.joint_rows();
        self.check_fits(problem.sizes, joint_rows)?;
        if joint_rows.is_some_and(|rows| solves_by_rows(problem.sizes, rows)) {
            let rows = problem.rows()?;
            let near = near.filter(|near| near.len() == rows.ncols());
            let selection = match (known, near) {
                (Some(proof), _) => proof.row_selection(problem.sizes, rows.view())?,
                (None, Some(near)) => optimal.select_rows_near(problem.sizes, rows.view(), near)?,
                (None, None) => optimal.select_rows(problem.sizes, rows.view())?,
            };
            let strategy = StrategyFactor::low_rank(problem.sizes, selection.queries.view())?;
            return Ok(Solved {
                strategy: SubspaceStrategy::Kronecker(vec![strategy]),
                error: selection.certificate.upper_bound,
                lower_bound: Some(selection.certificate.lower_bound),
                proof: Some(selection.proof),
                iterations: selection.certificate.iterations,
            });
        }
        let gram = Gram::dense(problem.sizes, problem.gram()?)?;
        let selection = match known {
            Some(proof) => proof.selection(&gram)?,
            None => optimal.select(&gram)?,
        };
        let certificate = selection.certificate;
        Ok(Solved {
            strategy: SubspaceStrategy::Kronecker(vec![selection.strategy.factors()[0].scaled()?]),
            error: selection.error,
            lower_bound: certificate.map(|c| c.lower_bound),
            proof: selection.proof,
            iterations: certificate.map_or(0, |c| c.iterations),
        })
    }
}

/// Checks that a dense problem over a box fits in the memory limit.
///
/// Allocates nothing.
pub(in crate::planner) fn check_dense_memory(sizes: &[usize], memory_limit: u64) -> Result<()> {
    let cells: f64 = sizes.iter().map(|&n| n as f64).product();
    check_memory(sizes, cells * cells * 8.0 * PEAK_MATRICES as f64, memory_limit)
}

fn check_memory(sizes: &[usize], bytes: f64, memory_limit: u64) -> Result<()> {
    if bytes <= memory_limit as f64 {
        return Ok(());
    }
    let cells: f64 = sizes.iter().map(|&n| n as f64).product();
    Err(Error::too_large(
        format!(
            "problem over attributes of sizes {sizes:?}, {cells} cells, that is not a product of \
             smaller problems"
        ),
        "bytes",
        memory_limit as f64,
        bytes,
        "use the planner weighted-fourier (memory proportional to the cells), or ask for one \
         family per attribute set",
    ))
}

/// Returns whether joint queries are few enough compared with the cells to be solved by rows.
pub(in crate::planner) fn solves_by_rows(sizes: &[usize], rows: usize) -> bool {
    let cells =
        sizes.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).unwrap_or(usize::MAX);
    rows <= cells / MIN_CELLS_PER_ROW
}
