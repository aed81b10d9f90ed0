//! The value of an objective for the errors of the groups.

use crate::strategy::Objective;

/// Returns the value of an objective for the weighted mean square errors of the groups.
///
/// `counts` are the numbers of queries of the groups.
pub(super) fn value(objective: Objective, errors: &[f64], counts: &[f64]) -> f64 {
    let max = errors.iter().copied().fold(0.0, f64::max);
    let weighted: f64 = errors.iter().zip(counts).map(|(e, n)| e * n).sum();
    let mean = weighted / counts.iter().sum::<f64>();
    match objective {
        Objective::Mean => mean,
        Objective::Max => max,
        Objective::Balanced(share) => (1.0 - share) * max + share * mean,
    }
}
