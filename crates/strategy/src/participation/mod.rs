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

mod min_separation;
mod pattern;

use ndarray::{ArrayView2, Axis};

use super::Participation;
use crate::error::Result;
pub use pattern::{PatternSensitivity, pattern_sensitivity};

/// Off-diagonal entries of X up to this share of `√(X_ss X_tt)` count as zero.
const ORTHOGONAL: f64 = 1e-12;

/// Maximum relative difference of the bounds of an exact sensitivity.
const EXACT: f64 = 1e-8;

/// The squared sensitivity of a strategy under a participation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// The squared sensitivity, or an upper bound on it.
    pub squared: f64,
    /// A value that some contribution attains.
    pub attained: f64,
    /// The name of the upper bound, or `None` if the value is exact.
    pub bound: Option<&'static str>,
}

impl Sensitivity {
    /// Creates an exact value.
    pub(super) fn exact(squared: f64) -> Self {
        Sensitivity { squared, attained: squared, bound: None }
    }
}

/// Returns the indices of the steps of every pattern of fixed epochs: `c, c + b, …` for c < b.
pub(super) fn epochs(steps: usize, count: usize) -> Vec<Vec<usize>> {
    let separation = steps / count;
    (0..separation).map(|c| (0..count).map(|e| c + e * separation).collect()).collect()
}

/// Returns the squared sensitivity of a strategy with Gram matrix X, steps × steps.
///
/// - Single and fixed epochs: exact, by [`pattern_sensitivity`] of every pattern.
/// - Min-separation: exact if X_st = 0 for any two steps of one pattern, as for a banded strategy
///   with at most as many bands as the separation. Otherwise the `row-sum bound`: the largest
///   Σ_{s∈π} r_s, where r_s is the largest Σ_t |X_st| over the patterns with s. It bounds because
///   diag(r) ⪰ X_ππ.
///
/// O(steps · k³) per sweep for k epochs; O(steps² · k) for min-separation.
///
/// # Errors
/// The eigensolver fails.
pub fn sensitivity(gram: ArrayView2<'_, f64>, participation: Participation) -> Result<Sensitivity> {
    match participation {
        Participation::Single => {
            Ok(Sensitivity::exact(gram.diag().iter().copied().fold(0.0, f64::max)))
        }
        Participation::Epochs(count) => {
            let mut largest = Sensitivity::exact(0.0);
            for pattern in epochs(gram.nrows(), count) {
                let block = gram.select(Axis(0), &pattern).select(Axis(1), &pattern);
                if block.iter().map(|x| x.abs()).sum::<f64>() <= largest.squared {
                    continue;
                }
                let found = pattern_sensitivity(block.view())?;
                largest.squared = largest.squared.max(found.upper);
                largest.attained = largest.attained.max(found.lower);
            }
            if largest.squared > largest.attained * (1.0 + EXACT) {
                largest.bound = Some("dual bound of the pattern's semidefinite program");
            }
            Ok(largest)
        }
        Participation::MinSeparation { separation, count } => {
            min_separation::sensitivity(gram, separation, count)
        }
    }
}

#[cfg(test)]
mod tests;
