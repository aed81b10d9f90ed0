//! The squared error of a recurrence with orthogonal columns, and its derivatives.
//!
//! Let C₀ be semiseparable and `S = (FFᵀ)⁻¹`, which couples the steps of a pattern only. Then
//! `C = F⁻¹C₀ diag(1/r)` has the Gram matrix `X = diag(1/r) C₀ᵀSC₀ diag(1/r)`, and prefix sums P
//! have the covariance `U S⁻¹ Uᵀ`, `U = P diag(r) C₀⁻¹`. The diagonal of S is 1 without loss of
//! generality (it scales rows of C₀). Its entries between different steps of a pattern are as many
//! as the conditions `X_st = 0`, s ≠ t, of the patterns, and are determined by them, by one linear
//! system. The squared sensitivity is then the largest `Σ_{s∈π} X_ss`, and r_π makes it 1 for every
//! pattern π. What is left is a smooth function of C₀.
//!
//! The derivative of C₀ through S follows from the transposed linear system, whose solution, with
//! the derivatives by the costs of the patterns on the diagonal, is the dual matrix M up to scale.

use ndarray::Array2;

use super::answers::{Answers, Errors};
use super::columns::Columns;
use super::gmres;
use super::patterns::Blocks;
use super::semiseparable::Semiseparable;
use matmech_linalg as linalg;

/// Maximum number of products of one linear system.
const MAX_PRODUCTS: usize = 120;

/// Root mean square of the inner products of columns, relative to the diagonal of C₀, in a fit.
const ORTHOGONALITY: f64 = 1e-9;

/// Relative residual of the transposed system.
const ADJOINT_TOLERANCE: f64 = 1e-7;

/// The objective of the squared errors e of the queries.
///
/// `η·mean e + (1 − η)·(mean e^q)^{1/q}`, where the second term increases to the maximum with q.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Goal {
    /// η, 1 for the mean.
    pub share: f64,
    /// q.
    pub power: f64,
}

impl Goal {
    /// Returns the value, and the derivatives of its logarithm.
    pub fn value(&self, errors: &[f64]) -> (f64, Vec<f64>) {
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        if self.share == 1.0 {
            return (mean, vec![1.0 / (n * mean); errors.len()]);
        }
        let largest = errors.iter().copied().fold(0.0, f64::max);
        let powers: Vec<f64> = errors.iter().map(|e| (e / largest).powf(self.power)).collect();
        let sum: f64 = powers.iter().sum();
        let norm = largest * (sum / n).powf(1.0 / self.power);
        let value = self.share * mean + (1.0 - self.share) * norm;
        let derivative = |(e, p): (&f64, &f64)| {
            ((1.0 - self.share) * norm * p / (sum * e) + self.share / n) / value
        };
        (value, errors.iter().zip(&powers).map(derivative).collect())
    }
}

impl Errors {
    /// Returns the blocks with given entries above the diagonal.
    fn blocks(&self, above: &[f64], diagonal: f64) -> Blocks {
        Blocks::symmetric(self.count, self.period, above, diagonal)
    }

    /// Returns the reciprocals of `d_s d_t` of the pairs of steps of the patterns.
    fn pivots(&self, diagonal: &[f64]) -> Vec<f64> {
        let mut pivots = Vec::with_capacity(self.count * (self.count - 1) / 2 * self.period);
        for c in 0..self.period {
            for s in (c..diagonal.len()).step_by(self.period) {
                let later = diagonal.iter().skip(s).step_by(self.period).skip(1);
                pivots.extend(later.map(|d| 1.0 / (d * diagonal[s])));
            }
        }
        pivots
    }

    /// Returns the entries of S above the diagonal that make the columns of a pattern orthogonal.
    ///
    /// The root mean square of the inner products of columns s and t of C₀ divided by `d_s d_t` is
    /// at most `tolerance`. `None` if the linear system is not solved.
    pub fn coupling(
        &self,
        columns: &Columns,
        diagonal: &[f64],
        start: Vec<f64>,
        tolerance: f64,
    ) -> Option<Vec<f64>> {
        if self.count == 1 {
            return Some(Vec::new());
        }
        let pivots = self.pivots(diagonal);
        let products = |above: &[f64], one: f64| -> Vec<f64> {
            let gram = columns.gram(&self.blocks(above, one));
            gram.above().iter().zip(&pivots).map(|(x, w)| x * w).collect()
        };
        let zeros = vec![0.0; start.len()];
        let right: Vec<f64> = products(&zeros, 1.0).iter().map(|x| -x).collect();
        let tolerance = tolerance * (right.len() as f64).sqrt();
        gmres::solve(|x| products(x, 0.0), &right, start, tolerance, MAX_PRODUCTS)
    }

