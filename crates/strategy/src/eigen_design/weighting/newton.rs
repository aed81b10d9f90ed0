//! Newton's method on the dual.
//!
//! Without the simplex constraint the dual maximises `((p+1)/p) F(y) − Σ y` over y ≥ 0, with
//! gradient `g − 1` and curvature `−H, H = Bᵀ D B / (p+1), D = diag(ρ s^(−1−1/(p+1)))`. With slacks
//! `z = 1 − g` a Newton step on `y z = τ` solves
//!
//! ```text
//! (H + diag(z/y)) Δy = τ/y − (1 − g)            Δz = (1 − g) + H Δy − z
//! ```
//!
//! by Mehrotra's predictor and corrector with one factorisation. For fewer design queries than
//! cells the matrix is inverted through `D⁻¹(p+1) + B diag(y/z) Bᵀ`, of the order of the queries.

use ndarray::{Array1, Array2, Axis};

use super::reduced::{Reduced, ReducedPoint, Search, multiplicative_updates};
use super::weighting_problem::WeightingOptions;
use crate::error::{Error, Result};
use matmech_linalg::interior_point::{advance, predictor_corrector};
use matmech_linalg::{SpdFactor, lower_gram_of};

/// Minimum starting weight, relative to the mean weight.
const MIN_WEIGHT: f64 = 1e-9;

/// Share of the distance to the boundary that a step takes at most.
const STEP_FRACTION: f64 = 0.995;

/// Steps without progress of the gap before the method stops.
const PATIENCE: usize = 6;

/// Multiplicative updates before the first Newton step.
const FIRST_UPDATES: usize = 20;

/// Runs until the gap reaches the tolerance, progress ends, or the steps are used up.
///
/// # Errors
/// Inconsistent shapes, which are a bug.
pub(super) fn run(
    reduced: &Reduced,
    search: &mut Search,
    options: &WeightingOptions,
) -> Result<()> {
    multiplicative_updates(reduced, search, options.tolerance, FIRST_UPDATES);
    let mut y = search.dual.clone();
    let mut point = reduced.at(&y);
    // The updates may set the weight of a cell that hardly any query covers to zero, but a step
    // starts in the interior.
    let min_weight = MIN_WEIGHT / y.len() as f64;
    y.mapv_inplace(|y| y.max(min_weight));
    // The optimum without the simplex constraint has Σ y = F.
    y *= point.lower / y.sum();
    point = reduced.at(&y);
    let mut z = first_slacks(&y, &point);
    let (mut best, mut idle) = (search.gap(), 0);
    for _ in 0..options.newton_steps {
        if search.gap() <= options.tolerance || idle > PATIENCE {
            return Ok(());
        }
        let system = match System::at(reduced, &y, &z, &point) {
            Ok(system) => system,
            Err(Error::NotPositiveDefinite { .. }) => return Ok(()),
            Err(other) => return Err(other),
        };
        let step = predictor_corrector(
            &y,
            &z,
            &(1.0 - &point.g),
            |right| system.solve(&right).map(Some),
            |change| system.curve(change),
            STEP_FRACTION,
        )?;
        let Some(step) = step else { return Ok(()) };
        advance((&mut y, &mut z), &step, STEP_FRACTION);
        point = reduced.at(&y);
        search.record(&y, &point);
        idle = if search.gap() < 0.9 * best { 0 } else { idle + 1 };
        best = best.min(search.gap());
    }
    Ok(())
}

/// Returns the starting slacks: those of the point, if they are clearly positive.
fn first_slacks(y: &Array1<f64>, point: &ReducedPoint) -> Array1<f64> {
    let mean = point.g.iter().zip(y).map(|(g, y)| (1.0 - g).abs() * y).sum::<f64>() / y.sum();
    let min_slack = mean.max(1e-12);
    point.g.mapv(|g| (1.0 - g).max(min_slack))
}

/// `H + diag(z/y)`, factored.
struct System<'a> {
    columns: &'a Array2<f64>,
    /// The diagonal of D/(p+1).
    curvature: Array1<f64>,
    /// y/z.
    ratio: Array1<f64>,
    factor: SpdFactor,
    /// Whether the factor is of the order of the cells.
    direct: bool,
}

impl<'a> System<'a> {
    fn at(
        reduced: &'a Reduced,
        y: &Array1<f64>,
        z: &Array1<f64>,
        point: &ReducedPoint,
    ) -> Result<Self> {
        let power = 1.0 / (reduced.exponent + 1.0);
        let columns = &reduced.columns;
        let (queries, cells) = columns.dim();
        let curvature = Array1::from_shape_fn(queries, |i| {
            power * reduced.roots[i] / point.s[i].powf(1.0 + power)
        });
        let ratio = y / z;
        let direct = cells <= queries;
        let mut matrix = if direct {
            let scaled = columns * &curvature.mapv(f64::sqrt).insert_axis(Axis(1));
            lower_gram_of(scaled.view())
        } else {
            let scaled = columns * &ratio.mapv(f64::sqrt);
            lower_gram_of(scaled.t())
        };
        let diagonal = if direct { &ratio } else { &curvature };
        for (i, d) in diagonal.iter().enumerate() {
            matrix[[i, i]] += d.recip();
        }
        Ok(System { columns, curvature, ratio, factor: SpdFactor::of(matrix.view())?, direct })
    }

    /// Returns `H x`.
    fn curve(&self, x: &Array1<f64>) -> Array1<f64> {
        self.columns.t().dot(&(self.columns.dot(x) * &self.curvature))
    }

    /// Solves `(H + diag(z/y)) x = right`.
    fn solve(&self, right: &Array1<f64>) -> Result<Array1<f64>> {
        if self.direct {
            return Ok(self.factor.solve(right)?);
        }
        let scaled = &self.ratio * right;
        let inner = self.factor.solve(&self.columns.dot(&scaled))?;
        Ok(&scaled - &(&self.ratio * &self.columns.t().dot(&inner)))
    }
}
