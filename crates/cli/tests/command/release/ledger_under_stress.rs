//! The ledger under killed or concurrent runs, a full disk, and a read-only file.

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use matmech::privacy::PrivacyUnit;
use matmech::release::{Ledger, LockWait};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{folder, ledger, matmech, read, release, words};

/// Starts a release in the background.
fn start(folder: &Path, out: &str) -> std::process::Child {
    let mut process = Process::new(env!("CARGO_BIN_EXE_matmech"));
    process
        .current_dir(folder)
        .args(words(out, &[]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Eight concurrent processes and a budget for four: four releases, as the ledger states.
#[test]
fn concurrent_processes_never_overspend() {
    let folder = folder();
    let here = folder.path();
    let names: Vec<String> = (0..8).map(|k| format!("R{k}")).collect();
    let children: Vec<_> = names.iter().map(|name| start(here, name)).collect();
    let succeeded = children
        .into_iter()
        .map(|mut child| child.wait().unwrap().success())
        .filter(|succeeded| *succeeded)
        .count();
    assert_eq!(succeeded, 4);
    assert_eq!(names.iter().filter(|name| here.join(name).exists()).count(), 4);
    assert_eq!(ledger(here)["left_rho"], 0.0);
}

/// Runs are killed at 50 times, spread over 1.2 times the duration of a complete run by a
/// golden-ratio sequence. Every measurement is already reserved, and the ledger is valid or
/// refused.
#[test]
fn a_killed_run_counts_as_spent() {
    let folder = folder();
    let here = folder.path();
    std::fs::remove_file(here.join("L.jsonl")).unwrap();
    matmech(here, &["ledger", "create", "L.jsonl", "--rho", "1000"]).success();
    let mut child = start(here, "whole");
    let started = std::time::Instant::now();
    assert!(child.wait().unwrap().success());
    let whole = started.elapsed();
    let (mut spread, mut interrupted) = (0.618_033_988_749_895_f64, 0);
    for k in 0..50 {
        spread = (spread + 0.618_033_988_749_895).fract();
        let name = format!("R{k}");
        let mut child = start(here, &name);
        std::thread::sleep(Duration::from_secs_f64(1.2 * spread * whole.as_secs_f64()));
        child.kill().unwrap();
        interrupted += usize::from(!child.wait().unwrap().success());
        let balance = ledger(here);
        let released = (0..=k).filter(|j| {
            let noisy = |end: &str| here.join(format!("R{j}{end}/measurements/noisy.csv")).exists();
            noisy("") || noisy(".partial")
        });
        let reservations = balance["reservations"].as_u64().unwrap();
        assert!((released.count() as u64) < reservations && reservations <= k + 2);
        assert_eq!(balance["spent_rho"].as_f64(), Some(0.25 * reservations as f64));
    }
    assert!(interrupted > 10, "{interrupted}");
}

/// An incomplete last line or invalid bytes: refused, and the file is unchanged.
#[test]
fn a_damaged_ledger_is_refused() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    let good = read(here, "L.jsonl");
    for bad in [
        good[..good.len() - 9].to_owned(),
        format!("{good}{{\"reserve\":2"),
        format!("{good}\0\0\n"),
        String::new(),
    ] {
        std::fs::write(here.join("L.jsonl"), &bad).unwrap();
        release(here, "Q", &[])
            .failure()
            .code(1)
            .stderr(contains("L.jsonl").and(contains("remedy")));
        assert_eq!(read(here, "L.jsonl"), bad);
        assert!(!here.join("Q").exists() && !here.join("Q.partial").exists());
    }
}

/// A full disk, simulated by the limit on file sizes. At zero the reservation fails and no data is
/// read. With space for the ledger only, the run fails later, and its reservation remains spent.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_never_a_free_release() {
    let folder = folder();
    let here = folder.path();
    let before = read(here, "L.jsonl");
    let limited = |blocks: u32, out: &str| {
        let program = env!("CARGO_BIN_EXE_matmech");
        let line = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {program} {}",
            words(out, &[]).join(" ")
        );
        Process::new("sh").current_dir(here).args(["-c", &line]).output().unwrap()
    };
    let full = limited(0, "R");
    assert!(!full.status.success());
    assert!(String::from_utf8_lossy(&full.stderr).contains("writing the ledger"), "{full:?}");
    assert_eq!(read(here, "L.jsonl"), before);
    assert!(!here.join("R").exists() && !here.join("R.partial").exists());
    let nearly = limited(1, "Q");
    assert!(!nearly.status.success() && !nearly.stderr.is_empty());
    assert!(!here.join("Q").exists());
    let balance = ledger(here);
    assert_eq!(
        (balance["reservations"].as_u64(), balance["unsettled"].as_u64()),
        (Some(1), Some(1))
    );
}

