//! Step 10 of Program 4.1: is a level worth its sensitivity?

use super::AcceptedLevel;
use super::boxes::{BoxQueries, GridBox};

/// Errors that differ by no more than this share are equal.
const EQUAL: f64 = 1e-12;

/// The levels accepted so far.
///
/// The paper takes a level that leaves the error as it is, and that matters: on AllRange(2, …, 2)
/// the second level does, and only then the error falls, from 2 to about 1 times the SVD bound. But
/// where the identity is optimal every further level leaves the error as it is. So one such level
/// is taken on probation: if the next one does not lower the error, both go.
#[derive(Debug, Clone)]
pub(in crate::strategy::lsa) struct Acceptance {
    levels: Vec<AcceptedLevel>,
    boxes: Vec<Vec<GridBox>>,
}

impl Acceptance {
    /// Starts with a first level, whose queries the caller keeps.
    pub(in crate::strategy::lsa) fn new(first: AcceptedLevel) -> Self {
        Acceptance { levels: vec![first], boxes: Vec::new() }
    }

    /// Levels accepted so far.
    pub(in crate::strategy::lsa) fn count(&self) -> usize {
        self.levels.len()
    }

    /// Decides on the next level.
    pub(in crate::strategy::lsa) fn accept(&mut self, error: f64, boxes: Vec<GridBox>) -> bool {
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

    fn on_probation(&self) -> bool {
        matches!(self.levels.as_slice(), [.., before, last] if last.error >= before.error * (1.0 - EQUAL))
    }

    /// The levels that count; their queries, apart from the first level's, are added to `queries`.
    pub(in crate::strategy::lsa) fn finish(
        mut self,
        queries: &mut BoxQueries,
    ) -> Vec<AcceptedLevel> {
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

    #[test]
    fn one_neutral_level_is_on_probation() {
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
