//! Independent noise on Fourier coefficients.

use super::{Solved, SubspaceProblem, SubspaceSolver};
use crate::error::Result;
use crate::planner::SubspaceStrategy;
use crate::planner::subspace::product_power;

/// Independent noise on Fourier coefficients, with optimal variances.
///
/// Its error is the SVD bound of the shift-averaged Gram.
///
/// With `P_j = Σ_q w|FFT(q)_j|²` over the frequencies with all j_i ≠ 0, V has the eigenvalues
/// `N √P_j / Σ √P`, and `tr(G V⁺) = (Σ_j √P_j)² / N²`. *Cost*: O(queries · cells log cells) time,
/// O(cells) memory. *Source*: S3, App. C.
#[derive(Debug, Clone, Copy, Default)]
pub struct FourierSolver;

impl SubspaceSolver for FourierSolver {
    fn name(&self) -> &str {
        "fourier"
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let cells: usize = problem.sizes.iter().product();
        let mut power = vec![0.0; cells];
        for (coefficient, kernels) in &problem.terms {
            for (sum, p) in power.iter_mut().zip(product_power(kernels)?) {
                *sum += coefficient * p;
            }
        }
        // Frequencies that the workload does not contain have power from rounding only, and get no
        // budget.
        let max_power = power.iter().copied().fold(0.0, f64::max);
        let roots: Vec<f64> =
            power.iter().map(|p| if *p > 1e-24 * max_power { p.sqrt() } else { 0.0 }).collect();
        let total: f64 = roots.iter().sum();
        let n = cells as f64;
        Ok(Solved {
            strategy: SubspaceStrategy::Fourier {
                shape: problem.sizes.to_vec(),
                spectrum: roots.iter().map(|root| n * root / total).collect(),
            },
            error: (total / n).powi(2),
            lower_bound: None,
            proof: None,
            iterations: 0,
        })
    }
}
