//! Ledgers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::ledger;

fuzz_target!(|text: &[u8]| {
    let _ = ledger(text);
});
