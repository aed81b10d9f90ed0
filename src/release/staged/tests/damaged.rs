//! Damaged files of staged releases give errors or the same release, and no panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::release::tests::damaged::damaged;

const SUMS: &str = "SHA256SUMS";

/// Returns the files of a folder and its subfolders with their bytes.
fn files_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files = |path: PathBuf| match path.is_dir() {
        true => files_of(&path),
        false => vec![(path.clone(), std::fs::read(&path).unwrap())],
    };
    paths.into_iter().flat_map(files).collect()
}

/// Returns everything that is published: the statement, and the marginals with their bounds.
fn published(folder: &Path) -> crate::error::Result<String> {
    let marginals = StagedMarginals::of(StagedMeasurements::read(folder)?)?;
    let statement = StagedStatement::released(&marginals)?;
    let (units, bounds) = (marginals.published(), marginals.bounds());
    Ok(format!("{} {} {units:?} {bounds:?}", statement.to_json()?, statement.to_markdown()))
}

/// Replaces the checksum of a changed file, so that its contents are read.
fn with_new_sum(file: &Path, bytes: &[u8]) {
    let sums = file.with_file_name(SUMS);
    let name = file.file_name().unwrap().to_str().unwrap();
    let line = |line: &str| match line.split_once("  ") {
        Some((_, of)) if of == name => format!("{}  {name}\n", crate::hash::sha256(bytes)),
        _ => format!("{line}\n"),
    };
    let text: String = std::fs::read_to_string(&sums).unwrap().lines().map(line).collect();
    std::fs::write(sums, text).unwrap();
}

/// Damages one file at a time, with and without its checksum; returns the numbers of accepted and
/// refused releases.
fn feed(count: u64, seed: u64, share: f64) -> [u64; 2] {
    let unit = PrivacyUnit::default();
    let planned = planned(&[3, 2], PAIRS, "staged(switch=0, stages=2)", 1.0, unit, share);
    let records = records_of(planned.plan.schema(), &rows(&[3, 2]));
    let folder = tempfile::tempdir().unwrap();
    files::write(&released(&planned, &records, 1), folder.path());
    let files = files_of(folder.path());
    let original = published(folder.path()).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut outcomes = [0, 0];
    for k in 0..count {
        let (path, bytes) = &files[random.random_range(0..files.len())];
        let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
        let is_sums = name.ends_with(SUMS);
        let changed = match random.random_range(0..20) {
            0 => None,
            1 => Some(bytes[..random.random_range(0..bytes.len())].to_vec()),
            _ => Some(damaged(bytes, &mut random)),
        };
        let is_new_sum = !is_sums && random.random_range(0..4) > 0;
        match &changed {
            None => std::fs::remove_file(path).unwrap(),
            Some(changed) => std::fs::write(path, changed).unwrap(),
        }
        if let Some(changed) = changed.as_ref().filter(|_| is_new_sum) {
            with_new_sum(path, changed);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| published(folder.path())));
        let Ok(outcome) = outcome else { panic!("input {k}, {name}: {changed:?}") };
        let is_same = outcome.as_ref().is_ok_and(|found| *found == original);
        match &changed {
            // A folder without checksums is incomplete: a release of fewer stages.
            None if is_sums => assert!(!is_same, "{name}"),
            None => assert!(outcome.is_err(), "{name} is missing"),
            Some(changed) if changed == bytes => assert!(is_same, "{name}"),
            // Lines of other files can be added to checksums.
            Some(_) if is_sums => assert!(is_same || outcome.is_err(), "{name}"),
            Some(_) if !is_new_sum => {
                let message = outcome.as_ref().unwrap_err().to_string();
                assert!(message.contains("SHA-256"), "{name}: {message}");
            }
            Some(_) => {}
        }
        if let Err(error) = &outcome {
            let message = error.to_string();
            assert!(message.contains("remedy"), "input {k}, {name}: {message}");
        }
        outcomes[usize::from(outcome.is_err())] += 1;
        std::fs::write(path, bytes).unwrap();
        if is_new_sum {
            with_new_sum(path, bytes);
        }
    }
    outcomes
}

#[test]
fn damaged_files_are_errors_not_panics_or_other_releases() {
    for share in [0.03, 0.0] {
        let [accepted, refused] = feed(800, 1, share);
        // Both occur: numbers that are still valid, and texts that are not.
        assert!(accepted > 5 && refused > 500, "{accepted} accepted, {refused} refused");
    }
}

/// `MATMECH_DAMAGED=1000000 cargo test --release --lib -- --ignored damaged_files_in_millions`.
#[test]
#[ignore = "minutes; the number of inputs is MATMECH_DAMAGED"]
fn damaged_files_in_millions() {
    let count =
        std::env::var("MATMECH_DAMAGED").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let [accepted, refused] = feed(count, 2, 0.03);
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}
