//! Synthetic records of a release, from the fitted model alone.

use std::str::FromStr;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::counted::counted;
use crate::data::Records;
use crate::error::{Error, Result};
use crate::estimation::graphical_model::check_attributes;
use crate::estimation::soft_ipf::SoftIpf;
use crate::release::document::{Line, code, strong, text};
use crate::release::staged::{BoundSummary, StagedPlan};
use crate::release::statement::at_most;
use crate::schema::Schema;

/// The public seed of synthetic records.
const SEED: u64 = 1;

/// The default of the maximum number of synthetic records.
pub const DEFAULT_MAX_RECORDS: u32 = 100_000_000;

/// Memory of a synthetic record per attribute, in bytes (measured).
const BYTES_PER_VALUE: usize = 5;

/// The number of synthetic records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordCount {
    /// The released number of records, rounded; at least 1, and at most a given number.
    Released {
        /// The maximum.
        at_most: usize,
    },
    /// A given number.
    Exactly(usize),
}

impl RecordCount {
    /// Returns the count with a maximum.
    ///
    /// # Errors
    /// A given number above the maximum, or the maximum 0.
    pub fn with_maximum(self, max: u32) -> Result<Self> {
        let refuse = |expected: String, found: usize| {
            let remedy = "give a larger --max-records, or fewer --records";
            Err(Error::bad_input("option --records", expected, found.to_string(), remedy))
        };
        match self {
            _ if max == 0 => refuse("--max-records of at least 1".into(), 0),
            RecordCount::Released { .. } => Ok(RecordCount::Released { at_most: max as usize }),
            RecordCount::Exactly(count) if count > max as usize => {
                refuse(format!("at most {max} records, as --max-records says"), count)
            }
            exactly => Ok(exactly),
        }
    }

    /// Returns the memory for the records of a schema, if their number is known in advance.
    pub fn bytes(self, schema: &Schema) -> usize {
        match self {
            RecordCount::Exactly(count) => count.saturating_mul(bytes_per_record(schema)),
            RecordCount::Released { .. } => 0,
        }
    }
}

/// Returns the memory of a synthetic record of a schema.
pub fn bytes_per_record(schema: &Schema) -> usize {
    BYTES_PER_VALUE * schema.attributes().len()
}

impl FromStr for RecordCount {
    type Err = Error;

    /// Reads `auto` or a number from 1 to 2³² − 1.
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(RecordCount::Released { at_most: DEFAULT_MAX_RECORDS as usize });
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SyntheticRecords {
    /// The number of records.
    count: usize,
    /// Whether the released number of records is larger than the maximum, which `count` is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_limited: bool,
    /// The seed of ChaCha20; the model and the seed determine the records.
    seed: u64,
    /// Bounds of the L1 errors of the records' marginals; absent without a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<RecordErrors>,
}

/// Upper bounds of the L1 errors of the marginals of synthetic records, in records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecordErrors {
    /// The number of marginals: the sets of attributes of the workload.
    pub marginals: usize,
    /// The mean L1 distance of the records' marginals to the published ones, rounded up.
    pub mean_distance: f64,
    /// The bounds of the records' marginals.
    #[serde(flatten)]
    pub bounds: BoundSummary,
}

impl SyntheticRecords {
    /// Adds bounds of the errors.
    #[must_use]
    pub fn with_errors(mut self, errors: Option<RecordErrors>) -> Self {
        self.errors = errors;
        self
    }

    /// Returns the number of records.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bounds of the errors, if there is a certificate.
    pub fn errors(&self) -> Option<&RecordErrors> {
        self.errors.as_ref()
    }

    /// Returns the paragraph of a statement.
    pub fn in_words(&self) -> Line {
        let mut line: Line = [
            strong("Synthetic records."),
            text(" "),
            code("records.csv"),
            text(format!(
                " has {}{} that follow the published estimates of all pairs of attributes. \
                 They were computed from the published estimates with the public seed {} of \
                 ChaCha20 and describe no person. ",
                counted(self.count, ["record", "records"]),
                if self.is_limited { ", the maximum that was asked for," } else { "" },
                self.seed
            )),
        ]
        .into();
        line.extend([text(match &self.errors {
            None => "There is no certificate of their errors.".to_owned(),
            Some(errors) => {
                let per_record = match errors.bounds.mean_error_bound_95_per_record {
                    Some(bound) => format!(", {} per record of the table", at_most(bound, 6)),
                    None => String::new(),
                };
                format!(
                    "The absolute errors of the cells of a marginal, counted in these \
                     records, add up to at most {} records{per_record}, on average over the {} of \
                     the workload (each at 95 %), and to at most {} records for all marginals \
                     together (95 %). These are the bounds of the published marginals plus the \
                     exact distances to them, on average {} records.",
                    at_most(errors.bounds.mean_error_bound_95, 6),
                    counted(errors.marginals, ["marginal", "marginals"]),
                    at_most(errors.bounds.largest_error_bound_95_of_all, 6),
                    at_most(errors.mean_distance, 6),
                )
            }
        })]);
        line
    }
}

/// Refuses a plan whose model cannot give records; for checks before the reservation.
///
/// # Errors
/// An attribute of the schema that no query uses, or that is only asked by level.
pub fn check(plan: &StagedPlan) -> Result<()> {
    check_attributes(plan.schema(), plan.estimated())
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

/// Draws synthetic records; see [`SoftIpf::records`].
///
/// # Errors
/// A model without some attribute.
pub fn draw(
    schema: &Schema,
    model: &SoftIpf,
    count: RecordCount,
) -> Result<(Records, SyntheticRecords)> {
    let (count, is_limited) = match count {
        RecordCount::Released { at_most } => {
            let total = model.total().round();
            (total.clamp(1.0, at_most as f64) as usize, total > at_most as f64)
        }
        RecordCount::Exactly(count) => (count, false),
    };
    let records = model.records(schema, count, &mut ChaCha20Rng::seed_from_u64(SEED))?;
    Ok((records, SyntheticRecords { count, is_limited, seed: SEED, errors: None }))
}
