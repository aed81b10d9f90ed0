//! An instance of Program 1, the bounds that weights prove, and the options of the solver.

use ndarray::{Array1, Array2};

use crate::certificate::Status;
use crate::error::{Error, Result};

/// The norm of the strategy's columns that is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnNorm {
    /// The L2 norm: Gaussian noise, zCDP and (ε, δ).
    L2,
    /// The L1 norm: Laplace noise, pure ε.
    L1,
}

impl ColumnNorm {
    /// Returns p; the objective is `Σ c_i/u_i^p`.
    pub fn exponent(self) -> f64 {
        match self {
            ColumnNorm::L2 => 1.0,
            ColumnNorm::L1 => 2.0,
        }
    }
}

/// An instance of Program 1.
#[derive(Debug, Clone)]
pub struct WeightingProblem {
    /// c ≥ 0, one per design query.
    pub(super) costs: Array1<f64>,
    /// B ≥ 0, design queries × cells.
    pub(super) columns: Array2<f64>,
    pub(super) norm: ColumnNorm,
}

/// Weights with a certificate of their optimality.
#[derive(Debug, Clone)]
pub struct Weighting {
    /// u: feasible, `max_j (Bᵀu)_j = 1` up to rounding; 0 for design queries without cost.
    pub weights: Array1<f64>,
    /// The dual point that proves the lower bound, on the simplex over the cells.
    pub dual: Array1<f64>,
    /// A lower bound on the objective of any weights.
    pub lower_bound: f64,
    /// The objective `Σ c_i/u_i^p` of `weights`.
    pub upper_bound: f64,
    /// The number of Newton steps and multiplicative updates.
    pub iterations: usize,
    /// The status of the solver.
    pub status: Status,
}

impl Weighting {
    /// Returns `upper/lower − 1`.
    pub fn gap(&self) -> f64 {
        self.upper_bound / self.lower_bound - 1.0
    }
}

impl WeightingProblem {
    /// Creates the problem of design queries Q (k×n) with costs c.
    ///
    /// # Errors
    /// Not one finite, non-negative cost per query; all costs 0; an entry that is not finite; or a
    /// zero query with a positive cost.
    pub fn new(costs: Array1<f64>, design: &Array2<f64>, norm: ColumnNorm) -> Result<Self> {
        let columns = match norm {
            ColumnNorm::L2 => design.mapv(|q| q * q),
            ColumnNorm::L1 => design.mapv(f64::abs),
        };
        Self::from_columns(costs, columns, norm)
    }

    /// Creates the problem from B, for queries that share a weight.
    ///
    /// The row of B and the cost of such queries are sums over the queries.
    ///
    /// # Errors
    /// As [`WeightingProblem::new`], or a negative entry of B.
    pub fn from_columns(
        costs: Array1<f64>,
        columns: Array2<f64>,
        norm: ColumnNorm,
    ) -> Result<Self> {
        let refuse = |expected: String, found: String| {
            let remedy = "give every design query a cost of at least 0, and at least one of them \
                          a positive cost";
            Err(Error::bad_input("weighting problem", expected, found, remedy))
        };
        if costs.len() != columns.nrows() || columns.is_empty() {
            let found = format!(
                "{} costs for a {} x {} design",
                costs.len(),
                columns.nrows(),
                columns.ncols()
            );
            return refuse("one cost per design query, and at least one cell".into(), found);
        }
        if let Some((i, c)) = costs.iter().enumerate().find(|(_, c)| !(**c >= 0.0 && c.is_finite()))
        {
            return refuse(
                "finite costs of at least 0".into(),
                format!("{c} for design query {i}"),
            );
        }
        if costs.iter().all(|&c| c == 0.0) {
            return refuse(
                "a positive cost".into(),
                "only zeros: the workload has no query".into(),
            );
        }
        if let Some(((i, j), b)) =
            columns.indexed_iter().find(|(_, b)| !(**b >= 0.0 && b.is_finite()))
        {
            return refuse(
                "finite design queries (entries of B of at least 0)".into(),
                format!("{b} at ({i}, {j})"),
            );
        }
        let is_unanswerable =
            |(i, c): (usize, &f64)| *c > 0.0 && columns.row(i).iter().all(|&b| b == 0.0);
        if let Some((i, _)) = costs.iter().enumerate().find(|&(i, c)| is_unanswerable((i, c))) {
            return refuse(
                "no zero query among those with a positive cost".into(),
                format!("design query {i} is zero"),
            );
        }
        Ok(WeightingProblem { costs, columns, norm })
    }

