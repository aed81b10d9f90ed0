//! Releases of a series: the total for a person who is in all of them.

use serde::{Deserialize, Serialize};

use super::decimals::shortest;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::privacy::{Rho, fine_noise};
use crate::release::document::{Line, code, strong, text};

/// An earlier release of a series, with the hashes that bind its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierRelease {
    /// The name of the folder.
    pub folder: String,
    /// The line number of its reservation in the ledger.
    pub line: usize,
    /// The SHA-256 of the text of that line.
    pub line_sha256: String,
    /// The ρ that it reserved.
    pub rho_reserved: f64,
    /// The SHA-256 of its `statement.json`.
    pub statement_sha256: String,
    /// The SHA-256 of its `SHA256SUMS`.
    pub sha256sums_sha256: String,
}

/// The earlier releases of a series, and its total.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The earlier releases, in their order.
    pub earlier: Vec<EarlierRelease>,
    /// The sum of the reserved ρ of all releases, rounded up.
    pub rho: f64,
    /// ε of that sum, rounded up, at `delta`.
    pub epsilon: f64,
    /// δ for which ε is stated.
    pub delta: f64,
}

impl Series {
    /// Returns the series of some releases, of which the last one reserves `rho`.
    ///
    /// # Errors
    /// An invalid ρ or δ.
    pub fn of(earlier: Vec<EarlierRelease>, rho: Rho, delta: f64) -> Result<Self> {
        let mut sum: Decimal = rho.decimal();
        for release in &earlier {
            sum = sum.plus(&Rho::new(release.rho_reserved)?.decimal());
        }
        let total = Rho::new(sum.rounded_up())?;
        let epsilon = fine_noise::epsilon_rounded_up(total, delta)?;
        Ok(Series { earlier, rho: total.get(), epsilon, delta })
    }

    /// Returns the total in words.
    pub fn total_in_words(&self) -> String {
        let [rho, epsilon, delta] = [self.rho, self.epsilon, self.delta].map(shortest);
        format!("{} releases: rho {rho}, epsilon {epsilon} at delta {delta}", self.releases())
    }

    /// Returns the number of releases, with the last one.
    pub fn releases(&self) -> usize {
        self.earlier.len() + 1
    }

    /// Returns the paragraph of the statement.
    pub(super) fn in_words(&self) -> Line {
        let [rho, epsilon, delta] = [self.rho, self.epsilon, self.delta].map(shortest);
        let mut line: Line = [
            strong("Series."),
            text(format!(
                " This is release {} of a series. All of them together are \
                 ({epsilon}, {delta})-differentially private for a person who is in every table \
                 (ρ = {rho}). Earlier releases:",
                self.releases()
            )),
        ]
        .into();
        for (index, release) in self.earlier.iter().enumerate() {
            line.extend([
                text(if index > 0 { ", " } else { " " }),
                code(&release.folder),
                text(format!(
                    " (line {} of the ledger, ρ = {}, SHA-256 of its checksums {})",
                    release.line,
                    shortest(release.rho_reserved),
                    release.sha256sums_sha256
                )),
            ]);
        }
        line.extend([text(".")]);
        line
    }
}
