//! The matrix mechanism: differentially private answers to workloads of linear queries, with strategies whose error is
//! certified against a lower bound.
//!
//! The problem: a data vector x over the cells of a domain, a workload W of linear queries with Gram matrix `G = WᵀW`.
//! The mechanism measures other queries, the strategy A, with Gaussian noise, estimates x by least squares and answers
//! W from the estimate. At unit privacy cost its total expected squared error is
//!
//! ```text
//! err(A) = ‖A‖₂² · tr(G (AᵀA)⁻¹),        ‖A‖₂ = the largest column norm of A
//! ```
//!
//! so a strategy is chosen for the workload alone, before any data is seen. [`strategy`] holds the selectors, among
//! them the certified optimum; [`workload`] the query families; [`mechanism`] runs a strategy on data; [`privacy`]
//! converts budgets.
//!
//! ```
//! use matmech::{strategy, workload::Workload};
//! let workload = Workload::parse("range:64")?;
//! let best = strategy::by_name("optimal")?.select(&workload.gram()?)?;
//! let certificate = best.certificate.expect("the optimum comes with its certificate");
//! assert!(certificate.gap() < 1e-6);
//! # Ok::<(), matmech::Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod access;
#[cfg(feature = "cli")]
pub mod cli;
pub mod data;
pub mod domain;
mod error;
pub mod estimation;
pub use matmech_linalg as linalg;
mod matrix_file;
pub mod mechanism;
pub mod planner;
pub mod privacy;
pub mod process;
pub mod residual;
pub mod schema;
pub mod statistics;
pub mod strategy;
pub mod workload;

pub use error::{Error, Place, Result};
pub use matrix_file::{read as read_matrix, write_npy};
