//! The ledger: the budget spent on a table, written before the table is read.
//!
//! A ledger is a file of one JSON object per line. The first line names the last line. The second
//! line has the total budget and the privacy unit. Reservations and settlements follow:
//!
//! ```text
//! {"ledger":3,"lines":"0000000004","last":"<hash of line 4>"}
//! {"total_rho":0.5,"delta":1e-9,"unit":{"neighbours":"add-or-remove-one-record","rows":1},"person":"id"}
//! {"reserve":1,"rho":0.2,"what":"release to out","previous":"<hash of line 2>"}
//! {"settle":1,"folder":"<hash of SHA256SUMS>","previous":"<hash of line 3>"}
//! ```
//!
//! A reservation is spent, settled or not: a settlement only records that the run was completed, and
//! the SHA-256 of the file `SHA256SUMS` of its folder. Version 2 has no such hash, and is read too.
//! Amounts are decimal numbers, and their sums are exact: three reservations of 0.1 spend 0.3.
//!
//! The second line can have `"distinct":"year"`: the total is for persons whose records have different
//! values of that attribute.
//!
//! A reservation can have a second amount, `"new_delta":1e-10`: δ′ of values that are not public
//! ([`NewValues`](crate::privacy::NewValues)). A ledger that was created with ε and δ keeps to them:
//! Σ δ′ < δ, and Σ ρ is at most the ρ of ε and δ − Σ δ′, for all reservations together. A ledger that
//! was created with ρ promises ρ-zCDP, under which nothing may fail: it refuses δ′.
//!
//! Every line is appended under an exclusive lock and synced to the disk before anything else
//! happens; then the first line, which has a fixed length, is rewritten. The hashes (SHA-256 of the
//! text of a line) form a chain. A ledger with a changed, moved or removed line, including the last
//! line, is refused, and so is a file with other lines.

mod file;
mod limit;
mod lines;
mod reservation;
mod reservations;
mod settlements;

pub use self::file::LockWait;
pub use self::reservation::{Persons, Reservation};
pub use self::reservations::{Balance, Ledger};
