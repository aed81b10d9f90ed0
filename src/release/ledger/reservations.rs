//! A ledger on disk: its balance, reservations and settlements.

use std::path::{Path, PathBuf};

use super::file::{self, LockWait, LockedFile, When};
use super::lines::{Contents, Head, Line, Opening, read_text, text_of};
use crate::error::{Error, Result};
use crate::hash::sha256;
use crate::privacy::{Neighbours, PrivacyUnit, Rho};

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

/// Returns the largest number that may still be reserved; 0 if there is none.
fn left_rounded_down(read: &Contents) -> f64 {
    let left = read.total.decimal().minus(&read.spent).rounded_down();
    Rho::new(left).map_or(0.0, Rho::get)
}

#[cfg(test)]
mod tests;
