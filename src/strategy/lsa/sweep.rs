//! Growing one level: four readings of steps 3 to 9 of Program 4.1 of S1.

use super::Reading;
use super::inverse::Inverse;
use super::level::Level;
use super::profile::Split;
use super::split_search::best_split;
use crate::error::Result;

/// Gains up to this share of the trace are rounding errors. It is smaller than the tolerance for
/// ties because gains between 1e-11 and 1e-10 of the trace do occur (on AllRange(32, 32)) and are
/// real.
const NIL: f64 = 1e-12;

/// Best-first updates between two computations from scratch.
const UPDATES_PER_REFACTOR: usize = 32;

/// Grows levels and counts the candidate splits looked at.
#[derive(Debug, Clone)]
pub(in crate::strategy::lsa) struct Grower {
    pub(in crate::strategy::lsa) reading: Reading,
    pub(in crate::strategy::lsa) tolerance: f64,
    pub(in crate::strategy::lsa) candidates: usize,
}

impl Grower {
    /// The level that the reading puts on top of a strategy.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(in crate::strategy::lsa) fn grow(
        &mut self,
        inverse: &Inverse,
        shape: &[usize],
    ) -> Result<Level> {
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

    /// The best split of a box; `None` when the gain is nil (unless `forced`) or the box is a cell.
    fn best(&mut self, level: &Level, part: usize, forced: bool) -> Option<Split> {
        let (split, candidates) = best_split(level, part, self.tolerance * level.trace());
        self.candidates += candidates;
        split.filter(|s| forced || s.gain > NIL * level.trace())
    }

    /// All boxes against the same strategy; all splits together; a sweep that does not lower the
    /// trace is taken back.
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

    /// One box after the other, in the order of their first cells, every split in effect at once.
    /// Returns whether there was one.
    fn sweep_in_turn(
        &mut self,
        inverse: &Inverse,
        level: &mut Level,
        forced: bool,
    ) -> Result<bool> {
        let mut any = false;
        let mut in_order: Vec<usize> = (0..level.parts().len()).collect();
        in_order.sort_by(|&a, &b| level.parts()[a].query.low().cmp(level.parts()[b].query.low()));
        for part in in_order {
            if let Some(split) = self.best(level, part, forced) {
                level.split(inverse, part, &split)?;
                any = true;
            }
        }
        level.refactor()?;
        Ok(any)
    }

    /// Always the split of the whole level that gains most.
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
