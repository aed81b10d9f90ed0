//! One evaluation of the dual function of a problem, and the strategies it gives.

use ndarray::{Array2, Axis};

use super::spectrum::Spectrum;
use super::step_weights::StepWeights;
use super::weighted_queries::WeightedQueries;
use crate::error::Result;
use matmech_linalg::{self as linalg, Semidefinite};

/// Largest share of the workload outside the range of a strategy.
const MAX_SHARE_OUTSIDE: f64 = 1e-9;

/// Smallest relative eigenvalue of K for which its eigendecomposition is accurate enough. Below it,
/// with a barrier, the singular values of `D_p^½ W L` with `M = L Lᵀ` are computed instead.
const MIN_EIGENVALUE: f64 = 1e-9;

/// Smallest error of a query in the update of its weight, relative to the mean.
const MIN_ERROR: f64 = 1e-3;

/// Smallest cost of a step, so that steps outside the workload have finite logarithms.
const MIN_COST: f64 = 1e-100;

/// Largest residual of a logarithm.
const MAX_RESIDUAL: f64 = 14.0;

/// The dual function at weights p of the queries and M of the steps.
///
/// With `G_p = Wᵀ diag(p) W` and `F = tr (M^½ G_p M^½)^½`, `F²` is a lower bound on the error of
/// any strategy, and X is the solution of `X M X = G_p`. All matrices are in the order of the
/// patterns.
#[derive(Debug, Clone)]
pub(super) struct WeightedPoint {
    /// p, one per orbit of queries; empty for the objective `mean`.
    pub query_weights: Vec<f64>,
    /// M.
    pub steps: StepWeights,
    /// F.
    pub value: f64,
    /// `(F − rounding error)²`.
    pub lower_bound: f64,
    /// X.
    pub gram: Array2<f64>,
    /// Whether X answers every query, which it does not if weights vanish.
    pub answers: bool,
    /// The mean `w X⁺ wᵀ` of every orbit of queries; empty for the objective `mean`.
    pub errors: Vec<f64>,
    /// `v`, one per step, with `diag(v) ⪰ X_ππ` at the optimum.
    pub step_costs: Vec<f64>,
    /// The blocks `D⁻¹ Z M_π Z D⁻¹` with `Z = X_ππ + (τF/n) M_π⁻¹` and the diagonal q of M_π.
    balanced_blocks: Vec<Array2<f64>>,
    /// The diagonals of D; `D ⪰ X_ππ` at the fixed point for every τ.
    balanced_costs: Vec<f64>,
}

/// A strategy with its error.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// X in the order of the patterns, of squared sensitivity 1.
    pub gram: Array2<f64>,
    /// The objective of its errors.
    pub error: f64,
}

