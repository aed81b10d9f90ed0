//! Synthetic records of a release, from the fitted model alone.

use std::path::Path;
use std::str::FromStr;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::data;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::graphical_model::check_attributes;
use crate::estimation::soft_ipf::SoftIpf;
use crate::schema::Schema;
use crate::workload::{GroupedWorkload, QueryGroup};

/// The public seed of synthetic records.
const SEED: u64 = 1;

/// Maximum number of synthetic records.
const MAX_RECORDS: f64 = u32::MAX as f64;

/// The number of synthetic records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordCount {
    /// The released number of records, rounded; at least 1.
    Auto,
    /// A given number.
    Exactly(usize),
}

impl FromStr for RecordCount {
    type Err = Error;

    /// Reads `auto` or a number from 1 to 2³² − 1.
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(RecordCount::Auto);
        }
        match text.parse::<u32>() {
            Ok(count) if count > 0 => Ok(RecordCount::Exactly(count as usize)),
            _ => Err(Error::bad_input(
                "option --records",
                "`auto` or a number of records from 1 to 4294967295",
                format!("`{text}`"),
                "use auto for the released number of records",
            )),
        }
    }
}

/// The synthetic records of a release, in its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntheticRecords {
    /// The number of records.
    count: usize,
    /// The seed of ChaCha20; the model and the seed determine the records.
    seed: u64,
}

impl SyntheticRecords {
    /// Returns the paragraph of a statement, in Markdown.
    pub fn in_words(&self) -> String {
        format!(
            "**Synthetic records.** `records.csv` has {} records that follow the published \
             estimates of all pairs of attributes. They were computed from the published estimates \
             with the public seed {} of ChaCha20 and describe no person.",
            self.count, self.seed
        )
    }
}

/// Refuses a workload whose model cannot give records; for checks before the reservation.
///
/// # Errors
/// An attribute of the schema that no query uses.
pub fn check(workload: &GroupedWorkload) -> Result<()> {
    let sets = workload.groups().iter().map(QueryGroup::attributes);
    let used = sets.fold(AttributeSet::EMPTY, AttributeSet::union);
    check_attributes(workload.schema(), used)
}

/// Refuses records of a release without a model.
///
/// # Errors
/// Always.
pub fn refuse_without_model() -> Result<()> {
    Err(Error::bad_input(
        "option --records",
        "a mechanism that fits a model",
        "a plan of unbiased answers",
        "use --mechanism staged, or omit --records",
    ))
}

/// Writes synthetic records with the names and values of the schema, synced to the disk.
///
/// See [`SoftIpf::records`]. A bin is written as its midpoint.
///
/// # Errors
/// A model without some attribute, or the file cannot be written.
pub fn write(
    path: &Path,
    schema: &Schema,
    model: &SoftIpf,
    count: RecordCount,
) -> Result<SyntheticRecords> {
    let count = match count {
        RecordCount::Auto => model.total().round().clamp(1.0, MAX_RECORDS) as usize,
        RecordCount::Exactly(count) => count,
    };
    let records = model.records(schema, count, &mut ChaCha20Rng::seed_from_u64(SEED))?;
    data::write_csv(path, schema, &records)?;
    Ok(SyntheticRecords { count, seed: SEED })
}
