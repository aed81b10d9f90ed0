//! Private releases by staged measurement: adaptive questions, and a certificate of the error.
//!
//! ```text
//! reservation → for every stage: residuals planned from earlier answers → noisy integers, written
//!             → estimated marginals, rounded → noisy distances to the records → answers, statement
//! ```
//!
//! Every stage is planned from public values and earlier noisy integers only. Every question is
//! paid from the reservation before a record is counted, so an interrupted run is a valid release
//! of fewer stages.
//!
//! | file | purpose |
//! |---|---|
//! | `plan` | what is fixed before the records are read: first stage, shares, certificate |
//! | `residuals` | residuals as integer measurements, and their centred answers |
//! | `run` | records to noisy integers |
//! | `certificate` | noisy distances of the published marginals, and error bounds |
//! | `measurements` | files of the noisy integers |
//! | `marginals` | published marginals: rounded estimates with error bounds |
//! | `units` | published numbers as integers |
//! | `answers`, `statement`, `released` | the table of answers, and what was released |
//! | `report` | the page with charts of published marginals |

pub mod answers;
mod certificate;
mod marginals;
mod measurements;
mod plan;
mod released;
mod report;
mod residuals;
mod run;
mod statement;
mod units;

pub use certificate::{BoundSummary, DistanceCertificate, ErrorBounds};
pub use marginals::{StagedMarginal, StagedMarginals};
pub use measurements::StagedMeasurements;
pub use plan::{DEFAULT_CERTIFICATE_SHARE, StagedPlan};
pub use report::report;
pub use run::run;
pub use statement::{StagedSections, StagedStatement};

#[cfg(test)]
mod tests;
