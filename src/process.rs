//! What the system says of this process.

/// Largest memory the process has held so far in MB (10⁶ bytes): `VmHWM` of `/proc/self/status`.
///
/// It belongs to the process, not to what it did last, and never falls. `None` where there is no
/// `/proc` (macOS).
pub fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((kib * 1024) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_holds_what_was_touched() {
        // Kept and read back, or the optimiser drops the block; no comparison with an earlier peak,
        // because the system counts per thread and adds up now and then only.
        let block = std::hint::black_box(vec![1u8; 64_000_000]);
        assert!(super::peak_mb().unwrap() >= 0.99 * block.len() as f64 / 1e6);
        assert_eq!(std::hint::black_box(&block)[block.len() - 1], 1);
    }
}
