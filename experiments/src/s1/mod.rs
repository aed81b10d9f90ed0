//! The experiments of S1 (Li & Miklau, Efficient Batch Query Answering).

mod checked_claims;
mod checked_examples;
mod checked_theorems;
mod covered_ranges;
mod laplace;
mod laplace_comparison;
mod level_cap;
mod sample_errors;
mod sampled_bound;
mod separated_marginals;
mod skewed_ranges;
mod strategy_errors;

pub use checked_claims::CheckedClaims;
pub use covered_ranges::CoveredRanges;
pub use laplace_comparison::LaplaceComparison;
pub use level_cap::LevelCap;
pub use sampled_bound::SampledBound;
pub use separated_marginals::SeparatedMarginals;
pub use skewed_ranges::SkewedRanges;
pub use strategy_errors::StrategyErrors;

#[cfg(test)]
mod tests;
