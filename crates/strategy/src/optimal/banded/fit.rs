//! The minimisation of the error of banded strategies.

use super::factor::BandedFactor;
use crate::error::{Error, Result};
use crate::progress::goes_on;
use crate::{Objective, Participation, Problem, Status};
use matmech_linalg::QuasiNewton;

/// Maximum number of steps of a workload.
const MAX_CELLS: usize = 2048;

/// Number of quasi-Newton steps over which the decrease is measured.
const STRIDE: usize = 25;

/// Relative decrease below which a step makes no progress.
const PROGRESS: f64 = 1e-15;

/// Number of successive steps without progress after which the solver stops.
const PATIENCE: usize = 4;

/// A minimisation in progress.
#[derive(Debug)]
pub(super) struct BandedFit {
    /// The parametrisation.
    pub form: BandedFactor,
    /// The number of quasi-Newton steps so far.
    pub steps: usize,
    /// Why no more steps follow.
    pub ended: Option<Status>,
    state: QuasiNewton,
    limit: usize,
    still: usize,
}

impl BandedFit {
    /// Starts at the square root of the prefix sums, cut to the band.
    ///
    /// `bands` is the number of bands, by default the separation; at most `limit` steps follow.
    ///
    /// # Errors
    /// The objective is not `mean`, the participation not min-separation, more bands than the
    /// separation, or more than 2048 steps.
    pub fn new(
        problem: &Problem<'_>,
        bands: Option<usize>,
        equal_norms: bool,
        limit: usize,
    ) -> Result<Self> {
        let Participation::MinSeparation { separation, count } = problem.participation else {
            return Err(Error::bug("banded strategy", "min-separation", "another participation"));
        };
        let refuse = |expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input("optimal strategy under min-separation", expected, found, remedy))
        };
        if problem.objective != Objective::Mean {
            return refuse(
                "objective mean",
                format!("`{}`", problem.objective),
                "minimise the mean and judge the strategy with `certify --objective max`, or use \
                 participation=epochs:K",
            );
        }
        let bands = bands.unwrap_or(separation);
        if bands == 0 || bands > separation {
            return refuse(
                "between 1 band and as many as the separation",
                format!("{bands} bands and separation {separation}"),
                "choose fewer bands: more correlate the columns of a pattern",
            );
        }
        let cells = problem.workload.cells();
        if cells > MAX_CELLS {
            return Err(Error::too_large(
                "banded strategy",
                "steps",
                MAX_CELLS as f64,
                cells as f64,
                "use fewer steps",
            ));
        }
        let form = BandedFactor::new(problem.workload, bands, separation, count, !equal_norms)?;
        let state = QuasiNewton::from(&form, form.start(), form.entries())?;
        Ok(BandedFit { form, steps: 0, ended: None, state, limit, still: 0 })
    }

    /// Returns the variables.
    pub fn variables(&self) -> &[f64] {
        &self.state.x
    }

    /// Returns the total squared error at unit privacy cost.
    pub fn error(&self) -> f64 {
        self.state.value.exp()
    }

    /// Takes up to 25 steps; returns the relative decrease of the error. `lower` is the lower bound
    /// that is reported as progress.
    ///
    /// # Errors
    /// The objective fails.
    pub fn advance(&mut self, lower: f64) -> Result<f64> {
        let before = self.state.value;
        for _ in 0..STRIDE {
            self.steps += 1;
            let decrease = self.state.step(&self.form)?;
            self.still = if decrease.unwrap_or(0.0) <= PROGRESS { self.still + 1 } else { 0 };
            self.ended = if !goes_on(self.steps, lower, self.error()) {
                Some(Status::Interrupted)
            } else if decrease.is_none() || self.still >= PATIENCE {
                Some(Status::Stalled)
            } else if self.steps >= self.limit {
                Some(Status::IterationLimit)
            } else {
                None
            };
            if self.ended.is_some() {
                break;
            }
        }
        Ok(before - self.state.value)
    }
}
