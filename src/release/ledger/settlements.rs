//! Settlements: completed releases, with the hashes of their folders.

use super::file::{LockedFile, When};
use super::lines::{Head, Line, Reserved, text_of};
use super::reservation::Reservation;
use super::reservations::Ledger;
use crate::error::{Error, Result};

impl Ledger {
    /// Records that the run of a reservation was completed.
    ///
    /// # Errors
    /// As [`Ledger::settle_folder`].
    pub fn settle(&self, reservation: Reservation) -> Result<()> {
        self.settle_with(reservation, None)
    }

    /// Records that a release was completed, with the SHA-256 of the file `SHA256SUMS` of its
    /// folder.
    ///
    /// # Errors
    /// The ledger no longer has the reservation, or cannot be written. The reservation remains
    /// spent.
    pub fn settle_folder(&self, reservation: Reservation, folder: &str) -> Result<()> {
        self.settle_with(reservation, Some(folder.to_owned()))
    }

    fn settle_with(&self, reservation: Reservation, folder: Option<String>) -> Result<()> {
        let mut file = LockedFile::exclusive(&self.path, self.waiting, When::After)?;
        let read = self.read(&mut file)?;
        let kept = read
            .reservations
            .iter()
            .any(|kept| kept.line == reservation.line && kept.hash == reservation.hash);
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
        let line =
            text_of(&Line::Settle { settle: reservation.number, folder, previous: read.last })?;
        file.append(&line, &text_of(&Head::of(read.lines + 1, &line))?)
    }

    /// Checks that the ledger has the settled reservation of a release.
    ///
    /// `line` and `hash` are those of the reservation, `folder` is the SHA-256 of the file
    /// `SHA256SUMS` of the release. Settlements of older versions have no hash of the folder.
    ///
    /// # Errors
    /// Another ledger, a release that is not settled, or changed files.
    pub fn require_settled(&self, (line, hash): (usize, &str), folder: &str) -> Result<()> {
        let mut file = LockedFile::shared(&self.path, self.waiting)?;
        let read = self.read(&mut file)?;
        let is_it = |reserved: &&Reserved| reserved.line == line && reserved.hash == hash;
        let found = match read.reservations.iter().find(is_it) {
            None => "no reservation of the release: another ledger, or an older copy",
            Some(Reserved { is_settled: false, .. }) => "an interrupted run in this line",
            Some(Reserved { folder: Some(settled), .. }) if settled != folder => {
                "other checksums of the folder: files were changed after the release"
            }
            Some(_) => return Ok(()),
        };
        Err(Error::bad_input(
            format!("ledger {}", self.path.display()),
            format!("the settled reservation of the release in line {line}"),
            found,
            "give the ledger that the release was charged to, and its unchanged folder",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LockWait, Persons};
    use super::*;
    use crate::hash::sha256;
    use crate::privacy::PrivacyUnit;
    use crate::test_support::rho;

    fn new(persons: Persons<'_>) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let unit = PrivacyUnit { rows: 3, ..PrivacyUnit::default() };
        let path = folder.path().join("L.jsonl");
        let ledger = Ledger::create_for(&path, (rho(1.0), None), unit, persons).unwrap();
        (folder, ledger)
    }

    /// A settlement binds the checksums of a folder, and the chain of hashes binds the settlement.
    #[test]
    fn a_settlement_binds_its_folder() {
        let (_folder, ledger) = new(Persons::default());
        let unit = PrivacyUnit { rows: 3, ..PrivacyUnit::default() };
        let open = ledger.reserve(rho(0.1), unit, None, "x").unwrap();
        let (line, hash) = (open.line(), open.hash().to_owned());
        let refused = ledger.require_settled((line, &hash), "5b").unwrap_err().to_string();
        assert!(refused.contains("interrupted"), "{refused}");
        ledger.settle_folder(open, "5a").unwrap();
        ledger.require_settled((line, &hash), "5a").unwrap();
        for (of, folder, part) in [
            ((line, hash.as_str()), "5b", "changed after"),
            ((line + 1, hash.as_str()), "5a", "another ledger"),
            ((line, "00"), "5a", "another ledger"),
        ] {
            let refused = ledger.require_settled(of, folder).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        std::fs::write(&ledger.path, text.replace("\"5a\"", "\"5b\"")).unwrap();
        assert!(
            ledger.require_settled((line, &hash), "5b").unwrap_err().to_string().contains("hash")
        );
    }

    /// A ledger of version 2, without hashes of folders, is read and continued.
    #[test]
    fn older_ledgers_are_continued() {
        let (_folder, ledger) = new(Persons::default());
        let unit = PrivacyUnit { rows: 3, ..PrivacyUnit::default() };
        let first = ledger.reserve(rho(0.1), unit, None, "x").unwrap();
        let (line, hash) = (first.line(), first.hash().to_owned());
        ledger.settle(first).unwrap();
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        assert!(!text.contains("folder"), "{text}");
        std::fs::write(&ledger.path, text.replace("{\"ledger\":3", "{\"ledger\":2")).unwrap();
        let ledger = Ledger::open(&ledger.path, LockWait::default()).unwrap();
        ledger.require_settled((line, &hash), "any").unwrap();
        let second = ledger.reserve(rho(0.1), unit, None, "y").unwrap();
        ledger.settle_folder(second, &sha256(b"sums")).unwrap();
        assert!(std::fs::read_to_string(&ledger.path).unwrap().starts_with("{\"ledger\":3"));
        assert_eq!(ledger.balance().unwrap().unsettled, 0);
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        std::fs::write(&ledger.path, text.replace("{\"ledger\":3", "{\"ledger\":4")).unwrap();
        assert!(ledger.balance().unwrap_err().to_string().contains("version 2 or 3"));
    }

    /// Different values are an assumption of the ledger, unless persons have a column.
    #[test]
    fn different_values_are_those_of_the_ledger() {
        let names = [None, Some("year"), Some("visit")];
        for (column, of_ledger) in
            [None, Some("id")].into_iter().flat_map(|column| names.map(|name| (column, name)))
        {
            let (_folder, ledger) = new(Persons { column, distinct: of_ledger });
            for distinct in names {
                let unit = PrivacyUnit {
                    rows: 3,
                    distinct: distinct.map(|_| 0),
                    ..PrivacyUnit::default()
                };
                let reserved = ledger.reserve(rho(0.1), unit, Persons { column, distinct }, "x");
                let is_allowed = column.is_some() || distinct.is_none() || distinct == of_ledger;
                match reserved {
                    Ok(reservation) => {
                        assert!(is_allowed && reservation.distinct() == distinct);
                    }
                    Err(error) => {
                        let message = error.to_string();
                        assert!(!is_allowed && message.contains("--distinct"), "{message}");
                    }
                }
                let bug = ledger.reserve(rho(0.1), unit, Persons { column, distinct: None }, "x");
                assert_eq!(bug.is_ok(), distinct.is_none());
            }
            assert_eq!(ledger.balance().unwrap().distinct.as_deref(), of_ledger);
        }
    }
}
