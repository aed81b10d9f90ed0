//! Growth of one level: four variants of steps 3 to 9 of Program 4.1 of S1.

use super::inverse::Inverse;
use super::level::Level;
use super::options::Reading;
use super::profile::Split;
use super::split_search::best_split;
use crate::error::Result;

/// Gains up to this share of the trace are rounding errors.
///
/// It is smaller than the tolerance for ties because AllRange(32, 32) has true gains between 1e-11
/// and 1e-10 of the trace.
const NEGLIGIBLE: f64 = 1e-12;

/// Number of best-first updates between two recomputations.
const UPDATES_PER_REFACTOR: usize = 32;

/// Grows levels and counts the candidate splits evaluated.
#[derive(Debug, Clone)]
pub(in crate::lsa) struct Grower {
    pub(in crate::lsa) reading: Reading,
    pub(in crate::lsa) tolerance: f64,
    pub(in crate::lsa) candidates: usize,
}

impl Grower {
    /// Returns the level that the reading adds to a strategy.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(in crate::lsa) fn grow(&mut self, inverse: &Inverse, shape: &[usize]) -> Result<Level> {
        let mut level = Level::whole(inverse, shape)?;
        match self.reading {
            Reading::JointSweep => self.joint(inverse, &mut level)?,
            Reading::Sequential => while self.sweep_in_turn(inverse, &mut level, false)? {},
            Reading::BestFirst => self.best_first(inverse, &mut level)?,
            Reading::Forced => loop {
                let before = level.clone();
                let split = self.sweep_in_turn(inverse, &mut level, true)?;
                if !split || level.trace() >= before.trace() {
                    level = before;
                    break;
                }
            },
        }
        Ok(level)
    }

    /// Returns the best split of a box.
    ///
    /// `None` if the gain is negligible (unless `forced`) or the box is one cell.
    fn best(&mut self, level: &Level, part: usize, forced: bool) -> Option<Split> {
        let (split, candidates) = best_split(level, part, self.tolerance * level.trace());
        self.candidates += candidates;
        split.filter(|s| forced || s.gain > NEGLIGIBLE * level.trace())
    }

    /// Splits all boxes against the same strategy, until a sweep does not lower the trace; that
    /// sweep is undone.
    fn joint(&mut self, inverse: &Inverse, level: &mut Level) -> Result<()> {
        loop {
            let parts = 0..level.parts().len();
            let splits: Vec<_> =
                parts.filter_map(|p| Some((p, self.best(level, p, false)?))).collect();
            if splits.is_empty() {
                return Ok(());
            }
            let before = level.clone();
            level.apply(inverse, &splits)?;
            if level.trace() >= before.trace() {
                *level = before;
                return Ok(());
            }
        }
    }

    /// Splits one box after another, in the order of their first cells, with every split in effect
    /// immediately. Returns whether a box was split.
    fn sweep_in_turn(
        &mut self,
        inverse: &Inverse,
        level: &mut Level,
        forced: bool,
    ) -> Result<bool> {
        let mut has_split = false;
        let mut order: Vec<usize> = (0..level.parts().len()).collect();
        order.sort_by(|&a, &b| level.parts()[a].query.low().cmp(level.parts()[b].query.low()));
        for part in order {
            if let Some(split) = self.best(level, part, forced) {
                level.split(inverse, part, &split)?;
                has_split = true;
            }
        }
        level.refactor()?;
        Ok(has_split)
    }

    /// Repeats the split of the whole level with the largest gain.
    fn best_first(&mut self, inverse: &Inverse, level: &mut Level) -> Result<()> {
        loop {
            let tie = self.tolerance * level.trace();
            let mut best: Option<(usize, Split)> = None;
            for part in 0..level.parts().len() {
                if let Some(split) = self.best(level, part, false)
                    && best.is_none_or(|(_, b)| split.gain > b.gain + tie)
                {
                    best = Some((part, split));
                }
            }
            let Some((part, split)) = best else {
                return Ok(());
            };
            level.split(inverse, part, &split)?;
            if level.parts().len().is_multiple_of(UPDATES_PER_REFACTOR) {
                level.refactor()?;
            }
        }
    }
}
