//! Inputs of tests in short form, and access to data with known or recorded noise.

mod forwarding;
mod impulse;
#[path = "../../crates/core/src/test_support.rs"]
mod inputs;
mod samples;
pub(crate) mod typed_tables;

pub(crate) use forwarding::{Exchange, Forwarding};
pub(crate) use impulse::Impulse;
pub(crate) use inputs::{all_ways, gram, rng, schema, set};
pub(crate) use samples::{dependent, open_csv, read_csv, rho};
