//! Workload files for a schema.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::workload_file;

fuzz_target!(|text: &str| {
    let _ = workload_file(text);
});
