//! Which steps one person can take part in.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Which steps (cells) one person can take part in. A participation contributes a vector of norm at
/// most 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
    /// Random allocation: every record draws one c of b, and takes part in the steps
    /// `c, c + b, …, c + (k − 1)b` of n = kb steps. Nobody learns c.
    Random {
        /// k.
        epochs: usize,
        /// The (ε, δ) at which noise is compared: with random allocation the noise that a strategy
        /// needs is no multiple of a sensitivity.
        target: Option<PrivacyTarget>,
    },
}

/// The (ε, δ) for which noise is calibrated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrivacyTarget {
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
}

impl Participation {
    /// Returns the participation with the (ε, δ) at which noise is compared.
    ///
    /// # Errors
    /// One of ε and δ without the other; random allocation without them; another participation with
    /// them: its errors are per unit of privacy cost, for every (ε, δ).
    pub fn at(self, epsilon: Option<f64>, delta: Option<f64>) -> Result<Self> {
        match (self, epsilon, delta) {
            (Participation::Random { epochs, .. }, Some(epsilon), Some(delta)) => {
                let target = Some(PrivacyTarget { epsilon, delta });
                Ok(Participation::Random { epochs, target })
            }
            (Participation::Random { .. }, ..) => Err(self.without_target()),
            (_, None, None) => Ok(self),
            _ => Err(Error::bad_input(
                "epsilon and delta of a strategy",
                "participation random:K",
                format!("participation `{self}`"),
                "leave them out: errors of this participation are per unit of privacy cost",
            )),
        }
    }

    /// Returns the error of random allocation without (ε, δ).
    pub(crate) fn without_target(self) -> Error {
        Error::bad_input(
            format!("participation `{self}`"),
            "epsilon and delta: the noise that random allocation needs depends on them",
            "none, or one of the two",
            "give both, e.g. optimal(participation=random:4, epsilon=1, delta=1e-6)",
        )
    }

    /// Returns patterns of the participation that partition the steps; those of fixed epochs under
    /// min-separation, without the steps beyond the last epoch.
    pub(crate) fn partition(self, steps: usize) -> Vec<Vec<usize>> {
        match self {
            Participation::Single => epochs(steps, 1),
            Participation::Epochs(count) | Participation::Random { epochs: count, .. } => {
                epochs(steps, count)
            }
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
            Participation::Random { epochs, .. } => write!(f, "random:{epochs}"),
        }
    }
}

impl FromStr for Participation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::bad_input(
                "participation",
                "single, epochs:K, min-sep:B,K or random:K with positive integers",
                format!("`{text}`"),
                "write e.g. epochs:4, or min-sep:32,4 for at most 4 participations that are at \
                 least 32 steps apart",
            )
        };
        let count = |digits: &str| digits.trim().parse().ok().filter(|&k: &usize| k > 0);
        match text.split_once(':') {
            None if text == "single" => Ok(Participation::Single),
            Some(("epochs", epochs)) => count(epochs).map(Participation::Epochs).ok_or_else(refuse),
            Some(("random", epochs)) => count(epochs)
                .map(|epochs| Participation::Random { epochs, target: None })
                .ok_or_else(refuse),
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
        for text in ["single", "epochs:4", "min-sep:32,4", "random:4"] {
            assert_eq!(text.parse::<Participation>().unwrap().to_string(), text);
        }
        let refused = ["epochs:0", "epochs", "min-sep:4", "min-sep:0,2", "min-sep:4,0", "single:1"];
        for text in refused.into_iter().chain(["random", "random:0", "random:1,2"]) {
            assert!(text.parse::<Participation>().is_err(), "{text}");
        }
    }
}
