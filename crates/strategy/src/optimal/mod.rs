//! The certified optimal strategy.
//!
//! Minimise `tr(G V⁻¹)` over `V ⪰ 0` with `V_ii ≤ 1` (V = AᵀA of a strategy with sensitivity 1).
//! The dual has one weight per cell: for μ on the simplex and M = diag(μ),
//!
//! ```text
//! LB(μ) = (tr (M^½ G M^½)^½)²              uniform μ: the SVD bound of S1, Thm 3.3
//! V(μ)  ∝ M^(−½) (M^½ G M^½)^½ M^(−½)      rescaled to max V_ii = 1
//! UB(μ) = LB(μ) · max V_ii / Σ μ_i V_ii    the error of the strategy V(μ)
//! ```
//!
//! Every iterate has a lower bound and a strategy. The gap between the bounds does not depend on
//! how μ was found. An accelerated multiplicative fixed point finds μ; an interior-point method
//! takes over if the rank is low. Kronecker products are solved factor by factor (the product of
//! optima is optimal), identical cells are merged, and symmetries of the workload split the
//! eigenproblems.
//!
//! *Requirements*: a Gram matrix whose dense factors fit into memory. *Cost*: O(cells³) per
//! iteration and O(cells²) memory for the largest factor. *Reference*: S1, Thm 3.3, and S3,
//! Sec. 6.3; Yuan et al., Convex optimization for linear query processing under approximate
//! differential privacy (2016), for the problem.

mod active_set;
mod anderson;
pub(super) mod banded;
mod conjugate_gradients;
mod dual;
mod dual_vector;
mod fixed_point;
mod for_problem;
mod identical_cells;
mod interior_point;
mod joint_interior_point;
mod low_rank;
mod newton;
mod optimum_dual;
mod problem_dual;
mod proof;
mod saddle;
mod search;
pub mod tridiagonal;
mod weighted;
mod weights;

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use super::symmetry::Reduction;
use super::{Certificate, Problem, Selection, Status, StrategyFactor, StrategySelector};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};
pub use anderson::{Anderson, StepLimit};
pub use banded::{BandedFactor, QuasiNewton, SmoothFunction};
use dual::{Dual, Point};
pub use dual_vector::DualVector;
pub use fixed_point::{EXPONENT, MAX_STRETCH, WINDOW, normalised};
use identical_cells::CellClasses;
use low_rank::RowReduction;
pub use optimum_dual::OptimumDual;
pub use problem_dual::ProblemDual;
pub use proof::{Proof, ProofWeights, ProvedBounds};
use proof::{Weighting, orbit_means};
pub use saddle::{Linearised, MovingRows, PathPoint, Spectra};
use search::{Bounds, certify};
pub(super) use weighted::lower_bound_of_epochs;

/// The tolerance and the limits of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimalOptions {
    /// Stop when `upper/lower − 1` is at most this, which the certificate has. Default 1e-7.
    pub tolerance: f64,
    /// Maximum number of evaluations of the dual function per Kronecker factor, each with one
    /// eigendecomposition. Default 500.
    pub max_iterations: usize,
}

impl Default for OptimalOptions {
    fn default() -> Self {
        OptimalOptions { tolerance: 1e-7, max_iterations: 500 }
    }
}

/// Selects the optimal strategy, with a certificate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Optimal {
    /// The tolerance and the limits. Default [`OptimalOptions::default`].
    pub options: OptimalOptions,
    /// The number of bands under min-separation. Default the separation.
    pub bands: Option<usize>,
    /// Whether columns have equal norms under min-separation (BandMF). Default false.
    pub equal_norms: bool,
}

