//! A ledger on disk: its balance, reservations and settlements.

use std::path::{Path, PathBuf};

use super::file::{self, LockWait, LockedFile, When};
use super::lines::{Contents, Head, Line, Opening, read_text, text_of};
use super::reservation::{Persons, Reservation};
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
    /// The attribute whose values are stated to differ between the records of a person.
    pub distinct: Option<String>,
    /// The sum of reservations, rounded up.
    pub spent: f64,
    /// The sum of δ′ for values that are not public, rounded up.
    pub spent_new_delta: f64,
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
    pub(super) path: PathBuf,
    pub(super) waiting: LockWait,
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
        Self::create_for(path, (total, delta), unit, Persons::from(person.as_deref()))
    }

    /// Creates a ledger for persons whose records can have different values of an attribute.
    ///
    /// # Errors
    /// As [`Ledger::create`].
    pub fn create_for(
        path: &Path,
        (total, delta): (Rho, Option<f64>),
        unit: PrivacyUnit,
        persons: Persons<'_>,
    ) -> Result<Self> {
        let [person, distinct] =
            [persons.column, persons.distinct].map(|name| name.map(str::to_owned));
        // A ledger has the name of the attribute: positions are those of one schema.
        let unit = PrivacyUnit { distinct: None, ..unit };
        let opening = Opening { total_rho: total.get(), delta, unit, person, distinct };
        let opening = text_of(&opening)?;
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
        let left = left_rounded_down(&read, read.total_with(None)?);
        Ok(Balance {
            total: read.total,
            delta: read.opening.delta,
            unit: read.opening.unit,
            person: read.opening.person,
            distinct: read.opening.distinct,
            spent: read.spent.rounded_up(),
            spent_new_delta: read.spent_new_delta.rounded_up(),
            left,
            reservations: read.reservations.len(),
            unsettled: read.reservations.iter().filter(|reserved| !reserved.is_settled).count(),
        })
    }

    /// Returns the ρ that is left once δ′ is reserved, rounded down; 0 if there is none.
    ///
    /// # Errors
    /// As [`Ledger::balance`]; or the budget does not allow δ′.
    pub fn left_with(&self, new_delta: Option<f64>) -> Result<f64> {
        let mut file = LockedFile::shared(&self.path, self.waiting)?;
        let read = self.read(&mut file)?;
        Ok(left_rounded_down(&read, read.total_with(new_delta)?))
    }

    /// Reserves ρ, and returns when the reservation is on the disk.
    ///
    /// # Errors
    /// As [`Ledger::reserve_with`].
    pub fn reserve<'a>(
        &self,
        rho: Rho,
        unit: PrivacyUnit,
        persons: impl Into<Persons<'a>>,
        what: &str,
    ) -> Result<Reservation> {
        self.reserve_with((rho, None), unit, persons, what)
    }

    /// Reserves ρ and δ′ for values that are not public, and returns when the reservation is on the
    /// disk.
    ///
    /// Concurrent processes wait for each other.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`] if ρ exceeds the remaining budget. The budget does not allow δ′.
    /// The ledger is for another privacy unit or other persons, is invalid, stays locked, was
    /// replaced by another file, or cannot be written completely. Then nothing is reserved.
    pub fn reserve_with<'a>(
        &self,
        (rho, new_delta): (Rho, Option<f64>),
        unit: PrivacyUnit,
        persons: impl Into<Persons<'a>>,
        what: &str,
    ) -> Result<Reservation> {
        let Persons { column: person, distinct } = persons.into();
        if unit.distinct.is_some() != distinct.is_some() {
            let expected = "the name of the attribute with different values";
            return Err(Error::bug("reservation", expected, format!("{distinct:?}")));
        }
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
        // With the column of persons, all of a person's records are protected, whatever they are.
        if person.is_none() && distinct.is_some() && read.opening.distinct.as_deref() != distinct {
            let of = |name: Option<&str>| match name {
                Some(name) => format!("records with different values of `{name}`"),
                None => "records with any values".to_owned(),
            };
            return Err(Error::bad_input(
                format!("ledger {}", self.path.display()),
                format!("a release that protects what the ledger counts: {}", {
                    of(read.opening.distinct.as_deref())
                }),
                of(distinct),
                "give the same --distinct as when the ledger was created, leave it out, or enforce \
                 it with --person",
            ));
        }
        let total = read.total_with(new_delta)?;
        if read.spent.plus(&rho.decimal()) > total.decimal() {
            return Err(Error::BudgetExhausted {
                what: what.to_owned(),
                asked: rho.get(),
                left: left_rounded_down(&read, total),
                total: total.get(),
            });
        }
        let number = read.reservations.len() as u64 + 1;
        let previous = read.last;
        let line = text_of(&Line::Reserve {
            reserve: number,
            rho: rho.get(),
            new_delta,
            what: what.to_owned(),
            previous,
        })?;
        let index = read.lines + 1;
        file.append(&line, &text_of(&Head::of(index, &line))?)?;
        let [person, distinct] = [person, distinct].map(|name| name.map(str::to_owned));
        let hash = sha256(line.as_bytes());
        let new_delta = new_delta.unwrap_or(0.0);
        Ok(Reservation { number, line: index, hash, rho, new_delta, unit, person, distinct })
    }

    pub(super) fn read(&self, file: &mut LockedFile) -> Result<Contents> {
        read_text(&file.read()?, &self.path.display().to_string())
    }
}

