//! The machine of a run, and the code that runs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde::{Deserialize, Serialize};

/// Hardware and operating system.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor model, if the system reports it.
    pub cpu: Option<String>,
    /// Number of cores available to the process.
    pub cores: usize,
    /// Memory in MB (10⁶ bytes), if the system reports it.
    pub ram_mb: Option<u64>,
    /// Name and version of the operating system.
    pub os: String,
    /// Processor architecture.
    pub arch: &'static str,
}

impl Machine {
    /// Reads the properties from the system.
    #[must_use]
    pub fn detect() -> Self {
        let cpu = proc_field("/proc/cpuinfo", "model name")
            .or_else(|| output_of("sysctl", &["-n", "machdep.cpu.brand_string"], None));
        let ram_bytes = proc_field("/proc/meminfo", "MemTotal")
            .and_then(|value| kilobytes(&value))
            .or_else(|| output_of("sysctl", &["-n", "hw.memsize"], None)?.parse().ok());
        let release = fs::read_to_string("/etc/os-release").ok().and_then(|text| {
            let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(name.trim_matches('"').to_owned())
        });
        let kernel =
            output_of("uname", &["-sr"], None).unwrap_or_else(|| std::env::consts::OS.to_owned());
        Self {
            cpu,
            cores: thread::available_parallelism().map_or(1, usize::from),
            ram_mb: ram_bytes.map(|bytes| bytes / 1_000_000),
            os: release.map_or_else(|| kernel.clone(), |release| format!("{release} ({kernel})")),
            arch: std::env::consts::ARCH,
        }
    }
}

/// Returns the peak memory of the process in MB (10⁶ bytes): `VmHWM` of `/proc/self/status`.
///
/// It is a property of the process, not of one cell, and decreases only with `reset_peak`. `None`
/// without `/proc` (macOS).
#[must_use]
pub fn peak_mb() -> Option<f64> {
    let value = proc_field("/proc/self/status", "VmHWM")?;
    let bytes = kilobytes(&value)?;
    Some(bytes as f64 / 1e6)
}

/// Resets the peak memory to the current memory (Linux: writes 5 to `/proc/self/clear_refs`).
///
/// Elsewhere the peak stays unchanged, an upper bound.
pub fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The code that computes cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Version of the crate.
    pub version: String,
    /// SHA-256 of the sources that compute results; cells from equal sources are comparable.
    pub source: String,
    /// Git commit of the working tree, if any.
    pub commit: Option<String>,
    /// Whether the working tree differs from the commit outside `results/` and `figures/`.
    pub dirty: Option<bool>,
}

impl Code {
    /// Returns the running code; the commit is that of the build folder, else that of `root`.
    #[must_use]
    pub fn detect(root: &Path) -> Self {
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tree = [built_in, root]
            .into_iter()
            .find_map(|dir| Some((dir, output_of("git", &["rev-parse", "HEAD"], Some(dir))?)));
        let status = [
            "status",
            "--porcelain",
            "--",
            ":(top)",
            ":(top,exclude)results",
            ":(top,exclude)figures",
        ];
        let dirty = tree
            .as_ref()
            .and_then(|(dir, _)| Some(!output_of("git", &status, Some(dir))?.is_empty()));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: env!("MATMECH_SOURCE_HASH").to_owned(),
            commit: tree.map(|(_, commit)| commit),
            dirty,
        }
    }
}

/// Returns the value of `field` in a file of lines `field : value`.
fn proc_field(file: &str, field: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field).then(|| value.trim().to_owned())
    })
}

/// Returns the number of bytes of a text such as "123 kB".
fn kilobytes(value: &str) -> Option<u64> {
    let number: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

/// Returns the trimmed standard output of a command, if it succeeds.
fn output_of(program: &str, arguments: &[&str], dir: Option<&Path>) -> Option<String> {
    let mut command = Command::new(program);
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    let output = command.args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kilobytes() {
        assert_eq!(kilobytes("2048 kB"), Some(2_097_152));
        assert_eq!(kilobytes("2048"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_memory_grows_by_what_is_touched() {
        let before = peak_mb().unwrap_or(0.0);
        let block = vec![1_u8; 300_000_000];
        let after = peak_mb().unwrap_or(0.0);
        assert!(block.iter().step_by(4096).all(|byte| *byte == 1));
        assert!(after >= 300.0 && after >= before, "{before} then {after}");
    }
}