    /// Returns LB of a point on the simplex over the cells, for any weights. O(k n).
    pub fn lower_bound(&self, dual: &Array1<f64>) -> f64 {
        let p = self.norm.exponent();
        let s = self.columns.dot(dual);
        let terms = self.costs.iter().zip(&s).filter(|(c, _)| **c > 0.0);
        terms
            .map(|(c, s)| c.powf(1.0 / (p + 1.0)) * s.powf(p / (p + 1.0)))
            .sum::<f64>()
            .powf(p + 1.0)
    }

    /// Returns the bounds that given weights and a given dual point prove for this problem.
    ///
    /// The weights are scaled to a maximum load of 1.
    ///
    /// # Errors
    /// Not one positive weight per design query with a cost, or a dual point of another length.
    pub fn judged(
        &self,
        mut weights: Array1<f64>,
        dual: Array1<f64>,
        iterations: usize,
        status: Status,
    ) -> Result<Weighting> {
        let loads = if weights.len() == self.costs.len() {
            self.columns.t().dot(&weights)
        } else {
            Array1::zeros(0)
        };
        let max_load = loads.iter().copied().fold(0.0, f64::max);
        let fits = |(w, c): (&f64, &f64)| w.is_finite() && (*w > 0.0 || (*w == 0.0 && *c == 0.0));
        if max_load <= 0.0
            || !weights.iter().zip(&self.costs).all(fits)
            || dual.len() != self.columns.ncols()
        {
            return Err(Error::bad_input(
                "weights of design queries",
                format!(
                    "{} positive finite weights, and a dual point over {} cells",
                    self.costs.len(),
                    self.columns.ncols()
                ),
                format!(
                    "{} weights, not all positive, or a point of {}",
                    weights.len(),
                    dual.len()
                ),
                "give every design query that the workload needs a positive weight",
            ));
        }
        weights /= max_load;
        let p = self.norm.exponent();
        let costly = self.costs.iter().zip(&weights).filter(|(c, _)| **c > 0.0);
        let upper_bound = costly.map(|(c, u)| c / u.powf(p)).sum();
        // Rounding may put a lower bound that meets the upper one slightly above it.
        let lower_bound = self.lower_bound(&dual).min(upper_bound);
        Ok(Weighting { weights, dual, lower_bound, upper_bound, iterations, status })
    }
}

/// The method that finds the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Newton's method, with multiplicative updates if it stops early.
    #[default]
    Newton,
    /// Multiplicative updates only: many, at O(k n) each.
    Multiplicative,
}

/// The tolerance and the limits of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightingOptions {
    /// Stop when `UB/LB − 1` falls to this. Default 1e-9.
    pub tolerance: f64,
    /// The method. Default [`Method::Newton`].
    pub method: Method,
    /// Maximum number of Newton steps. Default 100.
    pub newton_steps: usize,
    /// Maximum number of multiplicative updates, as a fallback or alone. Default 20,000.
    pub multiplicative_steps: usize,
}

impl Default for WeightingOptions {
    fn default() -> Self {
        WeightingOptions {
            tolerance: 1e-9,
            method: Method::Newton,
            newton_steps: 100,
            multiplicative_steps: 20_000,
        }
    }
}

impl WeightingOptions {
    /// Checks the options.
    ///
    /// # Errors
    /// A tolerance that is not positive, or no steps.
    pub(crate) fn check(&self) -> Result<()> {
        let steps = self.newton_steps.max(self.multiplicative_steps);
        if self.tolerance > 0.0 && self.tolerance.is_finite() && steps > 0 {
            return Ok(());
        }
        Err(Error::bad_input(
            "options of the weighting problem",
            "a positive tolerance and at least one step",
            format!("tolerance {}, at most {steps} steps", self.tolerance),
            "use e.g. tolerance 1e-9 and 100 Newton steps",
        ))
    }
}
