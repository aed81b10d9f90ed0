//! Tests of the commands `matmech release`, `answer` and `ledger`.

mod counts;
mod distinct;
mod inputs;
mod ledger_under_stress;
mod mistakes;
mod neighbours;
mod outputs;
mod queries;
mod recovery;
mod running;
mod series;
mod staged;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use running::*;
use std::path::Path;
use std::process::Command as Process;
