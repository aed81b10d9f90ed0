//! The experiments of S2 (Li & Miklau, An Adaptive Mechanism for Accurate Query Answering).

mod relative_errors;
mod relative_trials;
mod remembered;

pub use relative_errors::RelativeErrors;
