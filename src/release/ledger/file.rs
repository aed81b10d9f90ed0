//! The locked file of a ledger.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use same_file::Handle;

use crate::error::{Error, Result};

/// Maximum size of a ledger: 256 MiB hold half a million runs.
const MAX_BYTES: u64 = 1 << 28;

/// Time between two attempts to lock.
const PAUSE: Duration = Duration::from_millis(20);

/// How to wait for a ledger that another process has locked.
#[derive(Debug, Clone, Copy)]
pub struct LockWait {
    /// The maximum time to wait.
    pub limit: Duration,
    /// Called once if the lock is not free at first.
    pub notice: fn(&Path, Duration),
}

impl Default for LockWait {
    /// Returns a limit of one minute, without notice.
    fn default() -> Self {
        LockWait { limit: Duration::from_secs(60), notice: |_, _| () }
    }
}

/// When a ledger is used, which determines the state after a failure and its remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the data is read.
    Before,
    /// After a run wrote its output.
    After,
}

impl When {
    pub(super) fn remedy(self) -> &'static str {
        match self {
            When::Before => {
                "make the ledger a file that this user can read and write, on a disk with free \
                 space; nothing was read or spent"
            }
            When::After => {
                "this release needs no action: it is complete, its cost is spent, and only its \
                 settlement line is missing; before the next release, make the ledger a file that \
                 this user can write, on a disk with free space"
            }
        }
    }
}

/// Creates a file and syncs it and its folder entry to the disk.
pub(super) fn create(path: &Path, text: &str) -> Result<()> {
    let remedy = "give the path of a file that does not exist yet, in a folder that can be written";
    let failed = |action, e| Error::io(path, action, e, remedy);
    if path.exists() {
        return Err(Error::bad_input(
            format!("ledger {}", path.display()),
            "the name of a new file",
            "a file that exists",
            "use that ledger if it is for the same people (`matmech ledger show FILE`), or give \
             another name; a ledger is never written over",
        ));
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|e| failed("creating the ledger", e))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written
        .and_then(|()| crate::durable::sync_parent(path))
        .map_err(|e| failed("writing the ledger", e))
}

/// The file of a ledger, locked.
#[derive(Debug)]
pub(super) struct LockedFile {
    path: PathBuf,
    file: File,
    when: When,
    length: u64,
}

impl LockedFile {
    /// Locks the file for reading.
    pub(super) fn shared(path: &Path, waiting: LockWait) -> Result<Self> {
        Self::locked(path, waiting, When::Before, false)
    }

    /// Locks the file for appending.
    pub(super) fn exclusive(path: &Path, waiting: LockWait, when: When) -> Result<Self> {
        Self::locked(path, waiting, when, true)
    }

