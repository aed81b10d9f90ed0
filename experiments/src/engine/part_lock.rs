//! Locks on the shards of an experiment: runs of overlapping shards are refused.
//!
//! Each run holds the lock of a file named after its shard, such as `quick-1-of-4.lock`, next to
//! the stored cells. The operating system releases a lock when its process ends, so an interrupted
//! run leaves no lock.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::select::Shard;
use crate::error::{Error, FileRole, Result};
use crate::layout;
use crate::layout::Profile;

/// The lock of a shard, held until it is dropped.
#[derive(Debug)]
pub(super) struct PartLock {
    _lock: File,
}

/// Locks a shard; a run without `--shard` has the shard 1/1.
///
/// Returns `None` on file systems without locks.
///
/// # Errors
/// An overlapping shard is being computed, or the folder cannot be written.
pub(super) fn lock_part(
    root: &Path,
    experiment: &str,
    profile: Profile,
    shard: Option<Shard>,
) -> Result<Option<PartLock>> {
    let requested = shard.unwrap_or(Shard { index: 1, count: 1 });
    let dir = layout::parts_dir(root, experiment);
    let unwritable = |error: &io::Error| Error::unwritable(FileRole::StoredCells, &dir, error);
    fs::create_dir_all(&dir).map_err(|error| unwritable(&error))?;
    let file = dir.join(name(profile, requested));
    let lock = File::create(&file).map_err(|error| unwritable(&error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(overlap(experiment, shard, requested)),
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    for entry in fs::read_dir(&dir).map_err(|error| unwritable(&error))? {
        let path = entry.map_err(|error| unwritable(&error))?.path();
        let other = path.file_name().and_then(|name| part(profile, &name.to_string_lossy()));
        // Different shards of the same count are disjoint.
        let Some(other) = other.filter(|other| other.count != requested.count) else { continue };
        // A shared lock: several runs may check at the same time, and only the owner blocks it.
        let taken = File::open(&path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
        if taken {
            return Err(overlap(experiment, shard, other));
        }
    }
    Ok(Some(PartLock { _lock: lock }))
}

/// Returns the name of the lock file of a shard.
fn name(profile: Profile, shard: Shard) -> String {
    format!("{}-{}-of-{}.lock", profile.name(), shard.index, shard.count)
}

/// Parses the name of a lock file; `None` for other profiles.
fn part(profile: Profile, name: &str) -> Option<Shard> {
    let (index, count) = name
        .strip_prefix(profile.name())?
        .strip_prefix('-')?
        .strip_suffix(".lock")?
        .split_once("-of-")?;
    format!("{index}/{count}").parse().ok()
}

fn overlap(experiment: &str, shard: Option<Shard>, other: Shard) -> Error {
    let of = |shard: Shard| {
        if shard.count == 1 { "all cells".to_owned() } else { format!("the shard {shard}") }
    };
    Error::Usage {
        option: if shard.is_some() { "--shard" } else { "run" },
        expected: format!("cells of {experiment} that no other process computes"),
        found: format!("another process that is computing {}", of(other)),
        remedy: "wait for it, or run other shards of the same count, such as 2/4 next to 1/4"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(text: &str) -> Option<Shard> {
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    #[test]
    fn overlapping_shards_are_refused_while_they_run() {
        let root = tempfile::tempdir().unwrap();
        let lock_part = |text: &str, profile| lock_part(root.path(), "s9/t", profile, shard(text));
        let first = lock_part("1/2", Profile::Quick).unwrap();
        let second = lock_part("2/2", Profile::Quick).unwrap();
        for other in ["1/2", "2/3", ""] {
            let error = lock_part(other, Profile::Quick).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("the shard ") && text.contains("s9/t"), "{other}: {text}");
            assert_eq!(error.exit_code(), 2);
        }
        assert!(
            lock_part("", Profile::Standard).unwrap().is_some(),
            "another profile has other cells"
        );
        drop((first, second));
        let all = lock_part("", Profile::Quick).unwrap();
        let refused = lock_part("1/2", Profile::Quick).unwrap_err().to_string();
        assert!(refused.contains("all cells"), "{refused}");
        drop(all);
        assert!(lock_part("1/2", Profile::Quick).unwrap().is_some());
    }
}
