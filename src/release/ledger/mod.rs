//! The ledger: the budget spent on a table, written before the table is read.
//!
//! A ledger is a file of one JSON object per line. The first line names the last line. The second
//! line has the total budget and the privacy unit. Reservations and settlements follow:
//!
//! ```text
//! {"ledger":2,"lines":"0000000004","last":"<hash of line 4>"}
//! {"total_rho":0.5,"delta":1e-9,"unit":{"neighbours":"add-or-remove-one-record","rows":1},"person":"id"}
//! {"reserve":1,"rho":0.2,"what":"release to out","previous":"<hash of line 2>"}
//! {"settle":1,"previous":"<hash of line 3>"}
//! ```
//!
//! A reservation is spent, settled or not: a settlement only records that the run was completed.
//! Amounts are decimal numbers, and their sums are exact: three reservations of 0.1 spend 0.3.
//!
//! Every line is appended under an exclusive lock and synced to the disk before anything else
//! happens; then the first line, which has a fixed length, is rewritten. The hashes (SHA-256 of the
//! text of a line) form a chain. A ledger with a changed, moved or removed line, including the last
//! line, is refused, and so is a file with other lines.

mod file;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::file::{LockedFile, When};
use crate::decimal::Decimal;
use crate::error::{Error, Place, Result};
use crate::hash::sha256;
use crate::privacy::{Neighbours, PrivacyUnit, Rho};

/// The version of the format.
const FORMAT: u32 = 2;

/// The first line: the number of lines and the hash of the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    ledger: u32,
    /// Ten digits, so that the length of the line is fixed.
    lines: String,
    last: String,
}

impl Head {
    fn of(lines: usize, last: &str) -> Self {
        Head { ledger: FORMAT, lines: format!("{lines:010}"), last: sha256(last.as_bytes()) }
    }
}

/// The second line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Opening {
    total_rho: f64,
    /// δ of the budget, if it was given as (ε, δ).
    delta: Option<f64>,
    unit: PrivacyUnit,
    /// The column that identifies persons, if all records of a person are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
}

/// Any later line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Reserve { reserve: u64, rho: f64, what: String, previous: String },
    Settle { settle: u64, previous: String },
}

/// The balance of a ledger.
#[derive(Debug, Clone)]
pub struct Balance {
    /// The total budget.
    pub total: Rho,
    /// δ of the budget, if it was given as (ε, δ).
    pub delta: Option<f64>,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// The column that identifies persons, if all records of a person are protected.
    pub person: Option<String>,
    /// The sum of reservations, rounded up.
    pub spent: f64,
    /// The remaining budget, rounded down; 0 if nothing is left.
    pub left: f64,
    /// The number of reservations.
    pub reservations: usize,
    /// Reservations without a settlement: the ledger does not know whether their runs were
    /// completed.
    pub unsettled: usize,
}

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

/// A ledger on disk.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    waiting: LockWait,
}

/// A budget that the ledger on disk records as spent.
///
/// Only a ledger makes one, and opening a table for a release requires one.
#[derive(Debug)]
pub struct Reservation {
    number: u64,
    line: usize,
    hash: String,
    rho: Rho,
    unit: PrivacyUnit,
    person: Option<String>,
}

impl Reservation {
    /// Returns the reserved ρ.
    pub fn rho(&self) -> Rho {
        self.rho
    }

    /// Returns the privacy unit.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns the column that identifies persons.
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// Returns the number of its line in the ledger, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the SHA-256 of the text of its line.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns a reservation without a ledger, for tests of this crate.
    #[cfg(test)]
    pub(crate) fn unwritten(rho: Rho, unit: PrivacyUnit) -> Self {
        Reservation { number: 0, line: 0, hash: String::new(), rho, unit, person: None }
    }
}

/// The contents of a validated ledger.
struct Contents {
    opening: Opening,
    total: Rho,
    /// The exact sum of the reserved decimal numbers.
    spent: Decimal,
    /// Line number, hash, and whether it is settled, of every reservation.
    reservations: Vec<(usize, String, bool)>,
    lines: usize,
    last: String,
}

