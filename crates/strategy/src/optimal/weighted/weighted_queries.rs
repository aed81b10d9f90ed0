//! The queries of a problem with dual weights, in the order of the patterns.

use std::cell::OnceCell;

use ndarray::Array2;

use super::spectrum::Spectrum;
use crate::error::Result;
use crate::query_errors::QueryErrors;
use crate::workload::Workload;
use crate::{Objective, Problem};

/// The queries and the objective of a problem.
///
/// The dual weights of the queries are `(1 − η) p + η/m`; η is 0 for `max`. The objective `mean` has
/// no weights, and its errors are totals.
#[derive(Debug)]
pub(super) struct WeightedQueries<'a> {
    objective: Objective,
    /// The queries; `None` for the objective `mean`.
    queries: Option<QueryErrors<'a>>,
    /// The orbit of every query under reversal, and the number of queries of every orbit.
    orbit_of: Vec<usize>,
    orbit_sizes: Vec<f64>,
    reversible: bool,
    /// η.
    uniform_share: f64,
    /// τ.
    barrier: f64,
    /// The step of every index in the order of the patterns.
    order: Vec<usize>,
    /// `WᵀW` in the order of the patterns.
    total: Array2<f64>,
    /// The rank of `WᵀW`, computed on demand.
    rank: OnceCell<usize>,
}

impl<'a> WeightedQueries<'a> {
    /// Prepares the queries. With `reversible` the weights are invariant under reversal, if the
    /// queries are.
    ///
    /// # Errors
    /// Too many queries or cells.
    pub fn of(problem: &Problem<'a>, order: Vec<usize>, reversible: bool) -> Result<Self> {
        let workload: &'a Workload = problem.workload;
        let gram = workload.gram()?.to_dense()?;
        let total = permuted(&gram, &order);
        let cells = order.len();
        if problem.objective == Objective::Mean {
            return Ok(WeightedQueries {
                objective: problem.objective,
                queries: None,
                orbit_of: Vec::new(),
                orbit_sizes: Vec::new(),
                reversible: false,
                uniform_share: 0.0,
                barrier: 0.0,
                order,
                total,
                rank: OnceCell::new(),
            });
        }
        let queries = QueryErrors::of(workload)?.stored()?;
        let images = if reversible { queries.reversed(cells) } else { None };
        let reversible = images.is_some();
        let (mut orbit_of, mut orbit_sizes) = (vec![0; queries.count(cells)], Vec::new());
        for query in 0..orbit_of.len() {
            let image = images.as_ref().map_or(query, |images| images[query]);
            if image < query {
                orbit_of[query] = orbit_of[image];
                orbit_sizes[orbit_of[image]] += 1.0;
            } else {
                orbit_of[query] = orbit_sizes.len();
                orbit_sizes.push(1.0);
            }
        }
        Ok(WeightedQueries {
            objective: problem.objective,
            queries: Some(queries),
            orbit_of,
            orbit_sizes,
            reversible,
            uniform_share: match problem.objective {
                Objective::Balanced(share) => share,
                Objective::Mean | Objective::Max => 0.0,
            },
            barrier: 0.0,
            order,
            total,
            rank: OnceCell::new(),
        })
    }

    /// Sets the barrier τ, which keeps the weights of the queries away from zero.
    pub fn set_barrier(&mut self, barrier: f64) {
        self.barrier = barrier;
    }

    /// Returns τ.
    pub fn barrier(&self) -> f64 {
        self.barrier
    }

    /// Returns `WᵀW`.
    pub fn total(&self) -> &Array2<f64> {
        &self.total
    }

