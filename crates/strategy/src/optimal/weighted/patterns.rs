//! The patterns of the step weights.

use crate::participation::epochs;
use crate::{Participation, Problem};

/// Returns the patterns of the step weights; those of fixed epochs under min-separation.
pub(super) fn patterns_of(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    let cells = problem.workload.cells();
    match problem.participation {
        Participation::Single => (0..cells).map(|cell| vec![cell]).collect(),
        Participation::Epochs(count) => epochs(cells, count),
        Participation::MinSeparation { count, .. } => epochs(cells / count * count, count),
    }
}
