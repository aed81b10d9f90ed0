//! Estimation: from noisy measurements to estimates of marginals that are consistent with each other.

mod grem;
mod lazy;

pub(crate) use grem::subset;
pub use grem::{ResidualEstimate, ResidualEstimates};
pub use lazy::LazyMarginals;

#[cfg(test)]
mod tests;
