//! The experiments of S4 (Fuentes et al., Fast Private Adaptive Query Answering for Large Data Domains).

mod measurement_ablation;

pub use measurement_ablation::MeasurementAblation;
