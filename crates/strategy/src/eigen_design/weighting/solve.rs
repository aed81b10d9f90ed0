//! The solver of Program 1: Newton's method, then multiplicative updates.

use ndarray::Array1;

use super::newton;
use super::reduced::{Reduced, multiplicative_updates};
use super::weighting_problem::{Method, Weighting, WeightingOptions, WeightingProblem};
use crate::certificate::Status;
use crate::error::{Error, Result};

impl WeightingProblem {
    /// Solves the problem.
    ///
    /// # Errors
    /// Invalid options, or numbers that overflow.
    pub fn solve(&self, options: &WeightingOptions) -> Result<Weighting> {
        options.check()?;
        let reduced = Reduced::of(self)?;
        let mut search = reduced.start();
        if options.method == Method::Newton {
            newton::run(&reduced, &mut search, options)?;
        }
        if search.gap() > options.tolerance {
            multiplicative_updates(
                &reduced,
                &mut search,
                options.tolerance,
                options.multiplicative_steps,
            );
        }
        self.certified(reduced.expand(&search.dual, self), search.iterations, options)
    }

    /// Returns the weights and bounds of a dual point, scaled to sum 1, without a search. O(k n).
    ///
    /// # Errors
    /// A negative weight, or no positive one; or another number of weights than cells.
    pub fn at(&self, dual: Array1<f64>) -> Result<Weighting> {
        let sum = dual.sum();
        if dual.len() != self.columns.ncols() || !dual.iter().all(|y| *y >= 0.0) || sum <= 0.0 {
            return Err(Error::bad_input(
                "dual point of a weighting problem",
                format!("{} nonnegative weights with a positive sum", self.columns.ncols()),
                format!("{} with the sum {sum}", dual.len()),
                "use the dual point of this problem",
            ));
        }
        self.certified(dual / sum, 1, &WeightingOptions::default())
    }

    /// Returns the weights and bounds of a dual point, computed from the full B.
    fn certified(
        &self,
        dual: Array1<f64>,
        iterations: usize,
        options: &WeightingOptions,
    ) -> Result<Weighting> {
        let power = 1.0 / (self.norm.exponent() + 1.0);
        let mut weights = self.columns.dot(&dual);
        weights.zip_mut_with(&self.costs, |s, &c| {
            *s = if c > 0.0 { (c / *s).powf(power) } else { 0.0 }
        });
        if weights.iter().any(|u| !u.is_finite()) {
            return Err(Error::DidNotConverge {
                what: "weighting problem".into(),
                order: self.costs.len(),
            });
        }
        let mut found = self.judged(weights, dual, iterations, Status::Converged)?;
        let limit = iterations >= options.multiplicative_steps;
        found.status = Status::of(found.gap(), options.tolerance, false, limit);
        Ok(found)
    }
}
