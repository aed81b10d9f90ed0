//! The ledger: what was spent on a table, written down before it is opened.
//!
//! A file of one JSON object a line. The first says how much there is and for whom; then come reservations and settlements:
//!
//! ```text
//! {"ledger":1,"total_rho":0.5,"unit":{"neighbours":"add-or-remove-one-record","rows":1}}
//! {"reserve":1,"rho":0.2,"what":"release to out"}
//! {"settle":1}
//! ```
//!
//! What is reserved is spent, settled or not: a settlement only tells that the run came to its end. Every line is appended
//! under an exclusive lock on the file and forced to the disk before anything else happens. A file that is not exactly such lines is
//! refused as a whole.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result};
use crate::privacy::{ExactRho, PrivacyUnit, Rho};

/// A ledger longer than this is no ledger: 256 MiB are a million runs.
const MOST_BYTES: u64 = 1 << 28;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Opening { ledger: u32, total_rho: f64, unit: PrivacyUnit },
    Reserve { reserve: u64, rho: f64, what: String },
    Settle { settle: u64 },
}

/// What a ledger says.
#[derive(Debug, Clone)]
pub struct Balance {
    /// The whole budget.
    pub total: Rho,
    /// Whom it protects.
    pub unit: PrivacyUnit,
    /// What was reserved, rounded up.
    pub spent: f64,
    /// What is left, rounded down; 0 if nothing is.
    pub left: f64,
    /// Reservations.
    pub reservations: usize,
    /// Reservations whose run did not come to its end, as far as the ledger knows.
    pub unsettled: usize,
}

/// A ledger on disk.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
}

/// Budget that was written down as spent. Only a ledger makes one; opening a table for a release takes it.
#[derive(Debug)]
pub struct Reservation {
    number: u64,
    rho: Rho,
    unit: PrivacyUnit,
}

impl Reservation {
    /// What may be spent.
    pub fn rho(&self) -> Rho {
        self.rho
    }

    /// For whom.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// A reservation without a ledger, for tests of this crate.
    #[cfg(test)]
    pub(crate) fn unwritten(rho: Rho, unit: PrivacyUnit) -> Self {
        Reservation { number: 0, rho, unit }
    }
}

struct Contents {
    total: Rho,
    unit: PrivacyUnit,
    spent: ExactRho,
    reservations: Vec<bool>,
    length: u64,
}

/// When a ledger is used: what a failure leaves behind, and so the way out, differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the data is opened.
    Before,
    /// After a run wrote what it had to write.
    AfterTheRun,
}

impl When {
    fn remedy(self) -> &'static str {
        match self {
            When::Before => {
                "make the ledger a file that this user can read and write on a disk with space; nothing was read or spent"
            }
            When::AfterTheRun => {
                "nothing has to be done: the release is complete, its cost is spent, and only the line that says that it came to its \
                 end is missing; before the next release make the ledger a file that this user can write on a disk with space"
            }
        }
    }
}

