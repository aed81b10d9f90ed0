//! The experiments of S4 (Fuentes et al., Fast Private Adaptive Query Answering for Large Data Domains).

mod adaptive_errors;
mod marginal_errors;
mod measurement_ablation;

pub use adaptive_errors::AdaptiveErrors;
pub use measurement_ablation::MeasurementAblation;
