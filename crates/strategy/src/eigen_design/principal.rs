//! Principal vectors (S2, performance optimizations): separate weights only for the eigen-queries
//! with the largest eigenvalues.
//!
//! Program 1 with k + 1 variables: one for each of the k principal eigen-queries, and one shared by
//! all others, with load `Σ q_i ∘ q_i` and cost `Σ λ_i` over them. The dual point of this problem
//! also bounds Program 1 of all eigen-queries.
//!
//! *Cost*: the eigendecomposition, O(n²) once, and O(n k²) per Newton step.

use ndarray::{Array1, Array2, Axis};

use super::program2::of_weights;
use super::weighting::{ColumnNorm, Weighting, WeightingOptions, WeightingProblem};
use super::{EigenQueries, Options};
use crate::error::{Error, Result};
use crate::workload::Gram;
use crate::{Call, Selection, StrategySelector};

/// The number of eigen-queries with a separate weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrincipalCount {
    /// A share of all eigen-queries, in (0, 1]; rounded up.
    Share(f64),
    /// A number.
    Count(usize),
}

impl Default for PrincipalCount {
    /// Returns a share of 0.1.
    fn default() -> Self {
        PrincipalCount::Share(0.1)
    }
}

/// Selects Eigen-Design's strategy with principal vectors: `principal-vectors`,
/// `principal-vectors(share=0.06)`, `principal-vectors(count=100)`.
#[derive(Debug, Clone, Default)]
pub struct PrincipalVectors {
    name: Option<String>,
    count: PrincipalCount,
    options: Options,
}

impl PrincipalVectors {
    /// Creates the selector for a number of principal vectors.
    ///
    /// # Errors
    /// A share outside (0, 1], or invalid options.
    pub fn new(count: PrincipalCount, options: Options) -> Result<Self> {
        options.weighting.check()?;
        let name = match count {
            PrincipalCount::Share(share) if share > 0.0 && share <= 1.0 => {
                format!("principal-vectors(share={share})")
            }
            PrincipalCount::Count(count) => format!("principal-vectors(count={count})"),
            PrincipalCount::Share(share) => {
                return Err(Error::bad_input(
                    "principal vectors",
                    "a share above 0 and up to 1",
                    share.to_string(),
                    "use e.g. principal-vectors(share=0.1)",
                ));
            }
        };
        Ok(PrincipalVectors { name: Some(name), count, options })
    }
}

impl StrategySelector for PrincipalVectors {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("principal-vectors")
    }

    fn summary(&self) -> &str {
        "Eigen-Design with separate weights for the largest eigenvalues only: (share=0.1), \
         (count=100)"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "completion", "share", "count"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let options = Options::of(call)?;
        let count = match (call.option("share")?, call.option("count")?) {
            (None, None) => PrincipalCount::default(),
            (Some(share), None) => PrincipalCount::Share(share),
            (None, Some(count)) => PrincipalCount::Count(count),
            (Some(_), Some(_)) => return Err(call.refuse("either `share` or `count`", "both")),
        };
        Ok(Box::new(PrincipalVectors {
            name: Some(call.text().to_owned()),
            ..Self::new(count, options)?
        }))
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let eigen = EigenQueries::of(gram)?;
        let count = match self.count {
            PrincipalCount::Count(count) => count,
            PrincipalCount::Share(share) => (share * eigen.rank() as f64).ceil() as usize,
        };
        let count = count.min(eigen.rank());
        let weighting = principal(&eigen, count, &self.options.weighting)?;
        let mut selection =
            of_weights(self.name(), gram, eigen, weighting, self.options.completion)?;
        selection.details.push(("principal_vectors", count as f64));
        Ok(selection)
    }
}

/// Solves Program 1 with `count` separate weights and one weight for the rest.
fn principal(eigen: &EigenQueries, count: usize, options: &WeightingOptions) -> Result<Weighting> {
    let whole = WeightingProblem::new(eigen.values.clone(), &eigen.rows, ColumnNorm::L2)?;
    if count == eigen.rank() {
        return whole.solve(options);
    }
    let mut loads = Array2::zeros((count + 1, eigen.rows.ncols()));
    let mut costs = Array1::zeros(count + 1);
    for (i, (row, value)) in eigen.rows.axis_iter(Axis(0)).zip(&eigen.values).enumerate() {
        let variable = i.min(count);
        loads.row_mut(variable).zip_mut_with(&row, |load, q| *load += q * q);
        costs[variable] += value;
    }
    let reduced = WeightingProblem::from_columns(costs, loads, ColumnNorm::L2)?.solve(options)?;
    let weights = Array1::from_shape_fn(eigen.rank(), |i| reduced.weights[i.min(count)]);
    whole.judged(weights, reduced.dual, reduced.iterations, reduced.status)
}