/// Returns the largest number that may still be reserved of a total; 0 if there is none.
fn left_rounded_down(read: &Contents, total: Rho) -> f64 {
    let left = total.decimal().minus(&read.spent).rounded_down();
    Rho::new(left).map_or(0.0, Rho::get)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_support::rho;

    fn unit() -> PrivacyUnit {
        PrivacyUnit::default()
    }

    fn new(total: f64) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let ledger =
            Ledger::create(&folder.path().join("L.jsonl"), rho(total), None, unit(), None).unwrap();
        (folder, ledger)
    }

    #[test]
    fn reservations_are_spent_whether_or_not_they_are_settled() {
        let (_folder, ledger) = new(1.0);
        let first = ledger.reserve(rho(0.25), unit(), None, "first").unwrap();
        let balance = ledger.balance().unwrap();
        assert_eq!((balance.spent, balance.left, balance.unsettled), (0.25, 0.75, 1));
        ledger.settle(first).unwrap();
        ledger.reserve(rho(0.75), unit(), None, "second").unwrap();
        let balance = ledger.balance().unwrap();
        assert_eq!(
            (balance.spent, balance.left, balance.reservations, balance.unsettled),
            (1.0, 0.0, 2, 1)
        );
        let refused = ledger.reserve(rho(1e-300), unit(), None, "third").unwrap_err();
        assert!(matches!(refused, Error::BudgetExhausted { left: 0.0, .. }), "{refused}");
        assert_eq!(std::fs::read_to_string(&ledger.path).unwrap().lines().count(), 5);
    }

    /// Typed numbers are decimals: three reservations of 0.1 spend a total of 0.3, and nothing is left.
    #[test]
    fn sums_of_decimals_are_exact() {
        let (_folder, ledger) = new(0.3);
        for spent in [0.1, 0.2, 0.3] {
            ledger.reserve(rho(0.1), unit(), None, "a tenth").unwrap();
            let balance = ledger.balance().unwrap();
            assert_eq!(balance.spent, spent);
        }
        assert_eq!(ledger.balance().unwrap().left, 0.0);
        assert!(ledger.reserve(rho(1e-300), unit(), None, "more").is_err());
        // A remainder of more digits than a double has is never overspent.
        let (_folder, ledger) = new(0.3);
        ledger.reserve(rho(0.026_812_345_678_901_234), unit(), None, "x").unwrap();
        let left = ledger.balance().unwrap().left;
        assert!(ledger.reserve(rho(left.next_up()), unit(), None, "too much").is_err());
        ledger.reserve(rho(left), unit(), None, "the rest").unwrap();
        assert!(ledger.balance().unwrap().left < 1e-17);
    }

    /// A person's records are not one record, and persons of two columns are not the same persons.
    #[test]
    fn other_persons_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, person: Option<&str>| {
            let path = folder.path().join(name);
            Ledger::create(&path, rho(1.0), None, unit(), person.map(str::to_owned)).unwrap()
        };
        let people = [None, Some("id"), Some("visit")];
        for (index, person) in people.into_iter().enumerate() {
            let ledger = of(&format!("L{index}"), person);
            for other in people {
                let reserved = ledger.reserve(rho(0.1), unit(), other, "x");
                if person == other {
                    assert_eq!(reserved.unwrap().person(), person);
                } else {
                    let message = reserved.unwrap_err().to_string();
                    assert!(message.contains("--person"), "{message}");
                }
            }
            let balance = ledger.balance().unwrap();
            assert_eq!((balance.person.as_deref(), balance.reservations), (person, 1));
        }
    }

    #[test]
    fn another_unit_is_refused() {
        let (_folder, ledger) = new(1.0);
        for other in [
            PrivacyUnit { rows: 2, ..unit() },
            PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, ..unit() },
        ] {
            let message = ledger.reserve(rho(0.1), other, None, "x").unwrap_err().to_string();
            assert!(message.contains("--unit-rows"), "{message}");
        }
        assert_eq!(ledger.balance().unwrap().reservations, 0);
    }

    /// Returns the lines of a valid ledger with one settled reservation of 0.5.
    fn settled_ledger() -> (tempfile::TempDir, Ledger, Vec<String>) {
        let (folder, ledger) = new(1.0);
        let first = ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        ledger.settle(first).unwrap();
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        let lines = text.lines().map(str::to_owned).collect();
        (folder, ledger, lines)
    }

    /// Every removed or changed line, and every swap of two lines.
    #[test]
    fn changed_moved_or_removed_lines_are_detected() {
        let (_folder, ledger, lines) = settled_ledger();
        let text =
            |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        assert!(read_text(&text(&lines), "L").is_ok());
        let refused = |lines: &[String]| {
            std::fs::write(&ledger.path, text(lines)).unwrap();
            assert!(ledger.reserve(rho(0.1), unit(), None, "x").is_err(), "{lines:?}");
            assert_eq!(
                std::fs::read_to_string(&ledger.path).unwrap(),
                text(lines),
                "nothing is repaired silently"
            );
            ledger.balance().unwrap_err().to_string()
        };
        for index in 0..lines.len() {
            let mut removed = lines.clone();
            removed.remove(index);
            refused(&removed);
            for (from, to) in [
                ("0.5", "0.1"),
                ("1.0", "2.0"),
                ("\"x\"", "\"y\""),
                ("\"settle\":1", "\"settle\":2"),
                ("\"reserve\":1", "\"reserve\":2"),
            ] {
                let mut changed = lines.clone();
                changed[index] = changed[index].replacen(from, to, 1);
                if changed != lines {
                    refused(&changed);
                }
            }
            for other in 0..index {
                let mut moved = lines.clone();
                moved.swap(index, other);
                refused(&moved);
            }
            let cut = &lines[..index];
            assert!(refused(cut).contains("remedy"));
        }
        let mut more = lines.clone();
        more.push(lines[2].clone());
        assert!(refused(&more).contains("hash"));
        assert!(refused(&lines[..3]).contains("removed"));
        // The state of a run that was interrupted between the two writes: the line counts as spent.
        let (_folder, ledger) = new(1.0);
        let before = std::fs::read_to_string(&ledger.path).unwrap();
        ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        let after = std::fs::read_to_string(&ledger.path).unwrap();
        let head = before.lines().next().unwrap();
        let between: String = std::iter::once(head)
            .chain(after.lines().skip(1))
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(&ledger.path, between).unwrap();
        assert_eq!(ledger.balance().unwrap().spent, 0.5);
        ledger.reserve(rho(0.25), unit(), None, "x").unwrap();
        assert_eq!(ledger.balance().unwrap().spent, 0.75);
    }

    #[test]
    fn invalid_ledgers_are_refused_with_the_line() {
        let (_folder, ledger, lines) = settled_ledger();
        let good: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for (text, line) in [
            (String::new(), 1),
            ("\n".into(), 1),
            (good.trim_end().to_owned(), 4),
            (good[..good.len() - 5].to_owned(), 4),
            (format!("{good}{{\"reserve\":2,\"rho\":0."), 5),
            (format!("{good}garbage\n"), 5),
            (format!("{good}\n"), 5),
            (format!("{good}\0\0\0\0\n"), 5),
            (format!("{good}{}\n", lines[2]), 5),
            (format!("{good}{}\n", lines[1]), 5),
            (good.replacen("\"ledger\":3", "\"ledger\":1", 1), 1),
            (good.replacen("0000000004", "4", 1), 1),
            (good.replacen("\"total_rho\":1.0", "\"total_rho\":0.0", 1), 2),
            (good.replacen("\"rows\":1", "\"rows\":0", 1), 2),
            (good.replacen("\"rows\":1", "\"rows\":1,\"distinct\":0", 1), 2),
            (
                "{\"ledger\":1,\"total_rho\":0.5,\
             \"unit\":{\"neighbours\":\"add-or-remove-one-record\",\"rows\":1}}\n"
                    .into(),
                1,
            ),
        ] {
            std::fs::write(&ledger.path, &text).unwrap();
            let reserved = ledger.reserve(rho(0.1), unit(), None, "x");
            for refused in [ledger.balance().unwrap_err(), reserved.unwrap_err()] {
                let Error::Parse { place: Some(place), .. } = &refused else {
                    panic!("{text}: {refused}")
                };
                assert_eq!(place.line, line, "{text}");
            }
            let kept = std::fs::read_to_string(&ledger.path).unwrap();
            assert_eq!(kept, text, "nothing is repaired silently");
        }
        let nowhere = Ledger::open(Path::new("/nowhere/L.jsonl"), LockWait::default())
            .unwrap_err()
            .to_string();
        assert!(nowhere.contains("matmech ledger create"), "{nowhere}");
        assert!(Ledger::create(&ledger.path, rho(1.0), None, unit(), None).is_err());
    }

    /// A device is not a regular file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_refused() {
        assert!(Ledger::open(Path::new("/dev/full"), LockWait::default()).is_err());
    }

    /// A file that an editor or a restore renames to the ledger's path has neither its lock nor its
    /// reservations.
    #[test]
    fn a_replaced_ledger_is_detected() {
        let (folder, ledger) = new(1.0);
        let copy = folder.path().join("copy");
        std::fs::copy(&ledger.path, &copy).unwrap();
        // Replaced after the lock was taken and before the line is written.
        let mut file =
            LockedFile::exclusive(&ledger.path, LockWait::default(), When::Before).unwrap();
        let read = ledger.read(&mut file).unwrap();
        std::fs::rename(&copy, &ledger.path).unwrap();
        let refused = file
            .append("{}", &text_of(&Head::of(read.lines + 1, "{}")).unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("another file in its place") && refused.contains("no data was read"),
            "{refused}"
        );
        drop(file);
        // Replaced by an older copy between reservation and settlement.
        std::fs::copy(&ledger.path, &copy).unwrap();
        let reservation = ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        let hash = reservation.hash().to_owned();
        std::fs::rename(&copy, &ledger.path).unwrap();
        let refused = ledger.settle(reservation).unwrap_err().to_string();
        assert!(refused.contains("older copy") && refused.contains(&hash), "{refused}");
    }

    /// The wait for a lock is announced, and ends at the requested limit.
    #[test]
    fn waiting_for_a_lock_has_a_notice_and_a_limit() {
        static NOTICES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let count = || NOTICES.load(std::sync::atomic::Ordering::SeqCst);
        let (_folder, mut ledger) = new(1.0);
        let notice = |_: &Path, _: Duration| {
            NOTICES.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        };
        ledger.waiting = LockWait { limit: Duration::from_millis(100), notice };
        let held = LockedFile::exclusive(&ledger.path, LockWait::default(), When::Before).unwrap();
        let refused = ledger.reserve(rho(0.5), unit(), None, "x").unwrap_err().to_string();
        assert!(
            refused.contains("--wait") && refused.contains("nothing was read or spent"),
            "{refused}"
        );
        assert!(ledger.balance().is_err());
        assert_eq!(count(), 2);
        drop(held);
        ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        assert_eq!(count(), 2);
    }

    /// After the data was read, no message says that it was not.
    #[test]
    fn a_failed_settlement_says_what_is_spent() {
        let (folder, ledger) = new(1.0);
        let reservation = ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        let moved = folder.path().join("M.jsonl");
        std::fs::rename(&ledger.path, &moved).unwrap();
        let gone = ledger.settle(reservation).unwrap_err().to_string();
        assert!(gone.contains("its cost is spent") && !gone.contains("create it first"), "{gone}");
        let (before, after) = (When::Before.remedy(), When::After.remedy());
        assert!(after.contains("its cost is spent") && !after.contains("nothing was read"));
        assert!(before.contains("nothing was read or spent"));
    }

    /// Concurrent reservations by threads with separate handles: as many as the total allows.
    #[test]
    fn concurrent_reservations_wait_for_each_other() {
        let (_folder, ledger) = new(1.0);
        let won = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    let path = ledger.path.clone();
                    scope.spawn(move || {
                        Ledger { path, waiting: LockWait::default() }
                            .reserve(rho(0.1), unit(), None, "x")
                            .is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(won, 10);
        assert_eq!(ledger.balance().unwrap().reservations, 10);
    }

    /// Random changes of a ledger do not cause a panic.
    #[test]
    fn damaged_ledgers_do_not_panic() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let (_folder, ledger) = new(1.0);
        let first = ledger.reserve(rho(0.5), unit(), None, "x").unwrap();
        ledger.settle(first).unwrap();
        let good = std::fs::read(&ledger.path).unwrap();
        for _ in 0..5000 {
            let mut bytes = good.clone();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random_range(0..128);
            }
            bytes.truncate(random.random_range(1..=bytes.len()));
            drop(read_text(&String::from_utf8_lossy(&bytes), "L"));
        }
    }
}
