//! Buffered linear Toeplitz strategies.

use super::fit;
use crate::Problem;
use crate::call::Call;
use crate::error::Result;
use crate::prefix_sums::banded_square_root::positive;
use crate::prefix_sums::factorisation::{Factorisation, Factorised};
use crate::prefix_sums::toeplitz::of_coefficients;

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

impl Factorised for BufferedToeplitz {
    const NAME: &'static str = "blt";
    const SUMMARY: &'static str = "buffered linear Toeplitz strategy of prefix sums";
    const OPTIONS: &'static [&'static str] = &["buffers"];

    fn factorise(&self, problem: &Problem<'_>, _n: usize) -> Result<Factorisation> {
        let coefficients = fit::coefficients(problem, self.buffers)?;
        of_coefficients(&coefficients, self.buffers, 2 * self.buffers)
    }

    fn configured(&self, call: &Call<'_>) -> Result<Self> {
        let buffers = positive(call, "buffers")?.unwrap_or(Self::default().buffers);
        Ok(BufferedToeplitz { buffers })
    }
}
