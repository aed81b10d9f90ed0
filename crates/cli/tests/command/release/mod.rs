//! Tests of the commands `matmech release`, `answer` and `ledger`.

mod counts;
mod inputs;
mod ledger_under_stress;
mod mistakes;
mod neighbours;
mod outputs;
mod recovery;
mod running;
mod staged;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use running::*;
use std::path::Path;
use std::process::Command as Process;
