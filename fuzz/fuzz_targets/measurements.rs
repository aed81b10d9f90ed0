//! Releases: the first byte selects the file that the others replace.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matmech_fuzz::{MEASUREMENTS, measurements};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else { return };
    let (file, _) = MEASUREMENTS[usize::from(*first) % MEASUREMENTS.len()];
    let _ = measurements(file, text);
});