impl WeightedPoint {
    /// Evaluates the dual function. The cost is one eigendecomposition of order n, and a singular
    /// value decomposition where weights vanish.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn at(
        queries: &WeightedQueries<'_>,
        query_weights: Vec<f64>,
        steps: StepWeights,
    ) -> Result<Self> {
        let gram = queries.gram(&query_weights)?;
        let mut spectrum = Spectrum::of(&steps.congruent(&gram), queries.reversible())?;
        if queries.barrier() > 0.0
            && spectrum.smallest() < MIN_EIGENVALUE
            && let Some(rows) = queries.weighted_rows(&query_weights)
        {
            spectrum = Spectrum::of_factor(steps.times_factor(&rows).view())?;
        }
        let value = spectrum.trace();
        let gram = steps.inverse_congruent(&spectrum.root());
        let errors = if let Some(weighted) = spectrum.left_root_diagonal() {
            // A query without weight has no row in the factor, and its error is unknown.
            let error = |(error, p): (&f64, f64)| if p > 0.0 { error / p } else { f64::INFINITY };
            weighted.iter().zip(queries.dual_weights(&query_weights)).map(error).collect()
        } else if queries.has_weights() {
            let covariance = steps.forward_congruent(&spectrum.inverse_root());
            queries.errors(&covariance)?
        } else {
            Vec::new()
        };
        let size = steps.size();
        let mut step_costs = Vec::with_capacity(gram.nrows());
        let mut balanced_blocks = Vec::with_capacity(steps.blocks.len());
        let mut balanced_costs = Vec::with_capacity(steps.blocks.len());
        let barrier = queries.barrier() * value / gram.nrows() as f64;
        for (c, (block, mass)) in steps.blocks.iter().zip(&steps.masses).enumerate() {
            let first = c * size;
            let x = Array2::from_shape_fn((size, size), |(i, j)| gram[[first + i, first + j]]);
            let cost_of = |y: &f64| (y.max(0.0) / mass).sqrt().max(MIN_COST);
            let mut balanced = product(&x, block);
            step_costs.extend(balanced.diag().iter().map(cost_of));
            if barrier > 0.0 {
                balanced = product(&(x + barrier * steps.inverse_block(c)), block);
            }
            let costs = balanced.diag().map(cost_of);
            for ((i, j), y) in balanced.indexed_iter_mut() {
                *y /= costs[i] * costs[j];
            }
            // A step that reaches no query is independent of the others.
            for i in (0..size).filter(|i| queries.total()[[first + i, first + i]] == 0.0) {
                balanced.row_mut(i).fill(0.0);
                balanced.column_mut(i).fill(0.0);
                balanced[[i, i]] = *mass;
            }
            balanced_blocks.push(balanced);
            balanced_costs.extend(costs);
        }
        let lower = (value - spectrum.rounding()).max(0.0);
        Ok(WeightedPoint {
            query_weights,
            steps,
            value,
            lower_bound: lower * lower,
            answers: spectrum.rank() == gram.nrows() || spectrum.rank() >= queries.rank()?,
            gram,
            errors,
            step_costs,
            balanced_blocks,
            balanced_costs,
        })
    }

    /// Returns Σv of every pattern.
    fn pattern_costs(&self) -> impl Iterator<Item = f64> {
        self.step_costs.chunks_exact(self.steps.size()).map(|costs| costs.iter().sum())
    }

    /// Returns the objective of the errors of X, times the largest cost of a pattern.
    ///
    /// For single cells this is the error of the strategy X; infinite if X does not answer every
    /// query.
    pub fn plain_upper_bound(&self, queries: &WeightedQueries<'_>) -> f64 {
        if !self.answers {
            return f64::INFINITY;
        }
        let cost = self.pattern_costs().fold(0.0, f64::max);
        queries.objective(&self.errors).unwrap_or(self.value) * cost
    }

    /// Returns `F exp((τ/2m) Σ ln p + (τ/2n) ln det M)`, which the fixed point maximises.
    pub fn merit(&self, queries: &WeightedQueries<'_>) -> f64 {
        let barriers =
            queries.mean_logarithm(&self.query_weights) + self.steps.mean_log_determinant();
        self.value * (0.5 * queries.barrier() * barriers).exp()
    }

    /// Returns the largest relative amount by which the objective exceeds F for the queries alone.
    pub fn query_excess(&self, queries: &WeightedQueries<'_>) -> f64 {
        queries.objective(&self.errors).map_or(0.0, |error| error / self.value - 1.0)
    }

    /// Returns the logarithms of the weights.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn logarithms(&self) -> Result<Vec<f64>> {
        let mut x: Vec<f64> = self.query_weights.iter().map(|p| p.ln()).collect();
        x.extend(self.steps.logarithms()?);
        Ok(x)
    }

    /// Returns the residual of the fixed point in the logarithms: `2 ln((e/Σpe + τ/mp)/(1 + τ))`
    /// for the queries, and for a pattern the logarithm of `(tr D/(1 + τ)F)² D⁻¹ Z M_π Z D⁻¹` minus
    /// that of M_π.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn residual(&self, queries: &WeightedQueries<'_>, x: &[f64]) -> Result<Vec<f64>> {
        let mean = queries.mean_error(&self.query_weights, &self.errors);
        let barrier = queries.barrier();
        let mut residual: Vec<f64> = self
            .errors
            .iter()
            .zip(&self.query_weights)
            .map(|(e, p)| (e / mean, barrier / (queries.count() * p)))
            .map(|(error, barrier_term)| {
                let ratio = (error + barrier_term) / (1.0 + barrier);
                2.0 * ratio.max(MIN_ERROR).ln() / damping(error, barrier_term)
            })
            .collect();
        let blocks: Vec<Array2<f64>> = self
            .balanced_blocks
            .iter()
            .zip(self.balanced_costs.chunks_exact(self.steps.size()))
            .map(|(block, costs)| {
                block * (costs.iter().sum::<f64>() / (self.value * (1.0 + barrier))).powi(2)
            })
            .collect();
        let logarithms = super::step_weights::logarithms(&blocks)?;
        let first = residual.len();
        residual.extend(logarithms.iter().zip(&x[first..]).map(|(new, old)| new - old));
        residual.iter_mut().for_each(|f| *f = f.clamp(-MAX_RESIDUAL, MAX_RESIDUAL));
        Ok(residual)
    }

    /// Returns the weights of the inner product of the logarithms.
    pub fn metric(&self, queries: &WeightedQueries<'_>) -> Vec<f64> {
        let mut weights = queries.metric(&self.query_weights);
        let entries = self.steps.size().pow(2);
        for &mass in &self.steps.masses {
            weights.extend(std::iter::repeat_n(mass, entries));
        }
        weights
    }

    /// Returns strategies with orthogonal columns in every pattern, and their errors. O(n³) each.
    ///
    /// X without the entries between different steps of a pattern, with another diagonal, every
    /// pattern scaled to the largest sensitivity. The diagonals are that of X, or D if there is a
    /// barrier; v; and the sums of `|X_st|` over the pattern, which always suffice. Those that are not
    /// semidefinite or do not answer the workload are left out. If patterns are single steps, only the
    /// first diagonal. An item is an error if the eigensolver fails.
    pub fn candidates(
        &self,
        queries: &WeightedQueries<'_>,
    ) -> impl Iterator<Item = Result<Candidate>> {
        let size = self.steps.size();
        let first = |i: usize| i / size * size;
        let sum =
            |i: usize| (first(i)..first(i) + size).map(|j| self.gram[[i, j]].abs()).sum::<f64>();
        let first_choice = if queries.barrier() > 0.0 {
            self.balanced_costs.clone()
        } else {
            self.gram.diag().to_vec()
        };
        let diagonals =
            [first_choice, self.step_costs.clone(), (0..self.gram.nrows()).map(sum).collect()];
        let count = if size == 1 { 1 } else { 3 };
        diagonals
            .into_iter()
            .take(count)
            .filter_map(|diagonal| self.with_diagonal(&diagonal, queries).transpose())
    }

    /// Returns the strategy X with other diagonal entries and no entries between different steps of
    /// a pattern.
    fn with_diagonal(
        &self,
        diagonal: &[f64],
        queries: &WeightedQueries<'_>,
    ) -> Result<Option<Candidate>> {
        let size = self.steps.size();
        let costs: Vec<f64> =
            diagonal.chunks_exact(size).map(|diagonal| diagonal.iter().sum()).collect();
        let largest = costs.iter().copied().fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return Ok(None);
        }
        // A pattern outside the workload has no cost.
        let scale = |cost: f64| if cost > 1e-12 * largest { cost } else { largest }.sqrt().recip();
        let scales: Vec<f64> = (0..diagonal.len()).map(|i| scale(costs[i / size])).collect();
        let gram = Array2::from_shape_fn(self.gram.dim(), |(i, j)| {
            if i == j {
                diagonal[i] * scales[i] * scales[i]
            } else if i / size == j / size {
                0.0
            } else {
                self.gram[[i, j]] * scales[i] * scales[j]
            }
        });
        let Some(covariance) = covariance(&gram, queries.total())? else { return Ok(None) };
        let error = queries.error(&covariance)?;
        Ok((error > 0.0 && error.is_finite()).then_some(Candidate { gram, error }))
    }
}

