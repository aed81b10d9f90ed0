//! Proofs of optima: weights from which both bounds are computed again, without a search.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::dual::Dual;
use super::{Optimal, OptimalOptions, Proved, RowSelection, certify, tridiagonal, weighted};
use crate::error::{Error, Result};
use crate::symmetry::Orbits;
use crate::workload::Gram;
use crate::{Certificate, Participation, Problem, Selection, Status};

/// Weights of the dual problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProofWeights {
    /// Weights of the cells, one vector per Kronecker factor.
    ///
    /// For fixed epochs and min-separation instead one vector with the rows of the lower
    /// triangular L of every pattern, `M_π = L Lᵀ`.
    pub cells: Vec<Arc<Vec<f64>>>,
    /// Weights of the queries. Empty if the objective, or the cells' weights, determine them.
    pub queries: Vec<f64>,
    /// The barrier τ of the point of the central path at which the strategy was found, or 0.
    pub barrier: f64,
}

/// Weights that prove the bounds of an optimum.
///
/// The bounds are those at the weights, whatever the weights are: wrong weights prove less. Weights
/// are scaled to sum 1. Both bounds are computed by one evaluation of the dual function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proof {
    /// The weights of the lower bound.
    pub dual: ProofWeights,
    /// The weights of the strategy; `None` if they are those of the lower bound.
    pub strategy: Option<ProofWeights>,
}

/// The bounds that a [`Proof`] gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvedBounds {
    /// A lower bound on the error of any strategy.
    pub lower_bound: f64,
    /// The error of a strategy. `None` under min-separation, where only the bound is proved.
    pub error: Option<f64>,
}

/// How the weights of an optimum are found.
pub(super) enum Weighting<'a> {
    /// By search, from uniform weights on the cells.
    Search(&'a OptimalOptions),
    /// By search from weights per cell of a point of the central path.
    Near(&'a OptimalOptions, &'a [f64]),
    /// The weights per cell of the lower bound, and of the strategy.
    Known(&'a [f64], &'a [f64]),
}

impl Weighting<'_> {
    /// Returns the best point of a dual problem over `cells` cells.
    ///
    /// `start` are the weights per orbit of a search, `by_orbit` maps known weights to the orbits.
    ///
    /// # Errors
    /// As [`certify`]; or known weights are invalid.
    pub fn proved(
        &self,
        dual: &Dual,
        start: Vec<f64>,
        cells: usize,
        by_orbit: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Proved> {
        let (lower, upper) = match self {
            Weighting::Search(options) => return certify(dual, start, options, cells, false),
            Weighting::Near(options, near) => {
                return certify(dual, by_orbit(near), options, cells, true);
            }
            Weighting::Known(lower, upper) => (lower, upper),
        };
        let point = dual.evaluate(&by_orbit(upper))?;
        let bound = if lower == upper { point.clone() } else { dual.evaluate(&by_orbit(lower))? };
        let certificate = Certificate {
            lower_bound: bound.lower_bound().max(point.lower_bound()),
            upper_bound: point.upper_bound(),
            iterations: 1,
            status: Status::Converged,
        };
        Ok(Proved { point, dual: bound.mu, certificate })
    }
}

/// Returns the mean weight of every orbit.
pub(super) fn orbit_means(orbits: &Orbits, weights: &[f64]) -> Vec<f64> {
    let mut means = vec![0.0; orbits.sizes.len()];
    for (&orbit, weight) in orbits.orbit_of.iter().zip(weights) {
        means[orbit] += weight / orbits.sizes[orbit];
    }
    means
}

/// Returns weights of sum 1 for `count` cells or queries.
///
/// # Errors
/// Another number of weights, a negative one, or no positive one.
pub fn normalised(weights: &[f64], count: usize) -> Result<Vec<f64>> {
    let sum: f64 = weights.iter().sum();
    if weights.len() != count || weights.iter().any(|w| w.is_nan() || *w < 0.0) || sum <= 0.0 {
        return Err(refused(
            format!("{count} nonnegative weights with a positive sum"),
            format!("{} with the sum {sum}", weights.len()),
        ));
    }
    if !sum.is_finite() {
        return Err(refused("finite weights", "an infinite one"));
    }
    Ok(weights.iter().map(|w| w / sum).collect())
}

/// Returns the error of weights that do not fit a problem.
pub(super) fn refused(expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::bad_input("weights of a proof", expected, found, "use the proof of this problem")
}

impl ProofWeights {
    /// Creates weights of cells, one vector per Kronecker factor.
    pub fn of_cells(cells: Vec<Arc<Vec<f64>>>) -> Self {
        ProofWeights { cells, ..ProofWeights::default() }
    }

    /// Returns the only vector of cells.
    pub(super) fn single(&self) -> Result<&[f64]> {
        match self.cells.as_slice() {
            [cells] => Ok(cells),
            other => Err(refused("one vector of weights", other.len().to_string())),
        }
    }
}

impl Proof {
    /// Creates a proof from the weights of both bounds.
    pub fn new(dual: ProofWeights, strategy: ProofWeights) -> Self {
        let strategy = (strategy != dual).then_some(strategy);
        Proof { dual, strategy }
    }

    /// Returns the weights of the strategy.
    pub fn strategy(&self) -> &ProofWeights {
        self.strategy.as_ref().unwrap_or(&self.dual)
    }

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
        Ok(Optimal::default().selected(gram, Some(&proof))?.0)
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
        super::rows_selected(shape, rows, &Weighting::Known(&lower, &upper))
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
