//! Strategies for one table, and their errors.
//!
//! A selector takes the Gram matrix of a workload and returns a [`Strategy`]. Each selector has one
//! file. To add one, implement [`StrategySelector`] and add a line to [`strategies`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod allocated;
pub mod allocation;
mod assessment;
pub mod calibration;
mod certificate;
mod datacube;
pub mod eigen_design;
mod exchangeable;
mod factor;
mod fourier;
mod from_file;
mod hierarchical;
mod identity;
mod integer_factor;
mod integer_strategy;
mod joint_sensitivity;
pub mod lsa;
mod objective;
mod optimal;
pub mod participation;
mod prefix_sums;
mod problem;
mod query_errors;
mod registry;
mod selector;
mod strategy;
pub mod stream;
mod structured_errors;
mod symmetry;
#[cfg(test)]
#[path = "../../core/src/test_support.rs"]
mod test_support;
pub mod training;
mod unanswered;
mod variable_agnostic;
mod wavelet;
mod workload_itself;

#[cfg(test)]
use matmech_core::schema;
use matmech_core::{
    call, counted, domain, error, matrix_file, named_file, progress, residual, workload,
};
use matmech_privacy as privacy;

pub use crate::call::Call;
pub use assessment::Assessment;
pub use certificate::{Certificate, Status, svd_bound};
pub use datacube::DataCube;
pub use eigen_design::{EigenDesign, EigenSeparation, PrincipalVectors};
pub use factor::{GramSource, QueriesWithInverse, QuerySource, StrategyFactor};
pub use fourier::Fourier;
pub use from_file::{FromFile, kronecker_of, read_kronecker};
pub use hierarchical::Hierarchical;
pub use identity::Identity;
pub use integer_factor::IntegerFactor;
pub use integer_strategy::{IntegerStrategy, SquaredSensitivity};
pub use joint_sensitivity::{JointCost, JointSensitivity};
pub use lsa::{Lsa, LsaGeneralized, LsaSeparated};
pub use objective::Objective;
pub use optimal::banded::BandedForEpochs;
pub use optimal::{
    DualWeights, Optimal, OptimalOptions, Proof, ProofWeights, ProvedBounds, RowSelection,
    tridiagonal, weights_over_cells,
};
pub use optimal::{EXPONENT, MAX_STRETCH, WINDOW, normalised};
pub use optimal::{Linearised, MovingRows, PathPoint, Spectra};
pub use participation::{Participation, PrivacyTarget};
pub use prefix_sums::{
    BandedInverseSquareRoot, BandedSquareRoot, BinaryTree, BufferedToeplitz, Circulant, SquareRoot,
};
pub use problem::Problem;
pub use registry::{Request, by_name, listing, strategies};
pub use selector::{Selection, StrategySelector, evaluated};
pub use strategy::{Strategy, per_attribute};
pub(crate) use strategy::{answered, factor_ends};
pub use variable_agnostic::VariableAgnostic;
pub use wavelet::Wavelet;
pub use workload_itself::WorkloadItself;

#[cfg(test)]
mod tests;