/// The disk is full within the line of the reservation or of the settlement. The incomplete line is
/// removed, no message claims that nothing was spent after a reservation, and the ledger remains
/// usable.
#[cfg(target_os = "linux")]
#[test]
fn an_incomplete_ledger_line_is_reported_and_charged_correctly() {
    const LIMIT: usize = 64 * 512;
    let hash = "0".repeat(64);
    let line = |number: u32, what: &str| {
        format!(
            "{{\"reserve\":{number},\"rho\":0.25,\"what\":\"{what}\",\"previous\":\"{hash}\"}}\n"
        )
        .len()
    };
    let length = line(2, "release to R");
    for (space, reserved) in
        [(1, false), (30, false), (length - 1, false), (length, true), (length + 12, true)]
    {
        let folder = folder();
        let here = folder.path();
        // One reservation before, long enough to leave this space.
        let filling = LIMIT - space - read(here, "L.jsonl").len() - line(1, "");
        let ledger_of_test = Ledger::open(&here.join("L.jsonl"), LockWait::default()).unwrap();
        let rho = matmech::privacy::Rho::new(0.25).unwrap();
        ledger_of_test.reserve(rho, PrivacyUnit::default(), None, &"x".repeat(filling)).unwrap();
        let before = read(here, "L.jsonl");
        assert_eq!(before.len(), LIMIT - space);
        let program = env!("CARGO_BIN_EXE_matmech");
        let script =
            format!("trap '' XFSZ; ulimit -f 64; exec {program} {}", words("R", &[]).join(" "));
        let output = Process::new("sh").current_dir(here).args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("writing the ledger"), "{space}: {said}");
        let after = read(here, "L.jsonl");
        let balance = ledger(here);
        let count = balance["reservations"].as_u64().unwrap();
        if reserved {
            // The reservation and its line end fit, the settlement does not.
            assert_eq!((count, balance["unsettled"].as_u64()), (2, Some(2)), "{space}");
            assert!(
                said.contains("its cost is spent") && !said.contains("nothing was read"),
                "{said}"
            );
            assert!(here.join("R/answers.csv").exists());
        } else {
            assert_eq!((after, count), (before, 1), "{space}");
            assert!(said.contains("nothing was read or spent"), "{said}");
            assert!(!here.join("R").exists() && !here.join("R.partial").exists());
        }
        // With space again, the rest of the budget can be spent, and no more.
        for k in 0..3 - u64::from(reserved) {
            release(here, &format!("Q{k}"), &[]).success();
        }
        release(here, "more", &[]).failure().stderr(contains("budget"));
    }
}

/// A ledger that this user may not write. A superuser may write every file, so the test then runs
/// as another user.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_ledger_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let here = folder.path();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    super::copy_program(here);
    std::fs::create_dir(here.join("outs")).unwrap();
    for (name, bits) in [("", 0o755), ("matmech", 0o755), ("outs", 0o777), ("L.jsonl", 0o444)] {
        mode(&here.join(name), bits);
    }
    let before = read(here, "L.jsonl");
    let superuser = std::fs::OpenOptions::new().append(true).open(here.join("L.jsonl")).is_ok();
    let mut process = Process::new(here.join("matmech"));
    process.current_dir(here).args(words("outs/R", &[]));
    if superuser {
        process.uid(65_534).gid(65_534);
    }
    let output = process.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("L.jsonl") && said.contains("remedy"), "{said}");
    assert_eq!(read(here, "L.jsonl"), before);
    assert!(!here.join("outs/R").exists());
}
