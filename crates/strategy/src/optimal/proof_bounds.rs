//! The strategies and the bounds that a proof gives.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::bounds::Optimal;
use super::proof::{Proof, ProofWeights, ProvedBounds, normalised, refused};
use super::rows::{RowSelection, rows_selected};
use super::weighting::Weighting;
use super::{nested, tridiagonal, weighted};
use crate::error::Result;
use crate::workload::Gram;
use crate::{Participation, Problem, Selection};

impl Proof {
    /// Returns the strategy of the weights for a Gram matrix, with both bounds.
    ///
    /// O(cells³) for the largest factor.
    ///
    /// # Errors
    /// The weights do not fit the Gram matrix, or the eigensolver fails.
    pub fn selection(&self, gram: &Gram) -> Result<Selection> {
        let cells: Vec<usize> = gram.factors().iter().map(|f| f.matrix.nrows()).collect();
        let fit = |weights: &ProofWeights| {
            let found: Vec<usize> = weights.cells.iter().map(|w| w.len()).collect();
            if found != cells {
                return Err(refused(format!("weights on {cells:?} cells"), format!("{found:?}")));
            }
            let pairs = weights.cells.iter().zip(&cells);
            let factors = pairs.map(|(w, &n)| Ok(Arc::new(normalised(w, n)?)));
            Ok(ProofWeights::of_cells(factors.collect::<Result<_>>()?))
        };
        let proof = Proof::new(fit(&self.dual)?, fit(self.strategy())?);
        Optimal::default().selected(gram, Some(&proof))
    }

    /// Returns the strategy of the weights for a workload given by its rows.
    ///
    /// O(rows² · cells).
    ///
    /// # Errors
    /// As [`Optimal::select_rows`], or the weights do not fit.
    pub fn row_selection(
        &self,
        shape: &[usize],
        rows: ArrayView2<'_, f64>,
    ) -> Result<RowSelection> {
        let lower = normalised(self.dual.single()?, rows.ncols())?;
        let upper = normalised(self.strategy().single()?, rows.ncols())?;
        rows_selected(shape, rows, &Weighting::Known(&lower, &upper))
    }

    /// Returns the lower bound for a problem, as a total for the objective `mean`.
    ///
    /// The weights may be those of a similar problem: then the bound holds, and is a little lower.
    ///
    /// # Errors
    /// As [`Proof::bounds`].
    pub fn lower_bound(&self, problem: &Problem<'_>) -> Result<f64> {
        problem.check()?;
        if problem.is_default() || problem.workload.recurrence().is_some() {
            return Ok(self.bounds(problem)?.lower_bound);
        }
        weighted::lower_bound(problem, self)
    }

    /// Returns the bounds for a problem, as totals for the objective `mean`.
    ///
    /// *Cost*: of one iteration of `optimal`.
    ///
    /// # Errors
    /// The weights do not fit the problem, or the eigensolver fails.
    pub fn bounds(&self, problem: &Problem<'_>) -> Result<ProvedBounds> {
        problem.check()?;
        if let Some(bounds) = tridiagonal::bounds(problem, self)? {
            return Ok(bounds);
        }
        if let Some(bounds) = nested::bounds(problem, self)? {
            return Ok(bounds);
        }
        if problem.is_default() {
            let selection = self.selection(&problem.workload.gram()?)?;
            let lower_bound = selection.certificate.map_or(0.0, |c| c.lower_bound);
            return Ok(ProvedBounds { lower_bound, error: Some(selection.error) });
        }
        let bounds = weighted::bounds(problem, self)?;
        let bounded = matches!(problem.participation, Participation::MinSeparation { .. });
        Ok(ProvedBounds { error: bounds.error.filter(|_| !bounded), ..bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StrategySelector;
    use crate::workload::Workload;

    /// Returns the weights as 32-bit floats, as results keep them.
    fn rounded(weights: &ProofWeights) -> ProofWeights {
        let round = |values: &[f64]| values.iter().map(|x| f64::from(*x as f32)).collect();
        ProofWeights {
            cells: weights.cells.iter().map(|w| Arc::new(round(w))).collect(),
            queries: round(&weights.queries),
            barrier: weights.barrier,
        }
    }

    /// Both bounds of a certificate follow from 32-bit weights: the lower bound to second order,
    /// the strategy's error to first order. Other weights prove less.
    #[test]
    fn rounded_weights_prove_both_bounds() {
        for (workload, objective, participation) in [
            ("range:40", "mean", "single"),
            ("range:9x6", "mean", "single"),
            ("residual(affine:9x9)", "mean", "single"),
            ("prefix:64", "mean", "single"),
            ("prefix:64", "max", "single"),
            ("prefix:64", "balanced:0.9", "single"),
            ("range:16", "max", "single"),
            ("momentum(rate=0.9):20", "balanced:0.5", "single"),
            ("prefix:32", "mean", "epochs:4"),
            ("prefix:32", "max", "epochs:4"),
            ("prefix:256", "max", "epochs:8"),
            ("prefix:32", "balanced:0.5", "epochs:8"),
            ("prefix:32", "mean", "min-sep:8,3"),
        ] {
            let name = format!("{workload} {objective} {participation}");
            let workload = Workload::parse(workload).unwrap();
            let problem = Problem {
                workload: &workload,
                objective: objective.parse().unwrap(),
                participation: participation.parse().unwrap(),
            };
            let selection = Optimal::default().select_for(&problem).unwrap();
            let proof = selection.proof.unwrap();
            let proof = Proof {
                dual: rounded(&proof.dual),
                strategy: proof.strategy.as_ref().map(rounded),
            };
            let lower = selection.certificate.unwrap().lower_bound;
            let bounds = proof.bounds(&problem).unwrap();
            // Weights at the smallest value that `balanced` allows are not stationary.
            let rounding = if objective.starts_with("balanced") { 1e-8 } else { 1e-9 };
            assert!(
                (bounds.lower_bound / lower - 1.0).abs() < rounding,
                "{name}: {} {lower}",
                bounds.lower_bound
            );
            match bounds.error {
                Some(error) => {
                    assert!(error <= selection.error * (1.0 + 1e-6), "{name}: {error}");
                    assert!(error >= bounds.lower_bound * (1.0 - 1e-12), "{name}: {error}");
                }
                None => assert!(participation.starts_with("min-sep"), "{name}"),
            }
            let mut other = proof.clone();
            let cells = Arc::make_mut(&mut other.dual.cells[0]);
            cells[0] *= 1.5;
            let less = other.bounds(&problem).unwrap().lower_bound;
            assert!(less < lower * (1.0 - 1e-5), "{name}: {less} {lower}");
            Arc::make_mut(&mut other.dual.cells[0]).pop();
            assert!(other.bounds(&problem).is_err(), "{name}");
        }
    }
}
