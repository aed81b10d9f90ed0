//! Random allocation: the privacy of a strategy whose records draw their batches at random.
//!
//! n = bK steps; every record draws one bin j of b and takes part in the steps j, j + b, …. With C
//! lower triangular and S_tj = Σ_k |C_{t, j+kb}|, the hockey-stick divergences of a training run, in
//! both directions, are at most those of P = (1/b) Σ_j N(s_j, σ²I) and Q = N(0, σ²I), also if every
//! gradient depends on earlier outputs (docs/participation.md has the theorem and its proof). They
//! depend on M = SᵀS only.
//!
//! | item | purpose |
//! |---|---|
//! | [`Bins`] | M of a strategy |
//! | [`AllocationAccountant`] | σ, ε and δ of M: deterministic, or by Monte Carlo with a confidence bound |

mod accountant;
mod added;
mod bins;
mod confidence;
pub(crate) mod mixture;
pub(crate) mod outputs;
mod removed;
mod search;
mod shifted;
#[cfg(test)]
mod tests;
mod tilted;

pub use accountant::{AllocationAccountant, AllocationGuarantee, Method, MonteCarloOptions};
pub use bins::Bins;
