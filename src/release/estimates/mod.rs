//! Unbiased answers with exact variances, from noisy integers.

pub(super) mod conditions;
mod least_squares;
mod products;
mod variances;
mod weights;
mod whitened;

pub(super) use conditions::CANCELLED;
pub use least_squares::Estimates;