impl Ledger {
    /// A new ledger with a total, in a file that does not exist yet.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn create(path: &Path, total: Rho, unit: PrivacyUnit) -> Result<Self> {
        let remedy = "give the path of a file that does not exist yet, in a folder that can be written";
        let failed = |action, e| Error::io(path, action, e, remedy);
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| failed("creating the ledger", e))?;
        let opening = Line::Opening { ledger: 1, total_rho: total.get(), unit };
        let outcome = append(&mut file, &opening).and_then(|()| sync_folder(path));
        outcome.map_err(|e| failed("writing the ledger", e))?;
        Ok(Ledger { path: path.to_path_buf() })
    }

    /// The ledger in a file.
    ///
    /// # Errors
    /// As [`Ledger::balance`].
    pub fn open(path: &Path) -> Result<Self> {
        let ledger = Ledger { path: path.to_path_buf() };
        ledger.balance()?;
        Ok(ledger)
    }

    /// What the ledger says now.
    ///
    /// # Errors
    /// A file that cannot be read or is no ledger.
    pub fn balance(&self) -> Result<Balance> {
        let when = When::Before;
        let file = self.file(false, when)?;
        file.lock_shared().map_err(|e| self.io("locking the ledger", e, when))?;
        let read = self.read(&file, when)?;
        let left = left_rounded_down(&read).map_or(0.0, Rho::get);
        Ok(Balance {
            total: read.total,
            unit: read.unit,
            spent: read.spent.to_f64_rounded_up(),
            left,
            reservations: read.reservations.len(),
            unsettled: read.reservations.iter().filter(|settled| !**settled).count(),
        })
    }

    /// Writes down that ρ is spent, and returns when that is on the disk. Processes that reserve at the same time wait for each other.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`]: more than is left. A ledger for others than the unit; a file that is no ledger, cannot be locked,
    /// or cannot be written to the end: then nothing is reserved.
    pub fn reserve(&self, rho: Rho, unit: PrivacyUnit, what: &str) -> Result<Reservation> {
        let when = When::Before;
        let mut file = self.file(true, when)?;
        file.lock().map_err(|e| self.io("locking the ledger", e, when))?;
        let read = self.read(&file, when)?;
        if read.unit != unit {
            return Err(Error::bad_input(
                format!("ledger {}", self.path.display()),
                format!("a release that protects as the ledger says ({})", read.unit),
                format!("one that protects otherwise ({unit})"),
                "give the same --neighbours and --unit-rows as when the ledger was created",
            ));
        }
        let spent = read.spent.plus(&cost(rho));
        if ExactRho::of_rounded_down(read.total).minus(&spent).is_none() {
            let left = left_rounded_down(&read).map_or(0.0, Rho::get);
            return Err(Error::BudgetExhausted { what: what.to_owned(), asked: rho, left, total: read.total });
        }
        let number = read.reservations.len() as u64 + 1;
        let line = Line::Reserve { reserve: number, rho: rho.get(), what: what.to_owned() };
        self.append(&mut file, read.length, &line, when)?;
        Ok(Reservation { number, rho, unit })
    }

    /// Writes down that the run of a reservation came to its end.
    ///
    /// # Errors
    /// The ledger cannot be written any more. The reservation stays spent.
    pub fn settle(&self, reservation: Reservation) -> Result<()> {
        let when = When::AfterTheRun;
        let mut file = self.file(true, when)?;
        file.lock().map_err(|e| self.io("locking the ledger", e, when))?;
        let read = self.read(&file, when)?;
        self.append(&mut file, read.length, &Line::Settle { settle: reservation.number }, when)
    }

    fn file(&self, write: bool, when: When) -> Result<File> {
        let remedy = match when {
            When::Before => "create it first, with the total budget: matmech ledger create FILE --epsilon E --delta D",
            When::AfterTheRun => {
                "restore the ledger from a copy with all its lines; the release is complete and its cost is spent"
            }
        };
        let kind = std::fs::metadata(&self.path).map_err(|e| Error::io(&self.path, "opening the ledger", e, remedy))?;
        if !kind.is_file() {
            return Err(Error::bad_input(
                self.path.display().to_string(),
                "a ledger in a regular file",
                "another",
                remedy,
            ));
        }
        OpenOptions::new().read(true).append(write).open(&self.path).map_err(|e| self.io("opening the ledger", e, when))
    }

    fn io(&self, action: &'static str, error: std::io::Error, when: When) -> Error {
        Error::io(&self.path, action, error, when.remedy())
    }

    /// Appends a line; what a failure leaves of it is taken off again, as far as the system lets us.
    fn append(&self, file: &mut File, length: u64, line: &Line, when: When) -> Result<()> {
        append(file, line).map_err(|error| {
            // If this fails too the ledger ends in half a line, which every later run refuses.
            file.set_len(length).ok();
            self.io("writing the ledger", error, when)
        })
    }

    /// All lines, checked.
    fn read(&self, mut file: &File, when: When) -> Result<Contents> {
        let length = file.metadata().map_err(|e| self.io("reading the ledger", e, when))?.len();
        if length > MOST_BYTES {
            let remedy = "give the path of a ledger";
            return Err(Error::too_large("ledger", "bytes", MOST_BYTES as f64, length as f64, remedy));
        }
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_string(&mut text))
            .map_err(|e| self.io("reading the ledger", e, when))?;
        read_text(&text, &self.path.display().to_string(), length)
    }
}

