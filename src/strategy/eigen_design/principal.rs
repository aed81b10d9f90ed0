//! Principal vectors (S2, performance optimizations): weights of their own for the eigen-queries
//! with the largest eigenvalues only.
//!
//! Program 1 with k + 1 variables: one for each of the k principal eigen-queries, and one that all
//! others share, with load `Σ q_i ∘ q_i` and cost `Σ λ_i` over them. As with separation, the dual
//! point bounds Program 1 of all eigen-queries.
//!
//! *Cost*: O(n k²) per Newton step besides the eigendecomposition, and O(n²) once.

use ndarray::{Array1, Array2, Axis};

use super::program2::of_weights;
use super::weighting::{ColumnNorm, Weighting, WeightingOptions, WeightingProblem};
use super::{EigenQueries, Options};
use crate::error::{Error, Result};
use crate::strategy::{Call, Selection, StrategySelector};
use crate::workload::Gram;

/// How many eigen-queries have a weight of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrincipalCount {
    /// A share of those that there are, in (0, 1]; rounded up.
    Share(f64),
    /// A number.
    Count(usize),
}

impl Default for PrincipalCount {
    /// One in ten.
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
    /// With so many principal vectors.
    ///
    /// # Errors
    /// A share outside (0, 1], or options that make no sense.
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
        "Eigen-Design with own weights for the largest eigenvalues only: (share=0.1), (count=100)"
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

/// `count` weights, and one for the rest.
fn principal(eigen: &EigenQueries, count: usize, options: &WeightingOptions) -> Result<Weighting> {
    let whole = WeightingProblem::new(eigen.values.clone(), &eigen.rows, ColumnNorm::L2)?;
    if count == eigen.rank() {
        return whole.solve(options);
    }
    let mut loads = Array2::zeros((count + 1, eigen.rows.ncols()));
    let mut costs = Array1::zeros(count + 1);
    for (i, (row, value)) in eigen.rows.axis_iter(Axis(0)).zip(&eigen.values).enumerate() {
        let place = i.min(count);
        loads.row_mut(place).zip_mut_with(&row, |load, q| *load += q * q);
        costs[place] += value;
    }
    let own = WeightingProblem::from_columns(costs, loads, ColumnNorm::L2)?.solve(options)?;
    let weights = Array1::from_shape_fn(eigen.rank(), |i| own.weights[i.min(count)]);
    whole.judged(weights, own.dual, own.iterations, own.status)
}
