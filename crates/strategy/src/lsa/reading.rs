//! The variants of the Level Selection Algorithm.

/// The strategy against which the splits of a level are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The paper's variant. In a sweep every box finds its best split against the same strategy,
    /// and all boxes with a gain are split together. A sweep that does not lower the error is
    /// undone and ends the level.
    #[default]
    JointSweep,
    /// One box after another, each evaluated with all previous splits in effect. Sweeps continue
    /// until no box is split.
    Sequential,
    /// Repeatedly only the split of the whole level with the largest gain.
    BestFirst,
    /// As [`Reading::Sequential`], but every box is split at its best position, even without a
    /// gain. A sweep that does not lower the total error is undone and ends the level.
    Forced,
}

impl Reading {
    /// All variants.
    pub const ALL: [Reading; 4] =
        [Reading::JointSweep, Reading::Sequential, Reading::BestFirst, Reading::Forced];

    /// Returns the name of the strategy.
    pub fn name(self) -> &'static str {
        match self {
            Reading::JointSweep => "lsa",
            Reading::Sequential => "lsa-sequential",
            Reading::BestFirst => "lsa-best-first",
            Reading::Forced => "lsa-forced",
        }
    }
}
