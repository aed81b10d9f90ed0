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
//! | `certificate` | published numbers as integers, their noisy distances, and error bounds |
//! | `marginal_errors` | bounds of weighted sums from those of all cells and of their total |
//! | `measurements` | files of the noisy integers |
//! | `marginals` | published marginals: rounded estimates with error bounds |
//! | `answers`, `statement` | the table of answers, and the sections of the statement |
//! | `released` | the statement and the page of a completed release |

pub mod answers;
mod certificate;
mod marginal_errors;
mod marginals;
mod measurements;
mod plan;
mod released;
mod residuals;
mod run;
mod statement;

pub(super) use answers::rounding_of_sum;
pub use certificate::{
    BoundSummary, CertificateNoise, CertifiedErrors, DistanceCertificate, ErrorBounds,
};
pub use marginal_errors::MarginalErrors;
pub use marginals::{StagedMarginal, StagedMarginals};
pub use measurements::StagedMeasurements;
pub use plan::{DEFAULT_CERTIFICATE_SHARE, StagedPlan};
pub use released::report;
pub use run::run;
pub use statement::{StagedSections, StagedStatement};

#[cfg(test)]
mod tests;