impl Optimal {
    /// Creates a selector with the given options.
    ///
    /// # Errors
    /// The tolerance is not positive, or `max_iterations` is 0.
    pub fn new(options: OptimalOptions) -> Result<Self> {
        if !(options.tolerance > 0.0 && options.tolerance.is_finite())
            || options.max_iterations == 0
        {
            return Err(Error::bad_input(
                "options of the optimal strategy",
                "a positive tolerance and at least one iteration",
                format!(
                    "tolerance {}, max_iterations {}",
                    options.tolerance, options.max_iterations
                ),
                "use e.g. tolerance 1e-7 and 500 iterations",
            ));
        }
        Ok(Optimal { options, ..Optimal::default() })
    }

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
fn rows_selected(
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

/// The optimum of one Kronecker factor.
struct FactorOptimum {
    gram: Arc<Array2<f64>>,
    dual: Arc<Vec<f64>>,
    /// The weights of the strategy.
    weights: Arc<Vec<f64>>,
    certificate: Certificate,
}

/// The best point of a dual problem, the weights of the best lower bound (one per orbit), and the
/// certificate.
struct Proved {
    point: Point,
    dual: Vec<f64>,
    certificate: Certificate,
}

impl Optimal {
    /// Returns the optimal strategy, and the dual vector that proves its lower bound.
    ///
    /// # Errors
    /// As [`Optimal::select`](StrategySelector::select).
    pub fn select_with_dual(&self, gram: &Gram) -> Result<(Selection, DualVector)> {
        self.selected(gram, None)
    }

    /// Selects a strategy by search, or at the weights of a proof.
    fn selected(&self, gram: &Gram, known: Option<&Proof>) -> Result<(Selection, DualVector)> {
        let factors = gram.factors();
        let options = OptimalOptions {
            tolerance: self.options.tolerance / factors.len() as f64,
            ..self.options
        };
        let mut solved: Vec<(&GramFactor, FactorOptimum)> = Vec::new();
        let (mut strategy, mut dual, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = Certificate {
            lower_bound: 1.0,
            upper_bound: 1.0,
            iterations: 0,
            status: Status::Converged,
        };
        for (k, factor) in factors.iter().enumerate() {
            let equal = solved
                .iter()
                .position(|(f, _)| f.shape == factor.shape && f.matrix == factor.matrix);
            let index = match equal {
                Some(index) => index,
                None => {
                    let weighting = match known {
                        Some(proof) => {
                            Weighting::Known(&proof.dual.cells[k], &proof.strategy().cells[k])
                        }
                        None => Weighting::Search(&options),
                    };
                    let optimum = solve_factor(factor, &weighting)?;
                    total.iterations += optimum.certificate.iterations;
                    solved.push((factor, optimum));
                    solved.len() - 1
                }
            };
            let optimum = &solved[index].1;
            total.lower_bound *= optimum.certificate.lower_bound;
            total.upper_bound *= optimum.certificate.upper_bound;
            if optimum.certificate.status != Status::Converged {
                total.status = optimum.certificate.status;
            }
            strategy.push(StrategyFactor::from_gram(&factor.shape, optimum.gram.clone()));
            dual.push(optimum.dual.clone());
            weights.push(optimum.weights.clone());
        }
        let proof =
            Proof::new(ProofWeights::of_cells(dual.clone()), ProofWeights::of_cells(weights));
        let selection = self.selection(strategy, total)?;
        Ok((Selection { proof: Some(proof), ..selection }, DualVector::of_factors(dual)))
    }
}

impl StrategySelector for Optimal {
    fn name(&self) -> &str {
        "optimal"
    }

    fn summary(&self) -> &str {
        "certified optimum: smallest total error of any strategy, with a lower bound"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "max-iterations", "bands", "norms"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Ok(Box::new(self.with_options(call)?))
    }

    fn as_optimal(&self) -> Option<&Optimal> {
        Some(self)
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        self.check_bands(super::Participation::Single)?;
        Ok(self.select_with_dual(gram)?.0)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        Ok(self.select_with_any_dual(problem)?.0)
    }
}

/// Solves one dense factor. O(cells³) per iteration.
fn solve_factor(factor: &GramFactor, weighting: &Weighting<'_>) -> Result<FactorOptimum> {
    if let Some(classes) = CellClasses::of(factor.matrix.view()) {
        return solve_classes(factor, &classes, weighting);
    }
    let reduction = Reduction::of(&factor.shape, factor.matrix.view());
    let dual = Dual::new(&reduction)?;
    let orbits = &reduction.orbits;
    let proved = weighting.proved(&dual, dual.uniform(), factor.matrix.nrows(), |weights| {
        orbit_means(orbits, weights)
    })?;
    let gram = reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point));
    let per_cell =
        |weights: &[f64]| Arc::new(orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect());
    Ok(FactorOptimum {
        gram: Arc::new(gram),
        dual: per_cell(&proved.dual),
        weights: per_cell(&proved.point.mu),
        certificate: proved.certificate,
    })
}

/// Solves one dense factor with identical cells merged, starting from uniform weights on the cells.
fn solve_classes(
    factor: &GramFactor,
    classes: &CellClasses,
    weighting: &Weighting<'_>,
) -> Result<FactorOptimum> {
    let merged = classes.merged(factor.matrix.view());
    let reduction = Reduction::of(&[merged.nrows()], merged.view());
    let dual = Dual::new(&reduction)?;
    let orbits = &reduction.orbits;
    let start = orbit_means(orbits, &classes.sizes);
    let proved = weighting.proved(&dual, start, merged.nrows(), |weights| {
        orbit_means(orbits, &classes.summed(weights))
    })?;
    let gram =
        classes.repeated(&reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point)));
    let per_cell = |weights: &[f64]| {
        let classed: Vec<f64> = orbits.orbit_of.iter().map(|&orbit| weights[orbit]).collect();
        Arc::new(classes.divided(&classed))
    };
    Ok(FactorOptimum {
        gram: Arc::new(gram),
        dual: per_cell(&proved.dual),
        weights: per_cell(&proved.point.mu),
        certificate: proved.certificate,
    })
}

#[cfg(test)]
mod tests;
