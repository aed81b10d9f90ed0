//! Inputs of tests in short form, for the unit tests of several crates.

#![allow(dead_code, reason = "no crate uses all of them")]

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::domain::{AttributeKind, AttributeSet};
use crate::schema::Schema;
use crate::workload::{Gram, GroupFamily, GroupedWorkload, Workload};

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn set(positions: &[usize]) -> AttributeSet {
    AttributeSet::from_positions(positions).unwrap()
}

pub(crate) fn schema(sizes: &[usize]) -> Schema {
    Schema::of_sizes(sizes, AttributeKind::Numeric).unwrap()
}

pub(crate) fn gram(text: &str) -> Gram {
    Workload::parse(text).unwrap().gram().unwrap()
}

/// Returns a family on all sets of `ways` attributes, of `d` attributes of size `n`.
pub(crate) fn all_ways(n: usize, d: usize, family: GroupFamily, ways: &[usize]) -> GroupedWorkload {
    GroupedWorkload::all_ways(schema(&vec![n; d]), &family, ways).unwrap()
}
