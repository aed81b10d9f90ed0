//! How the errors of the queries are combined.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_objectives_are_read_back() {
        for text in ["mean", "max", "balanced:0.9"] {
            assert_eq!(text.parse::<Objective>().unwrap().to_string(), text);
        }
        for text in ["balanced:1", "balanced:0", "balanced:nan", "maximum", "mean:1", ""] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
    }
}