    /// Returns the derivative by the Gram matrix of C up to scale: M with given diagonals and such
    /// that the derivative by S is zero.
    ///
    /// The entries of `C₀ M C₀ᵀ` between different steps of a pattern are those of `-by_coupling`.
    /// `None` if the linear system is not solved.
    fn dual(&self, form: &Semiseparable, by_cost: &[f64], by_coupling: &Blocks) -> Option<Blocks> {
        let reversed = Columns::new(&form.reversed(), self.count, self.period);
        let pivots = self.pivots(&form.diagonal);
        let images = |dual: Blocks| reversed.gram(&dual.reversed()).reversed().above();
        let with_diagonal = |mut dual: Blocks| {
            for (c, cost) in by_cost.iter().enumerate() {
                (0..self.count).for_each(|g| dual.row_mut(c, g)[g] = *cost);
            }
            dual
        };
        let known = images(with_diagonal(Blocks::zeros(self.count, self.period)));
        let right: Vec<f64> = (known.iter().zip(by_coupling.above()).zip(&pivots))
            .map(|((x, s), w)| -(x + s) * w)
            .collect();
        let tolerance = ADJOINT_TOLERANCE * right.iter().map(|x| x * x).sum::<f64>().sqrt();
        let start = self.last.borrow().1.clone();
        let apply = |y: &[f64]| -> Vec<f64> {
            images(self.blocks(y, 0.0)).iter().zip(&pivots).map(|(x, w)| x * w).collect()
        };
        let above = gmres::solve(apply, &right, start, tolerance, MAX_PRODUCTS)?;
        let dual = with_diagonal(self.blocks(&above, 0.0));
        self.last.borrow_mut().1 = above;
        Some(dual)
    }

    /// Returns S⁻¹, unless S is not positive definite.
    pub fn inverse_coupling(&self, coupling: &Blocks) -> Option<Blocks> {
        let inverse = |c| linalg::spd_inverse(coupling.block(c).view()).ok();
        let inverses: Option<Vec<Array2<f64>>> = (0..self.period).map(inverse).collect();
        Some(Blocks::of(self.count, &inverses?))
    }

    /// Returns the logarithm of the objective and its derivatives by C₀. O(nkN²) per product of the
    /// linear systems, and O(nN²(N + k)).
    ///
    /// `None` outside the domain: S is not positive definite, or numbers overflow.
    pub fn evaluate(&self, form: &Semiseparable, goal: Goal) -> Option<(f64, Semiseparable)> {
        let (k, b, n) = (self.count, self.period, form.steps());
        let columns = Columns::new(form, k, b);
        let start = self.last.borrow().0.clone();
        let above = self.coupling(&columns, &form.diagonal, start, ORTHOGONALITY)?;
        let coupling = self.blocks(&above, 1.0);
        let inverse = self.inverse_coupling(&coupling)?;
        let gram = columns.gram(&coupling);
        let scale: Vec<f64> = (0..b).map(|c| gram.block(c).diag().sum().sqrt()).collect();
        let answers = Answers::new(self, form, &scale, &inverse);
        let errors = answers.variances();
        if !errors.iter().all(|e| *e > 0.0 && e.is_finite()) {
            return None;
        }
        let (value, by_errors) = goal.value(&errors);
        let mut gradient = Semiseparable::zeros(n, form.rates.len());
        let (by_inverse, by_scale) = answers.add_gradient(&by_errors, &mut gradient);
        let by_cost: Vec<f64> = (0..b)
            .map(|c| by_scale.iter().skip(c).step_by(b).sum::<f64>() / (2.0 * scale[c]))
            .collect();
        let by_coupling = |c| {
            let inverse = inverse.block(c);
            -inverse.dot(&by_inverse.block(c)).dot(&inverse)
        };
        let by_coupling = Blocks::of(k, &(0..b).map(by_coupling).collect::<Vec<_>>());
        let dual = self.dual(form, &by_cost, &by_coupling)?;
        self.last.borrow_mut().0 = above;
        columns.add_gradient(&coupling, &dual, &mut gradient);
        value.is_finite().then_some((value.ln(), gradient))
    }
}

/// Returns the lower triangular factor F with `FFᵀ` the inverse of the positive definite S, as its
/// diagonal δ and the unit triangular `diag(1/δ)F`.
pub(super) fn unit_factor(inverse: &Array2<f64>) -> Option<(Vec<f64>, Array2<f64>)> {
    let mut factor = linalg::cholesky(inverse.view()).ok()?;
    let diagonal = factor.diag().to_vec();
    for (mut row, d) in factor.rows_mut().into_iter().zip(&diagonal) {
        row /= *d;
    }
    Some((diagonal, factor))
}
