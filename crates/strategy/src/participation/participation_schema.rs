//! Which steps one person can take part in.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Which steps (cells) one person can take part in. A participation contributes a vector of norm at
/// most 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Participation {
    /// One step.
    #[default]
    Single,
    /// Steps `c, c + b, …, c + (k − 1)b` of n = kb steps, for one c.
    Epochs(usize),
    /// At most `count` steps, any two at least `separation` apart.
    MinSeparation {
        /// The smallest distance of two steps of one person.
        separation: usize,
        /// The largest number of steps of one person.
        count: usize,
    },
}

impl Participation {
    /// Returns patterns of the participation that partition the steps; those of fixed epochs under
    /// min-separation, without the steps beyond the last epoch.
    pub(crate) fn partition(self, steps: usize) -> Vec<Vec<usize>> {
        match self {
            Participation::Single => epochs(steps, 1),
            Participation::Epochs(count) => epochs(steps, count),
            Participation::MinSeparation { count, .. } => epochs(steps / count * count, count),
        }
    }
}

/// Returns the indices of the steps of every pattern of fixed epochs: `c, c + b, …` for c < b.
fn epochs(steps: usize, count: usize) -> Vec<Vec<usize>> {
    let separation = steps / count;
    (0..separation).map(|c| (0..count).map(|e| c + e * separation).collect()).collect()
}

impl fmt::Display for Participation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Participation::Single => f.write_str("single"),
            Participation::Epochs(count) => write!(f, "epochs:{count}"),
            Participation::MinSeparation { separation, count } => {
                write!(f, "min-sep:{separation},{count}")
            }
        }
    }
}

impl FromStr for Participation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::bad_input(
                "participation",
                "single, epochs:K or min-sep:B,K with positive integers",
                format!("`{text}`"),
                "write e.g. epochs:4, or min-sep:32,4 for at most 4 participations that are at \
                 least 32 steps apart",
            )
        };
        let count = |digits: &str| digits.trim().parse().ok().filter(|&k: &usize| k > 0);
        match text.split_once(':') {
            None if text == "single" => Ok(Participation::Single),
            Some(("epochs", epochs)) => count(epochs).map(Participation::Epochs).ok_or_else(refuse),
            Some(("min-sep", pair)) => match pair.split_once(',') {
                Some((b, k)) => match (count(b), count(k)) {
                    (Some(separation), Some(count)) => {
                        Ok(Participation::MinSeparation { separation, count })
                    }
                    _ => Err(refuse()),
                },
                None => Err(refuse()),
            },
            _ => Err(refuse()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_participations_are_read_back() {
        for text in ["single", "epochs:4", "min-sep:32,4"] {
            assert_eq!(text.parse::<Participation>().unwrap().to_string(), text);
        }
        for text in ["epochs:0", "epochs", "min-sep:4", "min-sep:0,2", "min-sep:4,0", "single:1"] {
            assert!(text.parse::<Participation>().is_err(), "{text}");
        }
    }
}
