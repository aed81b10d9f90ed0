//! Unbiased answers with exact variances, from noisy integers.

mod least_squares;
mod variances;

pub use least_squares::Estimates;
