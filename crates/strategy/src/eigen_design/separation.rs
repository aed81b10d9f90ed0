//! Eigen-query separation (S2, performance optimizations): Program 1 group by group.
//!
//! The eigen-queries, sorted by eigenvalue, are split into groups of g. Program 1 weights the
//! queries of each group, and then the groups: group γ has load `Σ_{i∈γ} u_i q_i ∘ q_i` and cost
//! `Σ_{i∈γ} λ_i/u_i`. The dual point of the second problem bounds Program 1 of all eigen-queries
//! from below, so the loss of separation is known (`weighting_gap`).
//!
//! *Cost*: the eigendecomposition, and per Newton step O(n² g) for the groups and O(n³/g²) for
//! their factors. The order is smallest for g = n^⅓. The default is the power of two nearest to it.

use ndarray::{Array1, Array2, Axis};

use super::program2::of_weights;
use super::weighting::{ColumnNorm, Weighting, WeightingOptions, WeightingProblem};
use super::{EigenQueries, Options};
use crate::error::{Error, Result};
use crate::workload::Gram;
use crate::{Call, Selection, Status, StrategySelector};

/// Selects Eigen-Design's strategy with eigen-query separation: `eigen-separation`,
/// `eigen-separation(group=16)`.
#[derive(Debug, Clone, Default)]
pub struct EigenSeparation {
    name: Option<String>,
    /// The size of a group; `None` for the default.
    group: Option<usize>,
    options: Options,
}

impl EigenSeparation {
    /// Creates the selector with groups of `group` eigen-queries.
    ///
    /// # Errors
    /// `group` is 0, or the options are invalid.
    pub fn new(group: usize, options: Options) -> Result<Self> {
        options.weighting.check()?;
        if group == 0 {
            return Err(Error::bad_input(
                "eigen-query separation",
                "groups of at least one eigen-query",
                "0",
                "use e.g. eigen-separation(group=16)",
            ));
        }
        Ok(EigenSeparation {
            name: Some(format!("eigen-separation(group={group})")),
            group: Some(group),
            options,
        })
    }
}

/// Returns the power of two nearest to n^⅓ on a logarithmic scale: 16 for 2048 cells.
fn default_group(cells: usize) -> usize {
    1 << ((cells as f64).log2() / 3.0).round() as usize
}

impl StrategySelector for EigenSeparation {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("eigen-separation")
    }

    fn summary(&self) -> &str {
        "Eigen-Design with Program 1 solved in groups of eigen-queries: (group=16)"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "completion", "group"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let options = Options::of(call)?;
        let named = match call.option("group")? {
            Some(group) => Self::new(group, options)?,
            None => EigenSeparation { options, ..Self::default() },
        };
        Ok(Box::new(EigenSeparation { name: Some(call.text().to_owned()), ..named }))
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let eigen = EigenQueries::of(gram)?;
        let group = self.group.unwrap_or_else(|| default_group(gram.cells()));
        let weighting = separated(&eigen, group, &self.options.weighting)?;
        let mut selection =
            of_weights(self.name(), gram, eigen, weighting, self.options.completion)?;
        selection.details.push(("group", group as f64));
        Ok(selection)
    }
}

/// Weights the queries of every group, then the groups.
fn separated(eigen: &EigenQueries, group: usize, options: &WeightingOptions) -> Result<Weighting> {
    let count = eigen.rank().div_ceil(group);
    let mut loads = Array2::zeros((count, eigen.rows.ncols()));
    let (mut costs, mut weights) = (Array1::zeros(count), Array1::<f64>::zeros(eigen.rank()));
    let (mut iterations, mut status) = (0, Status::Converged);
    let mut note = |weighting: &Weighting| {
        iterations += weighting.iterations;
        if weighting.status != Status::Converged {
            status = weighting.status;
        }
    };
    for (k, (values, rows)) in eigen
        .values
        .axis_chunks_iter(Axis(0), group)
        .zip(eigen.rows.axis_chunks_iter(Axis(0), group))
        .enumerate()
    {
        let solved = WeightingProblem::new(values.to_owned(), &rows.to_owned(), ColumnNorm::L2)?
            .solve(options)?;
        for (i, (row, &weight)) in rows.rows().into_iter().zip(&solved.weights).enumerate() {
            loads.row_mut(k).zip_mut_with(&row, |load, q| *load += weight * q * q);
            weights[k * group + i] = weight;
        }
        costs[k] = solved.upper_bound;
        note(&solved);
    }
    let factors = WeightingProblem::from_columns(costs, loads, ColumnNorm::L2)?.solve(options)?;
    note(&factors);
    weights.iter_mut().enumerate().for_each(|(i, weight)| *weight *= factors.weights[i / group]);
    let whole = WeightingProblem::new(eigen.values.clone(), &eigen.rows, ColumnNorm::L2)?;
    whole.judged(weights, factors.dual, iterations, status)
}
