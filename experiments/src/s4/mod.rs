//! The experiments of S4 (Fuentes et al., Fast Private Adaptive Query Answering for Large Data
//! Domains).

mod adaptive_errors;
mod error_parts;
mod fixed_measurements;
#[cfg(test)]
#[path = "../../../src/test_support/impulse.rs"]
mod impulse;
mod lazy_marginals;
mod measured_sequence;
mod measurement_ablation;
mod record_scores;
mod residual_claims;
mod residual_matrices;
mod residual_theorems;
mod residual_timing;
mod table_schemas;
mod worked_example;

pub use adaptive_errors::AdaptiveErrors;
pub use error_parts::ErrorParts;
pub use fixed_measurements::FixedMeasurements;
pub use measurement_ablation::MeasurementAblation;
pub use record_scores::RecordScores;
pub use residual_claims::ResidualClaims;
pub use residual_timing::ResidualTiming;
pub use table_schemas::TableSchemas;
pub use worked_example::WorkedExample;
