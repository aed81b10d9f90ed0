//! Checks committed results against their provenance (configs, data, lock file, sources,
//! completeness, certificates), and pages and proved relations against the results.
//!
//! ```text
//! configs/*.toml ──▶ cells, columns ─┐
//! results/…/*.provenance.json ───────┼─▶ findings, one list per check
//! results/…/*.csv, figures/, pages ──┘
//! ```
//!
//! Nothing is recomputed, except the lower bounds from their certificates if `proofs` is set;
//! `reproduce all --fresh` and `reproduce diff` recompute results.

mod check;
mod numbers;
mod proofs;
mod record;
mod relations;
mod rows;
mod run;
mod statement;

pub use check::{Check, Finding, Verified};
pub use run::{pages, run};
