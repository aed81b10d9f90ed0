//! The selector of the Level Selection Algorithm.

use super::options::{LsaOptions, Reading};
use super::outcome::details;
use super::search::run;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Selection, StrategySelector, evaluated};

/// Selects a strategy by the Level Selection Algorithm.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lsa {
    /// The evaluation of splits. Default [`Reading::JointSweep`].
    pub reading: Reading,
    /// The limits of the search. Default [`LsaOptions::default`].
    pub options: LsaOptions,
}

impl Lsa {
    /// Creates the selector for a reading, with default options.
    pub fn reading(reading: Reading) -> Self {
        Lsa { reading, options: LsaOptions::default() }
    }
}

impl StrategySelector for Lsa {
    fn name(&self) -> &str {
        self.reading.name()
    }

    fn summary(&self) -> &str {
        match self.reading {
            Reading::JointSweep => {
                "Level Selection Algorithm: levels of boxes, all splits of a sweep together"
            }
            Reading::Sequential => "Level Selection Algorithm, box after box",
            Reading::BestFirst => "Level Selection Algorithm, best split of the level first",
            Reading::Forced => "Level Selection Algorithm, every box split in every sweep",
        }
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let outcome = run(gram, self.reading, &self.options)?;
        let mut selection = evaluated(outcome.strategy(self.name()), gram)?;
        selection.details = details(outcome.levels.len(), &outcome.queries, outcome.candidates);
        Ok(selection)
    }
}
