//! The sensitivity of one pattern: a semidefinite program with a certified dual.

use ndarray::{Array1, Array2, ArrayView2};

use crate::error::Result;
use matmech_linalg as linalg;

/// Off-diagonal entries of X up to this share of `√(X_ss X_tt)` count as zero.
pub(super) const ORTHOGONAL: f64 = 1e-12;

/// Maximum number of sweeps over the steps.
const MAX_SWEEPS: usize = 4000;

/// Number of sweeps between two evaluations of the bounds.
const STRIDE: usize = 20;

/// Relative difference of the bounds at which the sweeps stop.
const TOLERANCE: f64 = 1e-10;

/// Bounds on the largest `Σ X_st ⟨u_s, u_t⟩` over unit vectors u.
#[derive(Debug, Clone)]
pub struct PatternSensitivity {
    /// The value of the vectors found.
    pub lower: f64,
    /// `Σ v` of `dual`.
    pub upper: f64,
    /// v with `diag(v) ⪰ X`.
    pub dual: Array1<f64>,
}

/// Bounds the squared sensitivity of a pattern with Gram matrix X, k × k.
///
/// Coordinate ascent on vectors of dimension k (Burer and Monteiro): `u_s` becomes the direction of
/// `Σ_{t≠s} X_st u_t`. With `v_s = ‖Σ_t X_st u_t‖` the dual is `v + max(0, −λ_min(diag(v) − X))`,
/// feasible whatever the vectors are. If X is diagonal, both bounds are its trace. O(k³) per sweep.
///
/// # Errors
/// The eigensolver fails.
pub fn pattern_sensitivity(gram: ArrayView2<'_, f64>) -> Result<PatternSensitivity> {
    let k = gram.nrows();
    let diagonal = gram.diag().to_owned();
    let orthogonal = gram.indexed_iter().all(|((s, t), x)| {
        s == t || x.abs() <= ORTHOGONAL * (diagonal[s] * diagonal[t]).max(0.0).sqrt()
    });
    if orthogonal {
        // The entries that count as zero: diag(v) ⪰ X for the sums of absolute values of the rows.
        let dual = gram.map_axis(ndarray::Axis(1), |row| row.iter().map(|x| x.abs()).sum::<f64>());
        return Ok(PatternSensitivity { lower: diagonal.sum(), upper: dual.sum(), dual });
    }
    // The columns of the identity with equal signs would be a saddle point.
    let mut vectors = Array2::from_shape_fn((k, k), |(s, d)| {
        1.0 / k as f64 + if s == d { 0.5 } else { 0.0 } + 0.01 * ((3 * s + 5 * d) as f64).sin()
    });
    vectors.rows_mut().into_iter().for_each(|mut row| {
        let norm = row.dot(&row).sqrt();
        row /= norm;
    });
    let mut best: Option<PatternSensitivity> = None;
    for sweep in 1..=MAX_SWEEPS {
        for s in 0..k {
            let mut direction = gram.row(s).dot(&vectors);
            direction.scaled_add(-gram[[s, s]], &vectors.row(s));
            let norm = direction.dot(&direction).sqrt();
            if norm > 0.0 {
                vectors.row_mut(s).assign(&(direction / norm));
            }
        }
        if sweep % STRIDE == 0 || sweep == 1 {
            let found = bounds(gram, &vectors)?;
            let lower = best.as_ref().map_or(0.0, |b| b.lower).max(found.lower);
            let mut tightest = match best {
                Some(best) if best.upper <= found.upper => best,
                _ => found,
            };
            tightest.lower = lower;
            let near = tightest.upper <= lower * (1.0 + TOLERANCE);
            best = Some(tightest);
            if near {
                break;
            }
        }
    }
    match best {
        Some(best) => Ok(best),
        None => bounds(gram, &vectors),
    }
}

/// Returns the value and the dual of unit vectors, one per row.
fn bounds(gram: ArrayView2<'_, f64>, vectors: &Array2<f64>) -> Result<PatternSensitivity> {
    let images = linalg::matmul(gram, vectors.view());
    let lower = (&images * vectors).sum();
    let mut dual = images.map_axis(ndarray::Axis(1), |row| row.dot(&row).sqrt());
    let slack = Array2::from_diag(&dual) - gram;
    let smallest = linalg::eigvalsh(slack.view())?.iter().copied().fold(f64::INFINITY, f64::min);
    // The rounding error of the eigenvalue is added.
    let rounding = 1e-15 * dual.len() as f64 * dual.iter().copied().fold(0.0, f64::max);
    dual += (rounding - smallest).max(0.0);
    Ok(PatternSensitivity { lower, upper: dual.sum(), dual })
}
