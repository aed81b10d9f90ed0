//! Resource usage of this process.

/// Returns the peak memory of the process in MB (10⁶ bytes): `VmHWM` of `/proc/self/status`.
///
/// The peak is over the lifetime of the process and never decreases. `None` without `/proc`
/// (macOS).
pub fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((kib * 1024) as f64 / 1e6)
}

/// Returns the memory of the machine in MB (10⁶ bytes), or the limit of the control group if that
/// is smaller. `None` without `/proc` (macOS).
pub fn memory_mb() -> Option<f64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(u64::MAX);
    Some((kib * 1024).min(limit) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn peak_includes_touched_memory() {
        // The block is kept and read back, or the optimiser removes it. Not compared with an
        // earlier peak: the system counts memory per thread and adds it up with a delay.
        let block = std::hint::black_box(vec![1u8; 64_000_000]);
        assert!(super::peak_mb().unwrap() >= 0.99 * block.len() as f64 / 1e6);
        assert_eq!(std::hint::black_box(&block)[block.len() - 1], 1);
    }
}
