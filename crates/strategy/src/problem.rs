//! What a strategy is selected for: a workload, an objective and a participation.

use crate::error::{Error, Result};
use crate::objective::Objective;
use crate::participation::{self, Participation, Sensitivity};
use crate::query_errors::largest_error;
use crate::strategy::Strategy;
use crate::structured_errors;
use crate::workload::Workload;

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
            Participation::Epochs(count) | Participation::Random { epochs: count, .. }
                if !steps.is_multiple_of(count) =>
            {
                refuse(
                    format!("a number of steps that is a multiple of {count}"),
                    "choose a number of epochs that divides the number of steps",
                )
            }
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
        self.error_at(strategy, self.sensitivity(strategy)?.squared)
    }

    /// Returns [`Problem::error`] for a strategy whose squared sensitivity is known.
    ///
    /// # Errors
    /// As [`Strategy::error`]; too many queries to list.
    pub(crate) fn error_at(&self, strategy: &Strategy, sensitivity: f64) -> Result<f64> {
        let total = strategy.error(&self.workload.gram()?)? / strategy.sensitivity_squared();
        let largest = match self.objective {
            Objective::Mean => 0.0,
            Objective::Max | Objective::Balanced(_) => largest_error(self.workload, strategy)?,
        };
        Ok(sensitivity * self.objective.of(total, largest, self.workload.count().as_f64()))
    }

    /// Returns the squared errors of all queries of a strategy by least squares, at unit privacy
    /// cost, in the order of the rows.
    ///
    /// O(cells³) for the covariance of the strategy. For products of identities, prefixes and
    /// ranges, also permuted or on marginals, O(cells² + queries) in addition; for other queries
    /// O(queries · cells²).
    ///
    /// # Errors
    /// As [`Problem::error`].
    pub fn query_errors(&self, strategy: &Strategy) -> Result<Vec<f64>> {
        let squared = self.sensitivity(strategy)?.squared;
        let mut errors = structured_errors::all(self.workload, strategy)?;
        errors.iter_mut().for_each(|error| *error *= squared);
        Ok(errors)
    }

    /// Returns the patterns of the dual weights of the steps ([`Participation::partition`]).
    pub(crate) fn patterns(&self) -> Vec<Vec<usize>> {
        self.participation.partition(self.workload.cells())
    }

    /// Returns a lower bound on the error of any strategy, from the SVD bound of the workload.
    ///
    /// The dual weights are uniform over queries and steps: a step takes part with weight
    /// `min(k/n, 1/b)`.
    pub fn svd_bound(&self, svd_bound: f64) -> f64 {
        let cells = self.workload.cells() as f64;
        let participations = match self.participation {
            Participation::Single => 1.0,
            Participation::Epochs(count) | Participation::Random { epochs: count, .. } => {
                count as f64
            }
            Participation::MinSeparation { separation, count } => {
                (count as f64).min(cells / separation as f64)
            }
        };
        let queries = self.workload.count().as_f64();
        participations * self.objective.of(svd_bound, svd_bound / queries, queries)
    }
}
