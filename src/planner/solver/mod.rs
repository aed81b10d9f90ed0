//! Solvers for one residual subspace: the certified optimum, a Fourier basis, or fixed bases.

mod bases;
mod certified;
mod fourier;
mod near;
mod problem;
mod proved;
mod solver_trait;

pub use bases::{AttributeBasis, Bases, BasisSolver, PrefixBasis, ResidualBasis};
pub use certified::CertifiedSolver;
pub(super) use certified::{check_dense_memory, solves_by_rows};
pub use fourier::FourierSolver;
pub(super) use near::NearSolver;
pub use problem::{Solved, SubspaceProblem};
pub use proved::ProvedSolver;
pub use solver_trait::SubspaceSolver;
