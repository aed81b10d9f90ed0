//! Tables with a schema.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::csv;

fuzz_target!(|text: &[u8]| {
    let _ = csv(text);
});