impl Ledger {
    /// Creates a ledger in a new file.
    ///
    /// `delta` is the δ of the budget, if it has one; `person` is the column that identifies
    /// persons.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn create(
        path: &Path,
        total: Rho,
        delta: Option<f64>,
        unit: PrivacyUnit,
        person: Option<String>,
    ) -> Result<Self> {
        let opening = text_of(&Opening { total_rho: total.get(), delta, unit, person })?;
        let head = text_of(&Head::of(2, &opening))?;
        file::create(path, &format!("{head}\n{opening}\n"))?;
        Ok(Ledger { path: path.to_path_buf(), waiting: LockWait::default() })
    }

    /// Opens the ledger in a file.
    ///
    /// # Errors
    /// As [`Ledger::balance`].
    pub fn open(path: &Path, waiting: LockWait) -> Result<Self> {
        let ledger = Ledger { path: path.to_path_buf(), waiting };
        ledger.balance()?;
        Ok(ledger)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current balance.
    ///
    /// # Errors
    /// The file cannot be read, is not a ledger, or stays locked by another process.
    pub fn balance(&self) -> Result<Balance> {
        let mut file = LockedFile::shared(&self.path, self.waiting)?;
        let read = self.read(&mut file)?;
        let left = left_rounded_down(&read);
        Ok(Balance {
            total: read.total,
            delta: read.opening.delta,
            unit: read.opening.unit,
            person: read.opening.person,
            spent: read.spent.rounded_up(),
            left,
            reservations: read.reservations.len(),
            unsettled: read.reservations.iter().filter(|(.., settled)| !settled).count(),
        })
    }

    /// Reserves ρ, and returns when the reservation is on the disk.
    ///
    /// Concurrent processes wait for each other.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`] if ρ exceeds the remaining budget. The ledger is for another
    /// privacy unit or other persons, is invalid, stays locked, was replaced by another file, or cannot be written
    /// completely: then nothing is reserved.
    pub fn reserve(
        &self,
        rho: Rho,
        unit: PrivacyUnit,
        person: Option<&str>,
        what: &str,
    ) -> Result<Reservation> {
        let mut file = LockedFile::exclusive(&self.path, self.waiting, When::Before)?;
        let read = self.read(&mut file)?;
        let ledger_unit = read.opening.unit;
        // If a value outside the schema drops its record, replacing a record includes removing it.
        let is_replaced = unit.neighbours == Neighbours::ReplaceAddOrRemoveOneRecord
            && ledger_unit.neighbours == Neighbours::ReplaceOneRecord;
        let is_same = ledger_unit.neighbours == unit.neighbours;
        if ledger_unit.rows != unit.rows || !(is_same || is_replaced) {
            return Err(Error::bad_input(
                format!("ledger {}", self.path.display()),
                format!("a release for the privacy unit of the ledger ({ledger_unit})"),
                format!("another privacy unit ({unit})"),
                "give the same --neighbours and --unit-rows as when the ledger was created",
            ));
        }
        if read.opening.person.as_deref() != person {
            let of = |person: Option<&str>| match person {
                Some(column) => format!("persons with the same value of `{column}`"),
                None => "records, without --person".to_owned(),
            };
            return Err(Error::bad_input(
                format!("ledger {}", self.path.display()),
                format!("a release that protects what the ledger counts: {}", {
                    of(read.opening.person.as_deref())
                }),
                of(person),
                "give the same --person as when the ledger was created; costs for different \
                 persons do not add up",
            ));
        }
        if read.spent.plus(&rho.decimal()) > read.total.decimal() {
            return Err(Error::BudgetExhausted {
                what: what.to_owned(),
                asked: rho.get(),
                left: left_rounded_down(&read),
                total: read.total.get(),
            });
        }
        let number = read.reservations.len() as u64 + 1;
        let previous = read.last;
        let line = text_of(&Line::Reserve {
            reserve: number,
            rho: rho.get(),
            what: what.to_owned(),
            previous,
        })?;
        let index = read.lines + 1;
        file.append(&line, &text_of(&Head::of(index, &line))?)?;
        let (hash, person) = (sha256(line.as_bytes()), person.map(str::to_owned));
        Ok(Reservation { number, line: index, hash, rho, unit, person })
    }

    /// Records that the run of a reservation was completed.
    ///
    /// # Errors
    /// The ledger no longer has the reservation, or cannot be written. The reservation remains
    /// spent.
    pub fn settle(&self, reservation: Reservation) -> Result<()> {
        let mut file = LockedFile::exclusive(&self.path, self.waiting, When::After)?;
        let read = self.read(&mut file)?;
        let kept = read
            .reservations
            .iter()
            .any(|(line, hash, _)| *line == reservation.line && *hash == reservation.hash);
        if !kept {
            return Err(Error::bad_input(
                format!("ledger {}", self.path.display()),
                format!("the reservation of this release in line {}", reservation.line),
                "another ledger, or an older copy",
                format!(
                    "restore the ledger whose line {} has the SHA-256 {}; the release is complete \
                     and its cost is spent; make no release with the present ledger",
                    reservation.line, reservation.hash
                ),
            ));
        }
        let line = text_of(&Line::Settle { settle: reservation.number, previous: read.last })?;
        file.append(&line, &text_of(&Head::of(read.lines + 1, &line))?)
    }

    fn read(&self, file: &mut LockedFile) -> Result<Contents> {
        read_text(&file.read()?, &self.path.display().to_string())
    }
}

