//! Bounds on the smallest error of any strategy.

/// Bounds on the smallest error of any strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// A lower bound on the error of any strategy.
    pub lower_bound: f64,
    /// The error of the strategy found.
    pub upper_bound: f64,
    /// The number of eigendecompositions.
    pub iterations: usize,
    /// The status of the solver.
    pub status: Status,
}

impl Certificate {
    /// Returns `upper/lower − 1`, an upper bound on the relative excess over the optimum.
    pub fn gap(&self) -> f64 {
        self.upper_bound / self.lower_bound - 1.0
    }
}

/// The status of an iterative solver. The bounds are valid for every status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The gap reached the tolerance.
    Converged,
    /// The maximum number of iterations was reached first.
    IterationLimit,
    /// The iteration made no further progress.
    Stalled,
    /// The observer ended the iteration ([`progress`](crate::progress)).
    Interrupted,
}

impl Status {
    /// Returns the status of a solver that ended with a relative gap.
    pub(crate) fn of(gap: f64, tolerance: f64, interrupted: bool, limit_reached: bool) -> Self {
        if gap <= tolerance {
            Status::Converged
        } else if interrupted {
            Status::Interrupted
        } else if limit_reached {
            Status::IterationLimit
        } else {
            Status::Stalled
        }
    }
}
