//! The experiments of S4 (Fuentes et al., Fast Private Adaptive Query Answering for Large Data Domains).

mod residual_timing;

pub use residual_timing::ResidualTiming;
