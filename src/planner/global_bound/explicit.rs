//! The bound for domains that are small enough for a dense Gram.

use ndarray::Array2;

use super::bound::{BoundMethod, GlobalBound, ROUNDING};
use crate::domain::{cell_index, coordinates};
use crate::error::{Error, Result};
use crate::strategy::{Optimal, OptimalOptions, Proof, StrategySelector};
use crate::workload::{Gram, GroupQueries, GroupedWorkload};
use matmech_linalg as linalg;

/// The maximum number of cells of a domain that is always solved explicitly.
pub(super) const MAX_CELLS_ALWAYS_EXPLICIT: usize = 1_024;

/// Maximum evaluations of the dual function for large domains.
///
/// Above [`MAX_CELLS_ALWAYS_EXPLICIT`] cells, one evaluation takes seconds. The bound holds
/// after any number of evaluations.
const MAX_EVALUATIONS: usize = 40;

/// Returns `Σ_groups w · WᵀW` over the row-major cells of the full domain.
///
/// O(groups · cells²) time.
///
/// # Errors
/// The domain has too many cells.
pub(super) fn gram(workload: &GroupedWorkload) -> Result<Array2<f64>> {
    let sizes = workload.schema().sizes();
    let cells: usize = sizes.iter().product();
    crate::workload::check_dense_size("Gram matrix of the full domain", cells)?;
    let mut sum = Array2::zeros((cells, cells));
    for group in workload.groups() {
        let group_gram = match group.queries() {
            GroupQueries::Product(families) => {
                let grams: Vec<Array2<f64>> = families
                    .iter()
                    .zip(group.sizes())
                    .map(|(f, &n)| f.gram(&[n]))
                    .collect::<Result<_>>()?;
                linalg::kron_all(grams.iter().map(|g| g.view()))
            }
            GroupQueries::Joint(queries) => queries.gram()?,
        };
        let group_cell = |cell| {
            cell_index(group.sizes(), &group.attributes().select(&coordinates(&sizes, cell)))
        };
        let group_cells: Vec<usize> = (0..cells).map(group_cell).collect();
        for (&i, mut row) in group_cells.iter().zip(sum.rows_mut()) {
            for (x, &j) in row.iter_mut().zip(&group_cells) {
                *x += group.weight() * group_gram[[i, j]];
            }
        }
    }
    Ok(sum)
}

/// Returns the certified lower bound for the full domain, by search or at the weights of a proof.
///
/// O(cells³) time per evaluation of the dual function.
///
/// # Errors
/// The solver fails.
pub(super) fn bound(workload: &GroupedWorkload, known: Option<&Proof>) -> Result<GlobalBound> {
    let gram = gram(workload)?;
    let mut options = OptimalOptions::default();
    if gram.nrows() > MAX_CELLS_ALWAYS_EXPLICIT {
        options.max_iterations = MAX_EVALUATIONS;
    }
    let gram = Gram::dense(&workload.schema().sizes(), gram)?;
    let best = match known {
        Some(proof) => proof.selection(&gram)?,
        None => Optimal::new(options)?.select(&gram)?,
    };
    let certificate = best.certificate.ok_or_else(|| {
        Error::bug("global lower bound", "a certificate of the optimal strategy", "none")
    })?;
    Ok(GlobalBound {
        total_variance: certificate.lower_bound * (1.0 - ROUNDING),
        quadrature_error: 0.0,
        method: BoundMethod::Explicit,
        weights: None,
        proof: best.proof,
        status: certificate.status,
        evaluations: certificate.iterations,
    })
}
