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
//! Every iterate has a lower bound and a strategy. The gap between the bounds does not depend on how
//! μ was found. An accelerated multiplicative fixed point finds μ; an interior-point method takes
//! over if the rank is low. Kronecker products are solved factor by factor (the product of optima is
//! optimal), identical cells are merged, and symmetries of the workload split the eigenproblems.
//!
//! *Requirements*: a Gram matrix whose dense factors fit into memory. *Cost*: O(cells³) per
//! iteration and O(cells²) memory for the largest factor. *Reference*: S1, Thm 3.3, and S3,
//! Sec. 6.3; Yuan et al., Convex optimization for linear query processing under approximate
//! differential privacy (2016), for the problem.

mod active_set;
mod anderson;
pub(super) mod banded;
mod central_path;
mod dual;
mod dual_vector;
mod fixed_point;
mod for_problem;
mod identical_cells;
mod interior_point;
mod low_rank;
mod newton;
mod problem_dual;
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
pub(crate) use anderson::{Anderson, StepLimit};
pub(crate) use banded::{BandedFactor, QuasiNewton, SmoothFunction};
pub(crate) use central_path::Centre;
use dual::{Dual, Point};
pub use dual_vector::DualVector;
use fixed_point::FixedPoint;
pub(crate) use fixed_point::{EXPONENT, MAX_STRETCH, WINDOW, normalised};
use identical_cells::CellClasses;
use low_rank::RowReduction;
use newton::Curvature;
pub use problem_dual::ProblemDual;
pub(super) use weighted::lower_bound_of_epochs;
pub(crate) use weights::{by_gram, by_rows};

/// Number of fixed-point steps between two checks of the progress.
const STRIDE: usize = 6;

/// Assumed number of interior-point steps when the costs of the methods are compared.
const INTERIOR_STEPS: f64 = 10.0;

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
        let reduction = RowReduction::of(shape, rows)?;
        let dual = Dual::of_rows(&reduction);
        let Proved { point, mut certificate, .. } =
            certify(&dual, dual.uniform(), &self.options, cells)?;
        certificate.upper_bound =
            (certificate.upper_bound.sqrt() + reduction.remainder.sqrt()).powi(2);
        Ok(RowSelection { queries: reduction.assemble(&dual.strategy_rows(&point)), certificate })
    }
}

/// A strategy of few queries with a certificate of its optimality.
#[derive(Debug, Clone)]
pub struct RowSelection {
    /// The queries, as many as the rank of the workload, × cells; the largest column norm is 1.
    pub queries: Array2<f64>,
    /// Bounds on the smallest error of any strategy; the upper bound is the error of this strategy.
    pub certificate: Certificate,
}

/// The best bounds so far, and the points that attain them.
struct Bounds {
    lower: f64,
    /// The weights of the lower bound, one per orbit.
    dual: Vec<f64>,
    upper: Option<Point>,
    evaluations: usize,
}

impl Bounds {
    /// Creates empty bounds.
    fn new() -> Self {
        Bounds { lower: 0.0, dual: Vec::new(), upper: None, evaluations: 0 }
    }

    /// Updates the bounds with an evaluated point.
    fn record(&mut self, point: &Point) {
        self.evaluations += 1;
        if point.lower_bound() > self.lower {
            self.lower = point.lower_bound();
            self.dual.clone_from(&point.mu);
        }
        let better =
            self.upper.as_ref().is_none_or(|best| point.upper_bound() < best.upper_bound());
        if better && point.upper_bound().is_finite() {
            self.upper = Some(point.clone());
        }
    }

    fn upper_bound(&self) -> f64 {
        self.upper.as_ref().map_or(f64::INFINITY, Point::upper_bound)
    }

    fn gap(&self) -> f64 {
        self.upper_bound() / self.lower - 1.0
    }
}

/// The optimum of one Kronecker factor.
struct FactorOptimum {
    gram: Arc<Array2<f64>>,
    dual: Arc<Vec<f64>>,
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
        let factors = gram.factors();
        let options = OptimalOptions {
            tolerance: self.options.tolerance / factors.len() as f64,
            ..self.options
        };
        let mut solved: Vec<(&GramFactor, FactorOptimum)> = Vec::new();
        let (mut strategy, mut dual) =
            (Vec::with_capacity(factors.len()), Vec::with_capacity(factors.len()));
        let mut total = Certificate {
            lower_bound: 1.0,
            upper_bound: 1.0,
            iterations: 0,
            status: Status::Converged,
        };
        for factor in factors {
            let known = solved
                .iter()
                .position(|(f, _)| f.shape == factor.shape && f.matrix == factor.matrix);
            let index = match known {
                Some(index) => index,
                None => {
                    let optimum = solve_factor(factor, &options)?;
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
        }
        Ok((self.selection(strategy, total)?, DualVector::of_factors(dual)))
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

    fn select(&self, gram: &Gram) -> Result<Selection> {
        self.check_bands(super::Participation::Single)?;
        Ok(self.select_with_dual(gram)?.0)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        problem.check()?;
        self.select_optimum(problem)
    }
}

/// Solves one dense factor. O(cells³) per iteration.
fn solve_factor(factor: &GramFactor, options: &OptimalOptions) -> Result<FactorOptimum> {
    if let Some(classes) = CellClasses::of(factor.matrix.view()) {
        return solve_classes(factor, &classes, options);
    }
    let reduction = Reduction::of(&factor.shape, factor.matrix.view());
    let dual = Dual::new(&reduction)?;
    let proved = certify(&dual, dual.uniform(), options, factor.matrix.nrows())?;
    let gram = reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point));
    let weights = reduction.orbits.orbit_of.iter().map(|&orbit| proved.dual[orbit]).collect();
    Ok(FactorOptimum {
        gram: Arc::new(gram),
        dual: Arc::new(weights),
        certificate: proved.certificate,
    })
}

