//! Tests of the library through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod check_certificates;
mod examples;
mod extending;
#[cfg(feature = "lapack")]
mod lapack_cross_check;
mod mutations;
mod python;
mod reference_measures;
mod s3_tables;
mod streams_of_random_allocation;
