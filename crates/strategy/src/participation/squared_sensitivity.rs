//! The squared sensitivity of a strategy under any participation.

use ndarray::{ArrayView2, Axis};

use super::min_separation;
use super::participation_schema::Participation;
use super::pattern::pattern_sensitivity;
use super::sensitivity_bounds::Sensitivity;
use crate::error::Result;

/// Maximum relative difference of the bounds of an exact sensitivity.
const EXACT: f64 = 1e-8;

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
        Participation::Epochs(_) => {
            let mut largest = Sensitivity::exact(0.0);
            for pattern in participation.partition(gram.nrows()) {
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
