//! A release as asked for, and the frame around its run: reservation, output and settlement.

use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::staged_forecast::Guess;
use crate::budget::ReleaseRho;
use crate::data::Data;
use crate::steps::Steps;
use crate::target::Source;
use matmech::data::table::FieldCounts;
use matmech::data::{OpenTable, OutOfDomain, PersonLimit};
use matmech::domain::AttributeSet;
use matmech::error::{Error, Result};
use matmech::privacy::{PrivacyUnit, Rho};
use matmech::release::records::RecordCount;
use matmech::release::{Ledger, LockWait, Persons, ReleaseData, Reservation, Series};
use matmech::schema::{Schema, SchemaSource};
use matmech::workload::GroupedWorkload;

/// The δ of the statement if the budget has none.
pub const DELTA: f64 = 1e-9;

/// Where a release reads, charges and writes.
#[derive(Debug)]
pub struct Files {
    /// The records to read.
    pub data: Data,
    /// The ledger to charge.
    pub ledger: PathBuf,
    /// The folder to write; must not exist.
    pub out: PathBuf,
}

/// A release, with the options of the command.
#[derive(Debug)]
pub struct Release {
    /// The schema: a file, or its text.
    pub schema: SchemaSource,
    /// The queries to answer.
    pub target: Source,
    /// The ρ to reserve.
    pub rho: ReleaseRho,
    /// δ for which ε is stated; [`DELTA`] if absent.
    pub delta: Option<f64>,
    /// The unit as asked; see [`Release::run`].
    pub unit: PrivacyUnit,
    /// The column that identifies persons, whose first `unit.rows` records are kept.
    pub person: Option<String>,
    /// The attribute whose values differ between the records of a person.
    pub distinct: Option<String>,
    /// The folder of the previous release of a series.
    pub after: Option<PathBuf>,
    /// The planner of unbiased answers; `query-smasher` if absent.
    pub planner: Option<String>,
    /// The option `objective` of the planner.
    pub objective: Option<String>,
    /// The mechanism of a staged release; absent for unbiased answers.
    pub mechanism: Option<String>,
    /// The share of ρ for the error bounds of a staged release; 0.03 if absent.
    pub certificate: Option<f64>,
    /// The rule for values outside the schema.
    pub out_of_domain: OutOfDomain,
    /// How to wait for a ledger that another process has locked.
    pub waiting: LockWait,
    /// Whether to write `adjusted.csv`; only for unbiased answers.
    pub adjust: bool,
    /// The number of synthetic records of a staged release; none are written if absent.
    pub records: Option<RecordCount>,
    /// The made-up records for which a dry run of a staged release simulates the error.
    pub guess: Option<Guess>,
    /// None for a dry run, which reads, charges and writes nothing.
    pub files: Option<Files>,
}

/// A reserved budget, the records that it pays for, and the output.
pub(super) struct Spending<'a> {
    /// The path of the ledger.
    pub(super) ledger: &'a Path,
    pub(super) reservation: &'a Reservation,
    pub(super) data: ReleaseData,
    pub(super) folder: &'a Folder,
    /// The final name of the output.
    pub(super) out: &'a Path,
}

impl Release {
    /// Returns what is left in the ledger.
    pub(super) fn rest(&self) -> Result<Rho> {
        let Some(Files { ledger, .. }) = &self.files else {
            let remedy = "give the number that `matmech ledger show` prints";
            return Err(Error::bad_input("--rho of a dry run", "a number", "`rest`", remedy));
        };
        let left = Ledger::open(ledger, self.waiting)?.balance()?.left;
        Rho::new(left).map_err(|_| {
            let what = format!("ledger {}", ledger.display());
            let remedy = "create a larger ledger for another table";
            Error::bad_input(what, "a remaining budget", "none", remedy)
        })
    }

    /// Returns whose records are protected together.
    pub(super) fn persons(&self) -> Persons<'_> {
        Persons { column: self.person.as_deref(), distinct: self.distinct.as_deref() }
    }

    /// Returns the limit on the records of a person, if it is enforced.
    pub(super) fn person_limit(&self, unit: PrivacyUnit) -> Option<PersonLimit> {
        let distinct = self.distinct.clone();
        self.person.clone().map(|column| PersonLimit { column, rows: unit.rows, distinct })
    }

    /// Reserves the budget, makes the release, and settles the reservation.
    ///
    /// All checks that can fail without spending come first. The marginals on the sets `needed` are
    /// counted before, if an engine counts.
    pub(super) fn spend(
        &self,
        (rho, unit): (Rho, PrivacyUnit),
        series: Option<&Series>,
        (schema, needed): (&Schema, &[AttributeSet]),
        expectation: &str,
        steps: &dyn Steps,
        release: impl FnOnce(Spending<'_>) -> Result<String>,
    ) -> Result<()> {
        let Some(Files { data, ledger, out }) = &self.files else {
            return Err(Error::bug("release", "data, a ledger and an output", "a dry run"));
        };
        let ledger = Ledger::open(ledger, self.waiting)?;
        for earlier in series.into_iter().flat_map(|series| &series.earlier) {
            let line = (earlier.line, earlier.line_sha256.as_str());
            ledger.require_settled(line, &earlier.sha256sums_sha256)?;
        }
        let person = self.person_limit(unit);
        let rule = self.out_of_domain;
        let data = match data.counted(schema, person.clone(), rule)? {
            Some(marginals) => {
                marginals.require(needed)?;
                ReleaseData::Counts { marginals, person }
            }
            None => {
                let table = OpenTable::new(data.open(FieldCounts::Any)?, schema, person)?;
                ReleaseData::Records(table, rule)
            }
        };
        let folder = Folder::create(out)?;
        let what = format!("release to {}", out.display());
        let reserved = steps
            .reserving(expectation)
            .and_then(|()| ledger.reserve(rho, unit, self.persons(), &what));
        let reservation = match reserved {
            Ok(reservation) => reservation,
            Err(error) => {
                folder.discard();
                return Err(error);
            }
        };
        let (ledger_path, reserved) = (ledger.path(), &reservation);
        let outcome = release(Spending {
            ledger: ledger_path,
            reservation: reserved,
            data,
            folder: &folder,
            out,
        });
        if outcome.is_err() {
            folder.discard();
        }
        let sums = outcome.map_err(|error| Error::After {
            done: format!("after reserving {rho}, which stays spent in the ledger"),
            source: Box::new(error),
        })?;
        ledger.settle_folder(reservation, &sums)
    }
}

/// Maximum queries of one run.
const MAX_QUERIES: f64 = (1u64 << 31) as f64;

pub(crate) fn check_count(workload: &GroupedWorkload) -> Result<()> {
    let queries = workload.count().as_f64();
    if queries <= MAX_QUERIES {
        return Ok(());
    }
    let remedy =
        "use queries on fewer attributes, or give the attributes fewer values (wider bins)";
    Err(Error::too_large("workload of a release", "queries", MAX_QUERIES, queries, remedy))
}