/// Solves one dense factor with identical cells merged, starting from uniform weights on the cells.
fn solve_classes(
    factor: &GramFactor,
    classes: &CellClasses,
    options: &OptimalOptions,
) -> Result<FactorOptimum> {
    let merged = classes.merged(factor.matrix.view());
    let reduction = Reduction::of(&[merged.nrows()], merged.view());
    let dual = Dual::new(&reduction)?;
    let mut start = vec![0.0; dual.orbit_sizes.len()];
    for (&orbit, size) in reduction.orbits.orbit_of.iter().zip(&classes.sizes) {
        start[orbit] += size / dual.orbit_sizes[orbit];
    }
    let proved = certify(&dual, start, options, merged.nrows())?;
    let gram =
        classes.repeated(&reduction.assemble(&dual.strategy_blocks(&reduction, &proved.point)));
    let weights: Vec<f64> =
        reduction.orbits.orbit_of.iter().map(|&orbit| proved.dual[orbit]).collect();
    let weights = classes.divided(&weights);
    Ok(FactorOptimum {
        gram: Arc::new(gram),
        dual: Arc::new(weights),
        certificate: proved.certificate,
    })
}

/// Solves a dual problem over `cells` cells from a start, and returns the best point with its
/// certificate.
fn certify(dual: &Dual, start: Vec<f64>, options: &OptimalOptions, cells: usize) -> Result<Proved> {
    if dual.block_orbits().next().is_none() {
        return Err(Error::bad_input(
            "optimal strategy",
            "a workload with at least one non-zero query",
            "a Gram matrix of zeros",
            "drop this workload: it needs no measurement",
        ));
    }
    let mut bounds = Bounds::new();
    minimise_gap(dual, start, &mut bounds, options)?;
    let gap = bounds.gap();
    let Some(point) = bounds.upper else {
        return Err(Error::DidNotConverge { what: "optimal strategy".into(), order: cells });
    };
    let status = if gap <= options.tolerance {
        Status::Converged
    } else if bounds.evaluations >= options.max_iterations {
        Status::IterationLimit
    } else {
        Status::Stalled
    };
    let certificate = Certificate {
        // Rounding may put a lower bound that meets the upper one slightly above it.
        lower_bound: bounds.lower.min(point.upper_bound()),
        upper_bound: point.upper_bound(),
        iterations: bounds.evaluations,
        status,
    };
    Ok(Proved { point, dual: bounds.dual, certificate })
}

/// Closes the gap: the fixed point while it is fast, the interior-point method when that is cheaper
/// (on the active cells if there are too many), then the fixed point again.
fn minimise_gap(
    dual: &Dual,
    start: Vec<f64>,
    bounds: &mut Bounds,
    options: &OptimalOptions,
) -> Result<()> {
    let mut fixed_point = FixedPoint::from(start);
    let mut interior = newton::step_cost(dual);
    while bounds.gap() > options.tolerance && bounds.evaluations < options.max_iterations {
        let before = bounds.gap();
        let remaining = options.max_iterations - bounds.evaluations;
        fixed_point.advance(dual, bounds, options, STRIDE.min(remaining))?;
        let rate = (before / bounds.gap()).ln() / STRIDE as f64;
        let steps_to_go = (bounds.gap() / options.tolerance).ln() / rate.max(1e-9);
        let remaining = options.max_iterations - bounds.evaluations;
        let slow = |step_flops: f64| {
            steps_to_go * dual.evaluation_flops()
                > INTERIOR_STEPS * (step_flops + dual.evaluation_flops())
        };
        if before.is_finite()
            && remaining > 0
            && bounds.gap() > options.tolerance
            && let Some((formed, _)) = interior.take_if(|(_, flops)| slow(*flops))
        {
            if formed && let Some(start) = bounds.upper.clone() {
                interior_point::run(dual, &start, bounds, options, remaining, Curvature::formed)?;
            }
            if bounds.gap() > options.tolerance {
                active_set::run(dual, bounds, options)?;
            }
            if let Some(best) = &bounds.upper {
                fixed_point = FixedPoint::from(best.mu.clone());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
