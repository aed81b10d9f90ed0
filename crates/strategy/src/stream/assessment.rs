//! Sensitivity and errors of streaming noise, from its coefficients.

use super::Coefficients;
use super::recurrence::Certified;
use crate::error::{Error, Result};
use crate::participation::{Sensitivity, sensitivity};
use crate::query_errors::QueryErrors;
use crate::workload::MAX_DENSE_CELLS;
use crate::{Objective, Participation, Problem};

/// The privacy cost and the errors of streaming noise on a workload.
///
/// Errors are squared errors of queries at unit privacy cost: those of noise from standard normals,
/// times the squared sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamAssessment {
    /// The squared sensitivity of the strategy whose noise is drawn from standard normals.
    pub sensitivity: Sensitivity,
    /// The mean over the queries.
    pub mean_error: f64,
    /// The largest of a query. `None` if it would take a matrix of too many steps.
    pub max_error: Option<f64>,
    /// The objective per query: the mean, the largest, or their combination.
    pub error: f64,
}

impl Coefficients {
    /// Computes the sensitivity and the errors for a problem.
    ///
    /// Chains with one participation: O(n·N²). Otherwise O(n³), and the costs of the queries.
    ///
    /// # Errors
    /// Other steps than those of the workload, too many for a matrix, or a decomposition fails.
    pub fn assess(&self, problem: &Problem<'_>) -> Result<StreamAssessment> {
        problem.check()?;
        let steps = problem.workload.cells();
        if problem.workload.shape() != [self.steps()] {
            return Err(Error::bad_input(
                "streaming noise",
                format!("{steps} steps, those of `{}`", problem.workload.name()),
                self.steps().to_string(),
                "choose the workload for which the noise was fitted",
            ));
        }
        let sensitivity = self.sensitivity(problem.participation)?;
        let queries = problem.workload.count().as_f64();
        let (total, largest) = self.errors(problem)?;
        let (total, largest) =
            (sensitivity.squared * total, largest.map(|x| sensitivity.squared * x));
        let error = match (problem.objective, largest) {
            (Objective::Mean, _) => total / queries,
            (objective, Some(largest)) => objective.of(total, largest, queries),
            (_, None) => return Err(self.too_large()),
        };
        let mean_error = total / queries;
        Ok(StreamAssessment { sensitivity, mean_error, max_error: largest, error })
    }

    /// Returns the squared sensitivity under a participation.
    ///
    /// Exact for single participation, for fixed epochs to 1e-8, and for truncated exponentials
    /// under min-separation. Otherwise an upper bound, which is named.
    ///
    /// # Errors
    /// Too many steps for a matrix, or a decomposition fails.
    pub fn sensitivity(&self, participation: Participation) -> Result<Sensitivity> {
        if let (Coefficients::Chains(chains), Participation::Single) = (self, participation) {
            let costs = chains.privacy_costs();
            return Ok(Sensitivity::exact(costs.into_iter().fold(0.0, f64::max)));
        }
        let epochs = match participation {
            Participation::Single => Some(1),
            Participation::Epochs(count) => Some(count),
            Participation::MinSeparation { .. } | Participation::Random { .. } => None,
        };
        if let Coefficients::Recurrence(form) = self
            && epochs == Some(form.epochs())
        {
            let Certified { lower, upper } = form.squared_sensitivity()?;
            return Ok(Sensitivity { squared: upper, attained: lower, bound: None });
        }
        sensitivity(self.gram()?.view(), participation)
    }

    /// Returns the sum and the largest of the squared errors of the queries, for noise from
    /// standard normals.
    fn errors(&self, problem: &Problem<'_>) -> Result<(f64, Option<f64>)> {
        let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        if let (Coefficients::Chains(chains), Some(recurrence)) =
            (self, problem.workload.recurrence())
        {
            let variances = chains.answer_variances();
            let total = variances.iter().sum();
            if recurrence.answers_queries() {
                return Ok((total, Some(largest(&variances))));
            } else if self.steps() > MAX_DENSE_CELLS {
                return Ok((total, None));
            }
        }
        let covariance = self.covariance()?;
        let errors = QueryErrors::of(problem.workload)?.errors(covariance.view())?;
        Ok((errors.iter().sum(), Some(largest(&errors))))
    }
}
