//! Unbiased answers with exact variances, from noisy integers.

pub(super) mod conditions;
mod least_squares;
mod products;
mod variances;

pub use least_squares::Estimates;
pub(super) use products::Covariance;