fn text_of(line: &impl Serialize) -> Result<String> {
    serde_json::to_string(line).map_err(|e| Error::bug("ledger", "a line that can be written", e))
}

/// Returns the largest number that may still be reserved; 0 if there is none.
fn left_rounded_down(read: &Contents) -> f64 {
    let left = read.total.decimal().minus(&read.spent).rounded_down();
    Rho::new(left).map_or(0.0, Rho::get)
}

/// Parses all lines and checks the chain of hashes.
fn read_text(text: &str, origin: &str) -> Result<Contents> {
    let refuse = |line: usize, expected: &str, found: String| Error::Parse {
        origin: origin.to_owned(),
        place: Some(Place { line, column: 0 }),
        expected: expected.to_owned(),
        found,
        remedy: "restore the ledger from a complete copy; only a last line without a line end can \
                 be removed manually instead, as a run with such a reservation has read no data"
            .into(),
    };
    let lines: Vec<&str> = text.lines().collect();
    if !text.ends_with('\n') {
        let found = "a last line without a line end".into();
        return Err(refuse(lines.len().max(1), "a ledger of complete lines", found));
    }
    let bad_head = |found: &str| refuse(1, "the first line of a ledger of version 2", found.into());
    let head: Head = serde_json::from_str(lines[0]).map_err(|_| bad_head("something else"))?;
    let promised = head
        .lines
        .parse::<usize>()
        .ok()
        .filter(|_| head.lines.len() == 10 && head.ledger == FORMAT);
    let promised = promised.ok_or_else(|| bad_head("another"))?;
    if lines.len() < promised.max(2) {
        let found = format!("{} lines: the last lines were removed", lines.len());
        return Err(refuse(lines.len(), &format!("a ledger of {promised} lines"), found));
    }
    let opening: Opening = serde_json::from_str(lines[1])
        .map_err(|_| refuse(2, "the budget of a ledger", "something else".into()))?;
    let total = Rho::new(opening.total_rho).map_err(|e| refuse(2, "a total", e.to_string()))?;
    if opening.unit.rows == 0 {
        return Err(refuse(2, "at least one record per person", "0".into()));
    }
    let last = sha256(lines[1].as_bytes());
    let mut read =
        Contents { opening, total, spent: 0i64.into(), reservations: Vec::new(), lines: 2, last };
    let mut is_last = read.lines == promised && read.last == head.last;
    for (index, line) in lines.iter().enumerate().skip(2) {
        let number = index + 1;
        let parsed: Line = serde_json::from_str(line)
            .map_err(|_| refuse(number, "a line of a ledger", "something else".into()))?;
        let (Line::Reserve { previous, .. } | Line::Settle { previous, .. }) = &parsed;
        if *previous != read.last {
            let found = "another hash: lines were changed, moved or removed".into();
            return Err(refuse(number, "the hash of the line before", found));
        }
        read.last = sha256(line.as_bytes());
        read.lines = number;
        is_last |= number == promised && read.last == head.last;
        match parsed {
            Line::Reserve { reserve, rho, .. } if reserve == read.reservations.len() as u64 + 1 => {
                let rho = Rho::new(rho).map_err(|e| refuse(number, "a cost", e.to_string()))?;
                read.spent = read.spent.plus(&rho.decimal());
                read.reservations.push((number, read.last.clone(), false));
            }
            Line::Reserve { .. } => {
                return Err(refuse(number, "reservations counted from 1", "another number".into()));
            }
            Line::Settle { settle, .. } => {
                let index = usize::try_from(settle).ok().and_then(|n| n.checked_sub(1));
                match index.and_then(|n| read.reservations.get_mut(n)) {
                    Some((.., settled @ false)) => *settled = true,
                    _ => {
                        return Err(refuse(
                            number,
                            "the settlement of an open reservation",
                            format!("a settlement of {settle}"),
                        ));
                    }
                }
            }
        }
    }
    if !is_last {
        let found = "a changed line".into();
        return Err(refuse(promised, "the line whose hash is in the first line", found));
    }
    Ok(read)
}

#[cfg(test)]
mod tests;
