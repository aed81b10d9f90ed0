//! The form of streaming noise, and the limits of a fit.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::{Participation, Problem};

/// Maximum number of steps for which the recurrence is the default.
const MAX_RECURRENCE_STEPS: usize = 2048;

/// The form of streaming noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// [`NoiseRecurrence`](super::NoiseRecurrence).
    Recurrence,
    /// [`Chains`](super::Chains).
    Chains,
    /// [`Truncated`](super::Truncated).
    Truncated,
}

impl Form {
    /// Returns the default for a problem: the recurrence for single participation and fixed epochs,
    /// chains for single participation in more than 2048 steps, truncated exponentials for
    /// min-separation.
    pub fn of(problem: &Problem<'_>) -> Self {
        match problem.participation {
            Participation::MinSeparation { .. } => Form::Truncated,
            Participation::Single if problem.workload.cells() > MAX_RECURRENCE_STEPS => {
                Form::Chains
            }
            Participation::Single | Participation::Epochs(_) | Participation::Random { .. } => {
                Form::Recurrence
            }
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Recurrence => "recurrence",
            Form::Chains => "chains",
            Form::Truncated => "truncated",
        })
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Form::Recurrence, Form::Chains, Form::Truncated]
            .into_iter()
            .find(|form| form.to_string() == text)
            .ok_or_else(|| {
                Error::bad_input(
                    "form of streaming noise",
                    "recurrence, chains or truncated",
                    format!("`{text}`"),
                    "leave it out for the default of the participation",
                )
            })
    }
}

/// The limits of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamOptions {
    /// Relative gap of the certified optimum. Default 1e-7.
    pub tolerance: f64,
    /// Maximum number of steps of the fit. By default the limit of the form.
    pub max_iterations: Option<usize>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { tolerance: 1e-7, max_iterations: None }
    }
}
