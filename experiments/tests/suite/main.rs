//! Tests of `reproduce` through the public interface of the crate and its files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first error"
)]

mod compare;
mod engine;
mod extending;
mod figures_files;
mod figures_layout;
mod figures_specs;
mod module_graph;
mod own_experiment;
mod pages;