    /// Returns the rank of the workload. One eigendecomposition at the first call.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn rank(&self) -> Result<usize> {
        if let Some(rank) = self.rank.get() {
            return Ok(*rank);
        }
        let rank = Spectrum::of(&self.total, self.reversible)?.rank();
        Ok(*self.rank.get_or_init(|| rank))
    }

    /// Returns whether G_p is invariant under the reversal of the cells.
    pub fn reversible(&self) -> bool {
        self.reversible
    }

    /// Returns whether the queries have weights.
    pub fn has_weights(&self) -> bool {
        self.queries.is_some()
    }

    /// Returns the number of queries.
    pub fn count(&self) -> f64 {
        self.orbit_of.len() as f64
    }

    /// Returns uniform weights, one per orbit.
    pub fn uniform(&self) -> Vec<f64> {
        vec![1.0 / self.count().max(1.0); self.orbit_sizes.len()]
    }

    /// Returns positive weights with sum 1 over the queries, each at least `floor/m`.
    pub fn normalised(&self, logarithms: &[f64], floor: f64) -> Vec<f64> {
        let max = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = logarithms.iter().map(|x| (x - max).exp()).collect();
        let scale = |weights: &mut [f64]| {
            let total: f64 = weights.iter().zip(&self.orbit_sizes).map(|(p, size)| p * size).sum();
            weights.iter_mut().for_each(|p| *p /= total);
        };
        scale(&mut weights);
        weights.iter_mut().for_each(|p| *p = p.max(floor / self.count()));
        scale(&mut weights);
        weights
    }

    /// Returns the dual weights of all queries, `(1 − η) p + η/m`, in the order of the rows.
    pub fn dual_weights(&self, weights: &[f64]) -> Vec<f64> {
        let share = self.uniform_share;
        let uniform = share / self.count();
        self.orbit_of.iter().map(|&orbit| (1.0 - share) * weights[orbit] + uniform).collect()
    }

    /// Returns the weights per orbit of dual weights of all queries.
    ///
    /// Dual weights below η/m are raised to it.
    pub fn orbit_weights(&self, dual_weights: &[f64]) -> Vec<f64> {
        let share = self.uniform_share;
        let uniform = share / self.count();
        let mut weights = vec![0.0; self.orbit_sizes.len()];
        for (&orbit, p) in self.orbit_of.iter().zip(dual_weights) {
            weights[orbit] += (p - uniform).max(0.0) / self.orbit_sizes[orbit];
        }
        let total: f64 = weights.iter().zip(&self.orbit_sizes).map(|(p, size)| p * size).sum();
        weights.iter().map(|p| p / total).collect()
    }

    /// Returns `Wᵀ diag(dual weights) W`, or `WᵀW` for the objective `mean`.
    ///
    /// # Errors
    /// The rows cannot be listed.
    pub fn gram(&self, weights: &[f64]) -> Result<Array2<f64>> {
        let Some(queries) = &self.queries else { return Ok(self.total.clone()) };
        let gram = queries.weighted_gram(&self.dual_weights(weights), self.order.len())?;
        Ok(permuted(&gram, &self.order))
    }

    /// Returns whether [`weighted_rows`](Self::weighted_rows) has a matrix.
    pub fn has_rows(&self) -> bool {
        self.queries.as_ref().is_some_and(|queries| queries.has_matrix(self.order.len()))
    }

    /// Returns whether the interior-point method applies to one participation.
    pub fn has_interior(&self) -> bool {
        self.objective == Objective::Max && self.has_rows()
    }

    /// Returns `diag(dual weights)^½ W` in the order of the patterns, if the queries are about as many
    /// as the steps.
    pub fn weighted_rows(&self, weights: &[f64]) -> Option<Array2<f64>> {
        self.queries.as_ref()?.weighted_matrix(&self.dual_weights(weights), &self.order)
    }

    /// Returns the mean errors of the orbits, for a covariance in the order of the patterns.
    ///
    /// # Errors
    /// The rows cannot be listed.
    pub fn errors(&self, covariance: &Array2<f64>) -> Result<Vec<f64>> {
        let Some(queries) = &self.queries else { return Ok(Vec::new()) };
        let mut index_of = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(index, &step)| index_of[step] = index);
        let errors = queries.errors(permuted(covariance, &index_of).view())?;
        let mut means = vec![0.0; self.orbit_sizes.len()];
        for (&orbit, error) in self.orbit_of.iter().zip(errors) {
            means[orbit] += error / self.orbit_sizes[orbit];
        }
        Ok(means)
    }

    /// Returns the objective of the errors of the orbits; `None` for the objective `mean`.
    pub fn objective(&self, errors: &[f64]) -> Option<f64> {
        self.queries.as_ref()?;
        let largest = errors.iter().copied().fold(0.0, f64::max);
        let sum: f64 = errors.iter().zip(&self.orbit_sizes).map(|(e, size)| e * size).sum();
        Some(self.objective.of(sum, largest, self.count()))
    }

    /// Returns the objective for a covariance in the order of the patterns.
    ///
    /// # Errors
    /// The rows cannot be listed.
    pub fn error(&self, covariance: &Array2<f64>) -> Result<f64> {
        Ok(match self.objective(&self.errors(covariance)?) {
            Some(objective) => objective,
            None => (&self.total * covariance).sum(),
        })
    }

    /// Returns `Σ p e` over all queries.
    pub fn mean_error(&self, weights: &[f64], errors: &[f64]) -> f64 {
        weights.iter().zip(errors).zip(&self.orbit_sizes).map(|((p, e), size)| p * e * size).sum()
    }

    /// Returns the mean of `ln p` over all queries.
    pub fn mean_logarithm(&self, weights: &[f64]) -> f64 {
        let logarithms = weights.iter().zip(&self.orbit_sizes).map(|(p, size)| p.ln() * size);
        logarithms.sum::<f64>() / self.count().max(1.0)
    }

    /// Returns the weights of the inner product of the logarithms: the mass of every orbit.
    pub fn metric(&self, weights: &[f64]) -> Vec<f64> {
        let share = 1.0 - self.uniform_share;
        weights.iter().zip(&self.orbit_sizes).map(|(p, size)| share * p * size).collect()
    }
}

/// Returns the matrix with some rows and columns, in another order.
fn permuted(matrix: &Array2<f64>, order: &[usize]) -> Array2<f64> {
    if order.len() == matrix.nrows() && order.iter().enumerate().all(|(i, &step)| i == step) {
        return matrix.clone();
    }
    let size = (order.len(), order.len());
    Array2::from_shape_fn(size, |(i, j)| matrix[[order[i], order[j]]])
}
