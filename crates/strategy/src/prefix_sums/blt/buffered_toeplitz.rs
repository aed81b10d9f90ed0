//! Buffered linear Toeplitz strategies.

use super::fit;
use crate::call::Call;
use crate::error::Result;
use crate::prefix_sums::banded_square_root::positive;
use crate::prefix_sums::factorisation::{Factorisation, select_gram, steps};
use crate::prefix_sums::toeplitz::of_coefficients;
use crate::workload::Gram;
use crate::{Problem, Selection, StrategySelector};

/// A buffered linear Toeplitz strategy (BLT) with N buffers, optimised for its problem.
///
/// C is the lower triangular Toeplitz matrix of `c_0 = 1`, `c_i = Σ_j ω_j θ_j^(i−1)` with ω > 0 and
/// 0 < θ < 1; its noise takes N numbers of memory per coordinate. ω and θ minimise the objective of
/// the problem at the exact sensitivity of the participation, by a quasi-Newton method from several
/// starts: a local optimum. O(nN) per step. *Source*: McMahan, Xu and Zhang, A hassle-free algorithm
/// for strong differential privacy in federated learning systems (2024), Equations 4 and 5.
#[derive(Debug, Clone, Copy)]
pub struct BufferedToeplitz {
    /// N.
    pub buffers: usize,
}

impl Default for BufferedToeplitz {
    fn default() -> Self {
        BufferedToeplitz { buffers: 4 }
    }
}

impl StrategySelector for BufferedToeplitz {
    fn name(&self) -> &str {
        "blt"
    }

    fn summary(&self) -> &str {
        "buffered linear Toeplitz strategy of prefix sums"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        select_gram(self, gram)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        self.factorise(problem)?.selection(self.name(), problem)
    }

    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        self.factorise(problem)?.query_errors(problem)
    }

    fn options(&self) -> &'static [&'static str] {
        &["buffers"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let buffers = positive(call, "buffers")?.unwrap_or(Self::default().buffers);
        Ok(Box::new(BufferedToeplitz { buffers }))
    }
}

impl BufferedToeplitz {
    fn factorise(&self, problem: &Problem<'_>) -> Result<Factorisation> {
        steps(self.name(), problem)?;
        let coefficients = fit::coefficients(problem, self.buffers)?;
        of_coefficients(&coefficients, self.buffers, 2 * self.buffers)
    }
}