/// Returns the divisor of the residual of a weight: 2 for a weight that the barrier alone keeps
/// positive, because its logarithm would alternate with the exponent 2.
fn damping(cost: f64, barrier_term: f64) -> f64 {
    1.0 + barrier_term / (cost + barrier_term)
}

/// Returns `X M X`.
fn product(x: &Array2<f64>, m: &Array2<f64>) -> Array2<f64> {
    linalg::matmul(linalg::matmul(x.view(), m.view()).view(), x.view())
}

/// Returns X⁺, if X answers the workload.
fn covariance(gram: &Array2<f64>, workload: &Array2<f64>) -> Result<Option<Array2<f64>>> {
    if linalg::full_rank_cholesky(gram.view())?.is_some() {
        return Ok(Some(linalg::spd_inverse(gram.view())?));
    }
    let eigen = linalg::eigh(gram.view())?;
    let largest = eigen.values.iter().copied().fold(0.0, f64::max);
    if eigen.values.iter().any(|&x| x < -1e-12 * largest) {
        return Ok(None);
    }
    let range = Semidefinite::of(gram.view())?;
    let images = linalg::matmul(workload.view(), range.basis.view());
    let inside: f64 = images
        .axis_iter(Axis(1))
        .zip(range.basis.axis_iter(Axis(1)))
        .map(|(image, vector)| image.dot(&vector))
        .sum();
    let answers = inside >= workload.diag().sum() * (1.0 - MAX_SHARE_OUTSIDE);
    Ok(answers.then(|| range.pseudo_inverse()))
}
