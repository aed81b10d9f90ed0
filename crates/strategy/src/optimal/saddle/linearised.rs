//! The Newton step of weights, slacks and measures at a point of the central path.

use ndarray::{Array1, Array2, Axis, Slice};

use super::coupling::Coupling;
use super::moving_rows::{MovingRows, PathPoint, Spectra};
use crate::error::{Error, Result};
use crate::optimal::joint_interior_point::conjugate_gradients;
use crate::optimal::newton::{
    COARSE_STEP, nearly_inverse, pair_weights, product, sums_of_exponentials,
};
use matmech_linalg as linalg;

/// Maximum number of cells on which H is formed.
const MAX_FORMED: usize = 1600;

/// Minimum `μ_c H_cc / z_c` of the cells on which H is formed if it is not formed on all.
const MIN_COUPLING: f64 = 1e-2;

/// Relative residual of the systems if H is not formed on all cells.
const PRECISION: f64 = 1e-2;

/// Maximum number of conjugate-gradient steps.
const MAX_STEPS: usize = 60;

/// A problem at a point, linearised in weights, slacks and measures.
#[derive(Debug)]
pub struct Linearised {
    /// `∂²/∂ν² 2 tr K^½ + Cᵀ S⁻¹ C` with `S = H + diag(z/μ)`, parameters × parameters.
    ///
    /// S is limited to the cells on which H is formed.
    pub hessian: Array2<f64>,
    /// `Cᵀ S⁻¹ (τ/μ − (1 − v))`: the change of the derivative by ν due to the weights.
    pub right: Array1<f64>,
    coupling: Coupling,
    spectra: Spectra,
    barrier: Array1<f64>,
    /// `τ/μ − (1 − v)`.
    cell_right: Array1<f64>,
    /// The cells on which H is formed, in ascending order.
    formed: Vec<usize>,
    /// `S⁻¹` on these cells if they are not all; else `S⁻¹ (C, τ/μ − (1 − v))`.
    solved: Solved,
    /// The inverse of the diagonal of S.
    inverse_diagonal: Array1<f64>,
}

#[derive(Debug)]
enum Solved {
    All(Array2<f64>),
    Some(Array2<f64>),
}

impl MovingRows<'_> {
    /// Linearises the problem at a point, for the barrier τ.
    ///
    /// *Cost*: about 10·rank·m² flops for H on m cells, m³ for its inverse, rank²·m·parameters for
    /// C, and O(rows²·cells).
    ///
    /// # Errors
    /// S is not positive definite.
    pub fn linearised(
        &self,
        spectra: Spectra,
        point: &PathPoint,
        barrier: f64,
    ) -> Result<Linearised> {
        let mu = &point.mu;
        let coupling = Coupling::of(self, &spectra, mu)?;
        let (s, cells) = (&spectra.s, mu.len());
        let diagonal = diagonal_of_curvature(&spectra);
        let ratio = &point.slack / mu;
        let mut formed: Vec<usize> = (0..cells)
            .filter(|&i| cells <= MAX_FORMED || diagonal[i] > MIN_COUPLING * ratio[i])
            .collect();
        formed.sort_by(|&i, &j| {
            (diagonal[j] / ratio[j]).total_cmp(&(diagonal[i] / ratio[i])).then(i.cmp(&j))
        });
        formed.truncate(MAX_FORMED);
        formed.sort_unstable();
        let y = spectra.y.select(Axis(1), &formed).as_standard_layout().into_owned();
        let mut system = sums_of_exponentials(s, y.view(), COARSE_STEP);
        formed.iter().enumerate().for_each(|(k, &i)| system[[k, k]] += ratio[i]);
        let cell_right = Array1::from_shape_fn(cells, |i| barrier / mu[i] - spectra.residual[i]);
        let parameters = coupling.hessian.nrows();
        let mut right = coupling.rows(&spectra, &formed, &y)?;
        let last = Array1::from_iter(formed.iter().map(|&i| cell_right[i]));
        right
            .append(Axis(1), last.insert_axis(Axis(1)).view())
            .map_err(|e| Error::bug("central path", "one right-hand side per cell", e))?;
        let columns = |solved: &Array2<f64>| {
            linalg::matmul(right.slice_axis(Axis(1), Slice::from(..parameters)).t(), solved.view())
        };
        let (products, solved) = if formed.len() == cells {
            let solved = match linalg::spd_solve(system.view(), right.view()) {
                Ok(solved) => solved,
                Err(_) => linalg::matmul(nearly_inverse(system)?.view(), right.view()),
            };
            (columns(&solved), Solved::All(solved))
        } else {
            let inverse = nearly_inverse(system)?;
            (columns(&linalg::matmul(inverse.view(), right.view())), Solved::Some(inverse))
        };
        let schur = products.slice_axis(Axis(1), Slice::from(..parameters));
        Ok(Linearised {
            hessian: &coupling.hessian + &schur,
            right: products.column(parameters).to_owned(),
            coupling,
            spectra,
            cell_right,
            formed,
            solved,
            inverse_diagonal: (&diagonal + &ratio).mapv(f64::recip),
            barrier: ratio,
        })
    }
}

impl Linearised {
    /// Returns the steps of weights and slacks for a step of the measures.
    ///
    /// If H is not formed on all cells, conjugate gradients with the formed part as preconditioner:
    /// O(rows² · cells) time per step.
    ///
    /// # Errors
    /// S is not positive definite in floating point.
    pub fn step(
        &self,
        point: &PathPoint,
        measures: &Array1<f64>,
    ) -> Result<(Array1<f64>, Array1<f64>)> {
        let Spectra { s, y, residual, .. } = &self.spectra;
        let moved = self.coupling.directional(&self.spectra, measures);
        let dmu = match &self.solved {
            Solved::All(solved) => {
                let parameters = measures.len();
                let by_measures = solved.slice_axis(Axis(1), Slice::from(..parameters));
                by_measures.dot(measures) + solved.column(parameters)
            }
            Solved::Some(inverse) => {
                let precondition = |r: &Array1<f64>| {
                    let mut out = r * &self.inverse_diagonal;
                    let formed = Array1::from_iter(self.formed.iter().map(|&i| r[i]));
                    // The inverse is symmetric and stored by columns.
                    let exact = inverse.t().dot(&formed);
                    self.formed.iter().zip(exact).for_each(|(&i, x)| out[i] = x);
                    out
                };
                let system = |x: &Array1<f64>| product(s, y.view(), x) + &self.barrier * x;
                let right = &self.cell_right + &moved;
                conjugate_gradients(system, precondition, right, PRECISION, MAX_STEPS).ok_or_else(
                    || Error::DidNotConverge { what: "central path".into(), order: y.ncols() },
                )?
            }
        };
        let dslack = residual + &product(s, y.view(), &dmu) - &moved - &point.slack;
        Ok((dmu, dslack))
    }
}

/// Returns the diagonal of H.
fn diagonal_of_curvature(spectra: &Spectra) -> Array1<f64> {
    let Spectra { s, y, .. } = spectra;
    let squares = y * y;
    (linalg::matmul(pair_weights(s).view(), squares.view()) * &squares).sum_axis(Axis(0))
}
