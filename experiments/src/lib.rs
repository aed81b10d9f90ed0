//! The research artifact of `matmech`: configs, cells, results, figures and the comparison with published values.
//!
//! ```text
//! configs/<paper>/<name>.toml ──▶ cells ──▶ results/cells/… ──▶ results/<paper>/<name>.csv ──▶ figures, verdicts
//!        [config]            [experiment]      [engine::store]        [engine::results]        [figures], [compare]
//! ```
//!
//! An experiment is one file that implements [`experiment::Experiment`] and one line in [`registry`]; everything else
//! (parallel runs, random streams, resume, tables, provenance) comes from [`engine`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cli;
pub mod compare;
pub mod config;
pub mod datasets;
pub mod engine;
pub mod experiment;
pub mod failure;
pub mod figures;
pub mod layout;
pub mod profile;
pub mod registry;
pub mod s1;
pub mod s3;
pub mod s4;
