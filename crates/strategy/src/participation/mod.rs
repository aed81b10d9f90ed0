//! Sensitivity under repeated participation.
//!
//! A person takes part in the steps of a pattern π and contributes a vector of norm at most 1 per
//! step. For a strategy with Gram matrix X the squared sensitivity is
//!
//! ```text
//! max_π max { Σ_{s,t∈π} X_st ⟨u_s, u_t⟩ : ‖u_s‖ = 1 } = max_π min { Σ v : diag(v) ⪰ X_ππ }
//! ```
//!
//! by semidefinite duality, exact for vectors of dimension at least |π|. See docs/participation.md.

mod participation_schema;
mod pattern;
mod squared_sensitivity;

pub use participation_schema::{Participation, PrivacyTarget};
pub use pattern::{PatternSensitivity, pattern_sensitivity};
pub use squared_sensitivity::{Sensitivity, sensitivity};

#[cfg(test)]
mod tests;
