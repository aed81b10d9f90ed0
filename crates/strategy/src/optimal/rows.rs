//! The optimum for a workload of few queries over many cells.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use super::bounds::{Optimal, Proved};
use super::dual::Dual;
use super::low_rank::RowReduction;
use super::proof::{Proof, ProofWeights};
use super::weighting::{Weighting, orbit_means};
use crate::certificate::Certificate;
use crate::error::{Error, Result};

impl Optimal {
    /// Selects the optimum for a workload of few queries over many cells, given by its rows.
    ///
    /// The rows are queries × cells of a box. *Cost*: O(rows² · cells) time per iteration, about
    /// 100·rows·cells bytes. *Certificate*: G is reduced to the numerical rank of the rows. The
    /// rest has trace ρ (below 1e-20 of tr G). The lower bound still holds, and the upper bound
    /// `(√UB + √ρ)²` includes the error of answering the rest from the cells.
    ///
    /// # Errors
    /// The rows are over other cells than the box, all zero, or not finite.
    pub fn select_rows(&self, shape: &[usize], rows: ArrayView2<'_, f64>) -> Result<RowSelection> {
        let cells: usize = shape.iter().product();
        if rows.ncols() != cells || rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::bad_input(
                format!("workload over {shape:?}"),
                format!("rows of {cells} finite numbers"),
                format!("rows of {}, or some that are not finite", rows.ncols()),
                "one row per query, one column per cell",
            ));
        }
        rows_selected(shape, rows, &Weighting::Search(&self.options))
    }

    /// As [`Optimal::select_rows`], from weights per cell of a point of the central path.
    pub fn select_rows_near(
        &self,
        shape: &[usize],
        rows: ArrayView2<'_, f64>,
        near: &[f64],
    ) -> Result<RowSelection> {
        rows_selected(shape, rows, &Weighting::Near(&self.options, near))
    }
}

/// Selects a strategy of rows with the given weighting.
pub(super) fn rows_selected(
    shape: &[usize],
    rows: ArrayView2<'_, f64>,
    weighting: &Weighting<'_>,
) -> Result<RowSelection> {
    let reduction = RowReduction::of(shape, rows)?;
    let dual = Dual::of_rows(&reduction);
    let orbits = &reduction.orbits;
    let Proved { point, dual: weights, mut certificate } =
        weighting
            .proved(&dual, dual.uniform(), rows.ncols(), |weights| orbit_means(orbits, weights))?;
    certificate.upper_bound = (certificate.upper_bound.sqrt() + reduction.remainder.sqrt()).powi(2);
    let per_cell = |weights: &[f64]| {
        let cells = orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect();
        ProofWeights::of_cells(vec![Arc::new(cells)])
    };
    Ok(RowSelection {
        queries: reduction.assemble(&dual.strategy_rows(&point)),
        certificate,
        proof: Proof::new(per_cell(&weights), per_cell(&point.mu)),
    })
}

/// A strategy of few queries with a certificate of its optimality.
#[derive(Debug, Clone)]
pub struct RowSelection {
    /// The queries, as many as the rank of the workload, × cells; the largest column norm is 1.
    pub queries: Array2<f64>,
    /// Bounds on the smallest error of any strategy; the upper bound is the error of this strategy.
    pub certificate: Certificate,
    /// The weights that prove the bounds.
    pub proof: Proof,
}