    /// Opens and locks the file.
    ///
    /// Repeated if the path names another file by then: an editor or a restore may have renamed a
    /// new file to it while this process waited.
    fn locked(path: &Path, waiting: LockWait, when: When, write: bool) -> Result<Self> {
        let deadline = Instant::now() + waiting.limit;
        let mut has_notified = false;
        loop {
            let locked = LockedFile {
                path: path.to_path_buf(),
                file: open(path, when, write)?,
                when,
                length: 0,
            };
            let outcome =
                if write { locked.file.try_lock() } else { locked.file.try_lock_shared() };
            match outcome {
                Ok(()) if locked.is_current() => return Ok(locked),
                Ok(()) | Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    if !has_notified {
                        (waiting.notice)(path, waiting.limit);
                        has_notified = true;
                    }
                    std::thread::sleep(PAUSE);
                }
                Ok(()) => return Err(locked.replaced()),
                Err(TryLockError::WouldBlock) => {
                    let remedy = match when {
                        When::Before => {
                            "wait for the other process, or give --wait SECONDS; nothing was read \
                             or spent"
                        }
                        When::After => {
                            "the release is complete and its cost is spent; only its settlement \
                             line is missing"
                        }
                    };
                    return Err(Error::bad_input(
                        format!("ledger {}", path.display()),
                        format!("its lock within {} s", waiting.limit.as_secs()),
                        "another process that holds it",
                        remedy,
                    ));
                }
                Err(TryLockError::Error(e)) => return Err(locked.io("locking the ledger", e)),
            }
        }
    }

    /// Returns whether the path still names the locked file.
    fn is_current(&self) -> bool {
        let locked = self.file.try_clone().and_then(Handle::from_file);
        locked
            .ok()
            .zip(Handle::from_path(&self.path).ok())
            .is_some_and(|(locked, named)| locked == named)
    }

    fn replaced(&self) -> Error {
        let remedy = match self.when {
            When::Before => {
                "make sure that no other program writes or renames the ledger, and try again; no \
                 data was read"
            }
            When::After => {
                "the release is complete and its cost is spent; before the next release, restore \
                 the ledger that has its reservation"
            }
        };
        Error::bad_input(
            format!("ledger {}", self.path.display()),
            "one file while it is used",
            "another file in its place",
            remedy,
        )
    }

    fn io(&self, action: &'static str, error: std::io::Error) -> Error {
        Error::io(&self.path, action, error, self.when.remedy())
    }

    /// Returns the text of the ledger.
    pub(super) fn read(&mut self) -> Result<String> {
        let length = self.file.metadata().map_err(|e| self.io("reading the ledger", e))?.len();
        if length > MAX_BYTES {
            let remedy = "give the path of a ledger";
            return Err(Error::too_large(
                "ledger",
                "bytes",
                MAX_BYTES as f64,
                length as f64,
                remedy,
            ));
        }
        let mut text = String::new();
        let outcome =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_string(&mut text));
        outcome.map_err(|e| self.io("reading the ledger", e))?;
        self.length = text.len() as u64;
        Ok(text)
    }

    /// Appends a line to the text that was read, syncs it to the disk, and rewrites the first line.
    ///
    /// After a failure, an incomplete line is removed if the system allows it.
    pub(super) fn append(&mut self, line: &str, head: &str) -> Result<()> {
        let length = self.length;
        let appended = (|| {
            self.file.seek(SeekFrom::Start(length))?;
            self.file.write_all(format!("{line}\n").as_bytes())?;
            self.file.sync_all()
        })();
        if let Err(error) = appended {
            // If this fails too, the ledger ends with an incomplete line, which every later run
            // refuses.
            self.file.set_len(length).ok();
            return Err(self.io("writing the ledger", error));
        }
        // Until the first line is rewritten, the ledger has one line more than the first line says.
        // The additional line is read as spent.
        let written = (|| {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(head.as_bytes())?;
            self.file.sync_all()
        })();
        written.map_err(|e| {
            let remedy = match self.when {
                When::Before => {
                    "free disk space; no data was read, but the appended line counts as spent"
                }
                When::After => When::After.remedy(),
            };
            Error::io(&self.path, "rewriting the first line of the ledger", e, remedy)
        })?;
        if self.is_current() { Ok(()) } else { Err(self.replaced()) }
    }
}

fn open(path: &Path, when: When, write: bool) -> Result<File> {
    let remedy = match when {
        When::Before => {
            "create it first, with the total budget: matmech ledger create FILE --epsilon E \
             --delta D"
        }
        When::After => {
            "restore the ledger from a complete copy; the release is complete and its cost is spent"
        }
    };
    let kind =
        std::fs::metadata(path).map_err(|e| Error::io(path, "opening the ledger", e, remedy))?;
    if !kind.is_file() {
        let found = "another kind of file";
        return Err(Error::bad_input(
            path.display().to_string(),
            "a ledger in a regular file",
            found,
            remedy,
        ));
    }
    let opened = OpenOptions::new().read(true).write(write).open(path);
    opened.map_err(|e| Error::io(path, "opening the ledger", e, when.remedy()))
}
