//! The choice of the method for a workload.

use super::bound::{BoundWeights, GlobalBound};
use super::by_structure::by_structure;
use super::explicit::{self, MAX_CELLS_ALWAYS_EXPLICIT};
use super::structure::Structure;
use crate::error::{Error, Result};
use crate::residual::ReferenceMeasure;
use crate::workload::GroupedWorkload;

/// The maximum number of cells of a domain that is solved explicitly for lack of structure.
pub const MAX_EXPLICIT_CELLS: usize = 4_096;

impl GlobalBound {
    /// Computes the bound for a workload.
    ///
    /// `near` is an additional start of the search, such as the reference measure of an
    /// [`Anova`](crate::planner::Anova) plan.
    ///
    /// *Cost*: O(n³) per node of the quadrature for exchangeable attributes, independent of their
    /// number; O((Σ n)³ + Σ_pairs n_i n_j) per node otherwise; O(cells³) per iteration if explicit.
    ///
    /// # Errors
    /// The workload has queries on three or more attributes, joint queries, or several families of
    /// pairs on one attribute, over a domain of more than [`MAX_EXPLICIT_CELLS`] cells. Or the
    /// weights do not match the schema.
    pub fn of(
        workload: &GroupedWorkload,
        weights: &BoundWeights,
        near: Option<&ReferenceMeasure>,
    ) -> Result<Self> {
        let sizes = workload.schema().sizes();
        let given = if let BoundWeights::Given(measure) = weights { Some(measure) } else { None };
        for measure in near.into_iter().chain(given) {
            measure.check_sizes(&sizes)?;
        }
        if let BoundWeights::Cells(proof) = weights {
            return explicit::bound(workload, Some(proof));
        }
        let cells =
            sizes.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).unwrap_or(usize::MAX);
        if cells <= MAX_CELLS_ALWAYS_EXPLICIT && *weights == BoundWeights::Optimised {
            return explicit::bound(workload, None);
        }
        match Structure::of(workload) {
            Ok(structure) => by_structure(&structure, weights, near),
            Err(_) if cells <= MAX_EXPLICIT_CELLS && *weights == BoundWeights::Optimised => {
                explicit::bound(workload, None)
            }
            Err(reason) => Err(Error::bad_input(
                "global lower bound",
                "product queries on one and two attributes, one family of pairs per attribute, or \
                 a small domain",
                format!(
                    "{reason}, over {} cells",
                    sizes.iter().map(|&n| n as f64).product::<f64>()
                ),
                format!(
                    "ask for the bound of such a workload, or of a workload over at most \
                     {MAX_EXPLICIT_CELLS} cells"
                ),
            )),
        }
    }
}
