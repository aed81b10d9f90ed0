//! How commands print a report, and what they all say of the process.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

/// Prints a report to standard output as one JSON object or, by `print`, as text. A reader that stops early is no error.
pub(super) fn write<R: Serialize>(
    report: &R,
    json: bool,
    print: impl FnOnce(&mut dyn Write, &R) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = if json {
        serde_json::to_writer_pretty(&mut out, report).map_err(std::io::Error::from).and_then(|()| writeln!(out))
    } else {
        print(&mut out, report)
    };
    match written.and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing the report to standard output"),
    }
}

/// The process's largest resident set so far, where the kernel reports it.
pub(super) fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
