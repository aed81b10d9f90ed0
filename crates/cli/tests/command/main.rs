//! Tests of the command `matmech`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod certify;
mod certify_problems;
mod draft_open_values;
mod draft_schema;
mod guide;
mod messages;
mod pair_bound;
mod plan;
mod privacy;
#[path = "../../../../tests/library/python.rs"]
mod python;
mod release;
mod simulate;
mod solve;
mod stream;
