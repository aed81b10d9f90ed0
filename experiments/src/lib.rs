//! Reproduction of the papers: configs, cells, results, figures and the comparison with published
//! values.
//!
//! ```text
//! configs/<paper>/<name>.toml     [config]
//!   ──▶ cells                     [experiment]
//!   ──▶ results/cells/…           [engine::store]
//!   ──▶ results/<paper>/<name>.csv  [engine::results]
//!   ──▶ ….derived.csv             [derive]
//!   ──▶ figures, verdicts         [figures], [compare]
//! ```
//!
//! A kind of experiment is one file that implements [`experiment::Kind`] and one line in
//! [`registry`]. [`engine`] provides the rest: parallel runs, random streams, resuming, tables and
//! provenance. See `docs/extending.md`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cli;
pub mod columns;
pub mod compare;
pub mod config;
pub mod datasets;
pub mod derive;
pub mod difference;
pub mod engine;
pub mod entry;
pub mod error;
pub mod experiment;
pub mod figures;
pub mod files;
pub mod layout;
pub mod pages;
pub mod printed;
pub mod proved;
pub mod registry;
pub mod remembered;
pub mod s1;
pub mod s2;
pub mod s3;
pub mod s4;
pub mod statistics;
pub mod strategies;
pub mod streams;
pub mod table;
pub mod verify;

pub use error::{Error, Result};
