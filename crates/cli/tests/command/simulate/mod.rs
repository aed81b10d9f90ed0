//! Tests of the command `matmech simulate`.

mod refusals;
mod reports;
mod running;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use running::*;
use std::path::Path;
