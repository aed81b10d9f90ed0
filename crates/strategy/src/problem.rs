//! What a strategy is selected for: a workload, an objective and a participation.

use std::fmt;
use std::str::FromStr;

use super::Strategy;
use super::participation::{self, Sensitivity};
use super::query_errors::largest_error;
use crate::error::{Error, Result};
use crate::workload::Workload;

/// How the squared errors of the queries at unit privacy cost are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Objective {
    /// The sum over all queries, which is their mean times their number.
    #[default]
    Mean,
    /// The largest squared error of a query.
    Max,
    /// `(1 − η)·max + η·mean` with 0 < η < 1.
    Balanced(f64),
}

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

/// A workload with the objective and the participation that a strategy is selected for.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// The objective.
    pub objective: Objective,
    /// The participation.
    pub participation: Participation,
}

impl<'a> Problem<'a> {
    /// Returns the problem of the total error and one participation.
    pub fn new(workload: &'a Workload) -> Self {
        Problem {
            workload,
            objective: Objective::default(),
            participation: Participation::default(),
        }
    }

    /// Returns whether this is the problem of the total error and one participation, which the Gram
    /// matrix of the workload determines.
    pub fn is_default(&self) -> bool {
        self.objective == Objective::Mean && self.participation == Participation::Single
    }

    /// Checks that the participation fits the workload.
    ///
    /// # Errors
    /// A repeated participation with several attributes, or patterns longer than the workload.
    pub fn check(&self) -> Result<()> {
        if self.participation == Participation::Single {
            return Ok(());
        }
        let refuse = |expected: String, remedy: &str| {
            let found = format!("the workload `{}`", self.workload.name());
            let what = format!("participation `{}`", self.participation);
            Err(Error::bad_input(what, expected, found, remedy))
        };
        let [steps] = *self.workload.shape() else {
            return refuse(
                "a workload over one attribute, whose values are the steps".into(),
                "use e.g. prefix:512, or participation=single",
            );
        };
        match self.participation {
            Participation::Epochs(count) if !steps.is_multiple_of(count) => refuse(
                format!("a number of steps that is a multiple of {count}"),
                "choose a number of epochs that divides the number of steps",
            ),
            Participation::MinSeparation { separation, count }
                if separation.checked_mul(count).is_none_or(|length| length > steps) =>
            {
                refuse(
                    format!("at least {separation} * {count} steps"),
                    "reduce the separation or the number of participations",
                )
            }
            _ => Ok(()),
        }
    }

    /// Returns the squared sensitivity of a strategy under the participation.
    ///
    /// # Errors
    /// As [`Problem::check`]; the strategy has other cells, or is too large to be dense.
    pub fn sensitivity(&self, strategy: &Strategy) -> Result<Sensitivity> {
        self.check()?;
        if self.participation == Participation::Single {
            return Ok(Sensitivity::exact(strategy.sensitivity_squared()));
        }
        let [factor] = strategy.factors() else {
            return Err(Error::bug("participation", "one factor", "several"));
        };
        participation::sensitivity(factor.gram()?.view(), self.participation)
    }

    /// Returns the error of a strategy at unit privacy cost: the objective of the queries' squared
    /// errors `w (AᵀA)⁺ wᵀ`, times [`Problem::sensitivity`].
    ///
    /// O(cells³), and O(queries · cells²) unless the objective is `mean` or the queries are a
    /// product of identities, prefixes and ranges.
    ///
    /// # Errors
    /// As [`Strategy::error`] and [`Problem::sensitivity`]; too many queries to list.
    pub fn error(&self, strategy: &Strategy) -> Result<f64> {
        let sensitivity = self.sensitivity(strategy)?.squared;
        let total = strategy.error(&self.workload.gram()?)? / strategy.sensitivity_squared();
        let largest = match self.objective {
            Objective::Mean => 0.0,
            Objective::Max | Objective::Balanced(_) => largest_error(self.workload, strategy)?,
        };
        Ok(sensitivity * self.objective.of(total, largest, self.workload.count().as_f64()))
    }

    /// Returns a lower bound on the error of any strategy, from the SVD bound of the workload.
    ///
    /// The dual weights are uniform over queries and steps: a step takes part with weight
    /// `min(k/n, 1/b)`.
    pub fn svd_bound(&self, svd_bound: f64) -> f64 {
        let cells = self.workload.cells() as f64;
        let participations = match self.participation {
            Participation::Single => 1.0,
            Participation::Epochs(count) => count as f64,
            Participation::MinSeparation { separation, count } => {
                (count as f64).min(cells / separation as f64)
            }
        };
        let queries = self.workload.count().as_f64();
        participations * self.objective.of(svd_bound, svd_bound / queries, queries)
    }
}

impl Objective {
    /// Returns the objective of squared errors with a sum and a largest value over `queries`.
    pub(super) fn of(self, sum: f64, largest: f64, queries: f64) -> f64 {
        match self {
            Objective::Mean => sum,
            Objective::Max => largest,
            Objective::Balanced(share) => (1.0 - share) * largest + share * sum / queries,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objective::Mean => f.write_str("mean"),
            Objective::Max => f.write_str("max"),
            Objective::Balanced(share) => write!(f, "balanced:{share}"),
        }
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::bad_input(
                "objective",
                "mean, max or balanced:SHARE with 0 < SHARE < 1",
                format!("`{text}`"),
                "write e.g. max, or balanced:0.9 for 0.1·max + 0.9·mean",
            )
        };
        match text.split_once(':') {
            None if text == "mean" => Ok(Objective::Mean),
            None if text == "max" => Ok(Objective::Max),
            Some(("balanced", share)) => match share.parse() {
                Ok(share) if share > 0.0 && share < 1.0 => Ok(Objective::Balanced(share)),
                _ => Err(refuse()),
            },
            _ => Err(refuse()),
        }
    }
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
    fn written_objectives_and_participations_are_read_back() {
        for text in ["mean", "max", "balanced:0.9"] {
            assert_eq!(text.parse::<Objective>().unwrap().to_string(), text);
        }
        for text in ["single", "epochs:4", "min-sep:32,4"] {
            assert_eq!(text.parse::<Participation>().unwrap().to_string(), text);
        }
        for text in ["balanced:1", "balanced:0", "balanced:nan", "maximum", "mean:1", ""] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
        for text in ["epochs:0", "epochs", "min-sep:4", "min-sep:0,2", "min-sep:4,0", "single:1"] {
            assert!(text.parse::<Participation>().is_err(), "{text}");
        }
    }
}
