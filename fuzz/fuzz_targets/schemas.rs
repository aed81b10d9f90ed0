//! Schemas.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::schema;

fuzz_target!(|text: &str| {
    let _ = schema(text);
});
