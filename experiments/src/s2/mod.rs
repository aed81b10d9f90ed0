//! The experiments of S2 (Li & Miklau, An Adaptive Mechanism for Accurate Query Answering).

mod eigen_approximations;
mod eigen_claims;
mod eigen_comparison;
mod example_matrices;
mod laplace;
mod laplace_designs;
mod relative_changes;
mod relative_errors;
mod relative_trials;
mod selections;
mod worked_example;

pub use eigen_approximations::EigenApproximations;
pub use eigen_claims::EigenClaims;
pub use eigen_comparison::EigenComparison;
pub use example_matrices::ExampleMatrices;
pub use laplace_designs::LaplaceDesigns;
pub use relative_changes::RelativeChanges;
pub use relative_errors::RelativeErrors;
pub use selections::Selections;
pub use worked_example::WorkedExample;
