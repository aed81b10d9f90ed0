//! The balance of a ledger.

use std::path::Path;

use serde::Serialize;

use super::release::{CompleteRelease, DELTA};
use matmech::error::Result;
use matmech::privacy::{PrivacyUnit, Rho, fine_noise};
use matmech::release::open_values::without_new_values;
use matmech::release::{Ledger, Series};

/// The output of `ledger --json`.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// The total budget, as ρ of zCDP.
    pub total_rho: f64,
    /// The sum of all reservations, rounded up.
    pub spent_rho: f64,
    /// ε of all reservations together, rounded up.
    pub spent_epsilon: f64,
    /// δ at which `spent_epsilon` is stated, of which `spent_new_delta` is a part.
    pub delta: f64,
    /// The sum of δ′ for values that are not public, rounded up.
    pub spent_new_delta: f64,
    /// The remaining ρ, rounded down; 0 if nothing is left.
    pub left_rho: f64,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// The column that identifies persons, if all records of a person are protected.
    pub person: Option<String>,
    /// The attribute whose values are stated to differ between the records of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<String>,
    /// The number of reservations.
    pub reservations: usize,
    /// The number of reservations whose runs may be incomplete; they count as spent.
    pub unsettled: usize,
    /// The series that ends with a release, if its folder was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

impl LedgerReport {
    /// Adds the series that ends with the release in a folder, after all files of the folder are
    /// checked against its checksums and against the settlement in the ledger.
    ///
    /// # Errors
    /// A folder that is not that of a complete release of this ledger, or changed files.
    pub fn with_release(mut self, ledger: &Ledger, folder: &Path) -> Result<Self> {
        self.series = Some(CompleteRelease::read(folder)?.series_in(ledger)?);
        Ok(self)
    }

    /// Returns the balance; ε is at δ, by default that of the budget, or 1e-9.
    ///
    /// # Errors
    /// The ledger cannot be read, or δ is invalid or not above the sum of δ′.
    pub fn of(ledger: &Ledger, delta: Option<f64>) -> Result<Self> {
        let balance = ledger.balance()?;
        let delta = delta.or(balance.delta).unwrap_or(DELTA);
        // `Rho` must be positive: nothing spent means ε = 0.
        let spent_epsilon = match Rho::new(balance.spent) {
            Ok(spent) => {
                let at = without_new_values(delta, balance.spent_new_delta)?;
                fine_noise::epsilon_rounded_up(spent, at)?
            }
            Err(_) => 0.0,
        };
        Ok(LedgerReport {
            total_rho: balance.total.get(),
            spent_rho: balance.spent,
            spent_epsilon,
            delta,
            spent_new_delta: balance.spent_new_delta,
            left_rho: balance.left,
            unit: balance.unit,
            person: balance.person,
            distinct: balance.distinct,
            series: None,
            reservations: balance.reservations,
            unsettled: balance.unsettled,
        })
    }
}
