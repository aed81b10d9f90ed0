//! The three profiles: how much of each experiment is run; and the two parts: which experiments.

use std::fmt;

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Profile {
    /// A part of every experiment, in minutes.
    Quick,
    /// Every table and figure; its results are committed.
    #[default]
    Standard,
    /// Every table and figure with all trials.
    Paper,
}

impl Profile {
    /// All profiles, the smallest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Paper];

    /// Returns the name in configs and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Paper => "paper",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A part of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Part {
    /// The tables, figures and claims of the four papers.
    Papers,
    /// Experiments beyond the papers.
    Beyond,
}
