//! The trait of the selectors of strategies, and what they select.

use crate::call::Call;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::optimal::{DualWeights, Proof};
use crate::problem::Problem;
use crate::strategy::Strategy;
use crate::workload::Gram;

/// Selects a strategy for a workload given by its Gram matrix.
pub trait StrategySelector: std::fmt::Debug + Send + Sync {
    /// Returns the name used on the command line and in configs.
    fn name(&self) -> &str;

    /// Returns one line for listings.
    fn summary(&self) -> &str;

    /// Selects a strategy and computes its error on the workload at unit privacy cost.
    ///
    /// # Errors
    /// The selector does not support the workload, or the workload is too large.
    fn select(&self, gram: &Gram) -> Result<Selection>;

    /// Selects a strategy for a problem: a workload, an objective and a participation.
    ///
    /// By default it is the strategy of [`select`](Self::select), with the error of the problem
    /// ([`Problem::error`]).
    ///
    /// # Errors
    /// As [`select`](Self::select) and [`Problem::error`].
    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        problem.check()?;
        let selection = self.select(&problem.workload.gram()?)?;
        if problem.is_default() {
            return Ok(selection);
        }
        let error = problem.error(&selection.strategy)?;
        Ok(Selection { error, certificate: None, proof: None, ..selection })
    }

    /// Selects a strategy for a problem, with the weights that prove its lower bound.
    ///
    /// By default the selection of [`select_for`](Self::select_for), without weights.
    ///
    /// # Errors
    /// As [`select_for`](Self::select_for).
    fn solve(&self, problem: &Problem<'_>) -> Result<(Selection, Option<DualWeights>)> {
        Ok((self.select_for(problem)?, None))
    }

    /// Returns the squared errors of all queries at unit privacy cost, in the order of the rows.
    ///
    /// By default those of least squares with the strategy of [`select_for`](Self::select_for).
    ///
    /// # Errors
    /// As [`select_for`](Self::select_for), or there are too many queries to list.
    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        problem.query_errors(&self.select_for(problem)?.strategy)
    }

    /// Returns the names of the options, as in `eigen-separation(group=16)`; by default none.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns whether the selector takes an operand, as in `eigen-design:wavelet`; by default not.
    fn takes_operand(&self) -> bool {
        false
    }

    /// Returns the same selector with the options and the operand of a call.
    ///
    /// # Errors
    /// An option or the operand is invalid.
    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Err(Error::bug("configuration of a strategy", "a strategy that takes options", call.text()))
    }
}

/// A strategy for a workload with its error and, if known, a certificate.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The strategy.
    pub strategy: Strategy,
    /// The expected squared error on the workload at unit privacy cost: the total
    /// `‖A‖₂² tr(G (AᵀA)⁻¹)`, or that of another [`Objective`](crate::Objective) and
    /// [`Participation`](crate::Participation).
    pub error: f64,
    /// Bounds on the optimum, for selectors that compute them.
    pub certificate: Option<Certificate>,
    /// The weights that prove the certificate's lower bound, and the error of an optimal strategy.
    pub proof: Option<Proof>,
    /// Values specific to this selector, by name.
    pub details: Vec<(&'static str, f64)>,
}

/// Returns a selection without a certificate, with the error computed from the strategy.
///
/// # Errors
/// As [`Strategy::error`].
pub fn evaluated(strategy: Strategy, gram: &Gram) -> Result<Selection> {
    let error = strategy.error(gram)?;
    Ok(Selection { strategy, error, certificate: None, proof: None, details: Vec::new() })
}