/// What a line costs: the double as it stands.
fn cost(rho: Rho) -> ExactRho {
    // Nothing is lost: a double of ordinary size below 2^-256 is rounded to zero, so that is rounded up.
    let down = ExactRho::of_rounded_down(rho);
    if down.to_f64_rounded_up() < rho.get() { down.plus(&ExactRho::smallest()) } else { down }
}

/// The largest double that may still be reserved.
fn left_rounded_down(read: &Contents) -> Option<Rho> {
    let left = ExactRho::of_rounded_down(read.total).minus(&read.spent)?;
    let mut found = left.rounded_up().ok()?;
    while left.minus(&cost(found)).is_none() {
        found = Rho::new(found.get().next_down()).ok()?;
    }
    Some(found)
}

fn read_text(text: &str, origin: &str, length: u64) -> Result<Contents> {
    let refuse = |line: usize, expected: &str, found: String| {
        Error::Parse {
        origin: origin.to_owned(),
        place: Some(Place { line, column: 0 }),
        expected: expected.to_owned(),
        found,
        remedy: "restore the ledger from a copy; a last line that is cut short can be removed by hand: a run whose reservation is cut \
                 short has read no data, and a reservation without settlement is spent"
            .into(),
    }
    };
    if !text.ends_with('\n') {
        return Err(refuse(
            text.lines().count().max(1),
            "a ledger whose lines are complete",
            "a last line without end".into(),
        ));
    }
    let mut read: Option<Contents> = None;
    for (place, line) in text.lines().enumerate() {
        let place = place + 1;
        let parsed: Line =
            serde_json::from_str(line).map_err(|_| refuse(place, "a line of a ledger", "something else".into()))?;
        match (parsed, &mut read) {
            (Line::Opening { ledger: 1, total_rho, unit }, None) if unit.rows > 0 => {
                let total = Rho::new(total_rho).map_err(|e| refuse(place, "a total", e.to_string()))?;
                read = Some(Contents { total, unit, spent: ExactRho::zero(), reservations: Vec::new(), length });
            }
            (Line::Reserve { reserve, rho, .. }, Some(read)) if reserve == read.reservations.len() as u64 + 1 => {
                let rho = Rho::new(rho).map_err(|e| refuse(place, "a cost", e.to_string()))?;
                read.spent = read.spent.plus(&cost(rho));
                read.reservations.push(false);
            }
            (Line::Settle { settle }, Some(read)) => {
                let settled = usize::try_from(settle).ok().and_then(|n| n.checked_sub(1));
                match settled.and_then(|n| read.reservations.get_mut(n)) {
                    Some(settled @ false) => *settled = true,
                    _ => {
                        return Err(refuse(place, "the settlement of an open reservation", format!("one of {settle}")));
                    }
                }
            }
            _ => {
                return Err(refuse(place, "one opening line, then reservations counted from 1", "another line".into()));
            }
        }
    }
    read.ok_or_else(|| refuse(1, "an opening line", "nothing".into()))
}

/// One line in one call, on the disk when this returns.
fn append(file: &mut File, line: &Line) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The entry of a new file in its folder.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Folders cannot be opened everywhere; where they can, the entry is forced to the disk.
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

#[cfg(test)]
mod tests;
