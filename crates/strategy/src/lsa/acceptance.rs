//! Step 10 of Program 4.1: whether a level is worth its sensitivity.

use super::boxes::{BoxQueries, GridBox};

/// Relative tolerance for equal errors.
const EQUAL: f64 = 1e-12;

/// One level of an [`LsaOutcome`](super::LsaOutcome).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceptedLevel {
    /// The number of boxes of the level.
    pub queries: usize,
    /// The error of the strategy up to and including this level, at unit privacy cost.
    pub error: f64,
}

/// The levels accepted so far.
///
/// The paper accepts a level that leaves the error unchanged. On AllRange(2, …, 2) this matters:
/// only the level after such a level lowers the error, from 2 to about 1 times the SVD bound. If
/// the identity is optimal, however, every further level leaves the error unchanged. Therefore one
/// such level is accepted on probation. If the next level does not lower the error, both are
/// rejected.
#[derive(Debug, Clone)]
pub(in crate::lsa) struct Acceptance {
    levels: Vec<AcceptedLevel>,
    boxes: Vec<Vec<GridBox>>,
}

impl Acceptance {
    /// Starts with a first level, whose queries the caller keeps.
    pub(in crate::lsa) fn new(first: AcceptedLevel) -> Self {
        Acceptance { levels: vec![first], boxes: Vec::new() }
    }

    /// Returns the number of levels accepted so far.
    pub(in crate::lsa) fn count(&self) -> usize {
        self.levels.len()
    }

    /// Decides on the next level and returns whether it is accepted.
    pub(in crate::lsa) fn accept(&mut self, error: f64, boxes: Vec<GridBox>) -> bool {
        let before = self.levels.last().map_or(f64::INFINITY, |level| level.error);
        let lower = error < before * (1.0 - EQUAL);
        let equal = error <= before * (1.0 + EQUAL);
        if lower || (equal && !self.on_probation()) {
            self.levels.push(AcceptedLevel { queries: boxes.len(), error });
            self.boxes.push(boxes);
            return true;
        }
        false
    }

    /// Returns whether the last level left the error unchanged.
    fn on_probation(&self) -> bool {
        let [.., before, last] = self.levels.as_slice() else { return false };
        last.error >= before.error * (1.0 - EQUAL)
    }

    /// Returns the final levels and adds their queries, except those of the first, to `queries`.
    pub(in crate::lsa) fn finish(mut self, queries: &mut BoxQueries) -> Vec<AcceptedLevel> {
        if self.on_probation() {
            self.levels.pop();
            self.boxes.pop();
        }
        for query in self.boxes.into_iter().flatten() {
            queries.add(query, 1.0);
        }
        self.levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One level with unchanged error is accepted if the next level lowers the error.
    #[test]
    fn a_level_with_unchanged_error_is_on_probation() {
        let run = |errors: &[f64]| {
            let mut acceptance = Acceptance::new(AcceptedLevel { queries: 4, error: 8.0 });
            for &error in errors {
                if !acceptance.accept(error, vec![GridBox::whole(&[4])]) {
                    break;
                }
            }
            let mut queries = BoxQueries::identity(&[4]);
            let levels = acceptance.finish(&mut queries);
            assert_eq!(queries.total(), 4 + levels.len() - 1);
            levels.len()
        };
        assert_eq!(run(&[]), 1);
        assert_eq!(run(&[8.1]), 1);
        assert_eq!(run(&[8.0]), 1);
        assert_eq!(run(&[8.0, 8.0]), 1);
        assert_eq!(run(&[8.0, 7.0]), 3);
        assert_eq!(run(&[8.0, 7.0, 7.0, 7.1]), 3);
        assert_eq!(run(&[7.0, 6.0, 6.5]), 3);
    }
}
