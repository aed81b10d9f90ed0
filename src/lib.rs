//! The matrix mechanism: differentially private answers to workloads of linear queries, with
//! strategies whose error is certified against a lower bound.
//!
//! The problem: a data vector x over the cells of a domain, a workload W of linear queries with
//! Gram matrix `G = WᵀW`. The mechanism measures other queries, the strategy A, with Gaussian
//! noise, estimates x by least squares and answers W from the estimate. At unit privacy cost its
//! total expected squared error is
//!
//! ```text
//! err(A) = ‖A‖₂² · tr(G (AᵀA)⁻¹),        ‖A‖₂ = the largest column norm of A
//! ```
//!
//! The error does not depend on x, so the strategy is chosen from the workload alone:
//!
//! ```
//! use matmech::{Optimal, StrategySelector, Workload, strategies};
//! let gram = Workload::parse("range:64")?.gram()?;
//! let best = Optimal::default().select(&gram)?;
//! let certificate = best.certificate.expect("the optimum comes with its certificate");
//! assert!(certificate.gap() < 1e-6);
//! // No matrix strategy has a lower error.
//! for selector in strategies() {
//!     // Some selectors are for special workloads and refuse this one.
//!     let Ok(other) = selector.select(&gram) else { continue };
//!     assert!(other.error >= certificate.lower_bound * (1.0 - 1e-12), "{}", selector.name());
//! }
//! # Ok::<(), matmech::Error>(())
//! ```
//!
//! Over many attributes, a planner divides the workload among residual subspaces and a mechanism
//! measures what the plan contains. A budget can be given in any notion of differential privacy:
//!
//! ```
//! use matmech::{Family, GroupFamily, GroupedWorkload, Guarantee};
//! use matmech::{Planner, PrivacyBudget, QuerySmasher, Schema};
//! let prefixes = GroupFamily::Product(Family::PREFIX);
//! let workload = GroupedWorkload::all_ways(Schema::uniform(10, 40)?, &prefixes, &[1, 2])?;
//! let budget = PrivacyBudget::from(Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 });
//! let plan = QuerySmasher::default().plan(&workload, budget.privacy_cost()?)?;
//! let bound = plan.lower_bound_rmse().expect("QuerySmasher proves one");
//! assert!(plan.rmse() <= bound * (1.0 + 1e-6));
//! # Ok::<(), matmech::Error>(())
//! ```
//!
//! | task | module | trait | registry |
//! |---|---|---|---|
//! | describe a workload | [`workload`], [`schema`] | | |
//! | choose a strategy for one table | [`strategy`] | [`StrategySelector`] | [`strategies`] |
//! | plan over many attributes | [`planner`] | [`Planner`], [`SubspaceSolver`] | [`planners`] |
//! | run on data | [`mechanism`], [`access`] | [`Mechanism`] | [`mechanisms`] |
//! | publish answers | [`release`] | | |
//! | convert and account for budgets | [`privacy`] | | |
//!
//! The names most programs need are at the root; the rest is in the modules. Mechanisms use seeded
//! noise and are for experiments. Only [`release`] draws noise that may be published, from the
//! operating system; see [`access`].
//!
//! `Debug` output of types that hold private data, such as [`Records`] and [`PrivateTable`], shows
//! sizes and the privacy cost spent, never data.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod access;
pub mod data;
pub mod engine;
pub mod estimation;
pub mod mechanism;
pub mod planner;
pub mod release;
// Test support that the experiments share names this crate `matmech`.
#[cfg(test)]
extern crate self as matmech;
#[cfg(test)]
mod test_support;

pub use matmech_core::{
    call, counted, domain, durable, error, hash, matrix_file, named_file, progress, residual,
    schema, workload,
};
pub use matmech_linalg as linalg;
pub use matmech_privacy as privacy;
pub use matmech_privacy::decimal;
pub use matmech_strategy as strategy;

pub use access::{PaidAccess, PrivateTable, Question};
pub use data::Records;
pub use decimal::Decimal;
pub use domain::{Attribute, AttributeKind, AttributeSet};
pub use error::{Error, Place, Result};
pub use matrix_file::{read as read_matrix, write_npy};
pub use mechanism::{ExpectedErrors, Mechanism, QuerySmasherMechanism, RunReport, mechanisms};
pub use planner::{
    CertifiedSolver, Plan, Planner, QuerySmasher, Solved, SubspaceProblem, SubspaceSolver,
    SubspaceStrategy, planners,
};
pub use privacy::{Guarantee, Neighbours, PrivacyBudget, PrivacyCost, Rho};
pub use schema::Schema;
pub use strategy::lsa::LsaOptions;
pub use strategy::lsa::separated::SeparatedOptions;
pub use strategy::{
    Assessment, Certificate, DualWeights, Optimal, OptimalOptions, Selection, Status, Strategy,
    StrategyFactor, StrategySelector, evaluated, per_attribute, strategies, svd_bound,
};
pub use workload::{Family, Gram, GroupFamily, GroupedWorkload, QueryFamily, QueryGroup, Workload};
