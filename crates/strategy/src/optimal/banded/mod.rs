//! The best banded strategy under min-separation.
//!
//! C is lower triangular with B bands, B at most the separation b, so its columns are orthogonal in
//! every pattern and the squared sensitivity is the largest `Σ_{i∈π} X_ii`. By linear programming
//! duality (the constraint matrix is an interval matrix) it is at most 1 exactly if
//!
//! ```text
//! X_ii ≤ z + Σ_{windows w of b steps with i} y_w,     y, z ≥ 0,     Σy + kz = 1
//! ```
//!
//! With *free norms* the band entries, y and z are optimised together; with *equal norms* (BandMF)
//! `X_ii = 1/k`. The certificate of the class is in [`selection`].

mod dense_error;
mod factor;
mod fit;
mod for_epochs;
mod recurrence_error;
mod selection;

pub use factor::BandedFactor;
pub use for_epochs::BandedForEpochs;
pub(super) use selection::select;

#[cfg(test)]
mod tests;
