//! Calls of strategies, planners and mechanisms, and workload strings.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::{mechanism, planner, strategy, workload};

fuzz_target!(|text: &str| {
    for read in [strategy, planner, mechanism, workload] {
        let _ = read(text);
    }
});
