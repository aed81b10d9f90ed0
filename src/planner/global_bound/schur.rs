//! Traces of square roots of matrices with a large diagonal block.
//!
//! ```text
//! K = [[A, Bᵀ], [B, D]], D diagonal:
//! tr √K = Σ √D + (2/π) ∫₀^∞ [ n_A − x² tr(S⁻¹ (I + Bᵀ(D+x²)⁻²B)) ] dx,   S = A + x² − Bᵀ(D+x²)⁻¹B
//! ```
//!
//! With x = eᵗ the trapezoidal rule converges as e^(−π²/h) in its step h. The integrand is
//! positive, because the eigenvalues of D interlace with those of K. So truncation at both ends
//! underestimates the trace, and a lower bound remains valid.

use ndarray::Array2;

use super::axis::{Axis, ByAxis};
use matmech_linalg as linalg;

/// The range of x, in units of the largest singular value.
const RANGE: (f64, f64) = (1e-7, 1e8);

/// A row of B with its entry of D, for the pair of basis vectors a of axis i and b of axis j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Couple {
    /// i and a.
    pub first: (usize, usize),
    /// j and b.
    pub second: (usize, usize),
    /// The columns of the entries `α₀ s_a s_b`, `α₁ w_a s_b` and `α₂ s_a w_b`.
    pub columns: [usize; 3],
    /// α.
    pub alpha: [f64; 3],
    /// `D = δ w_a w_b`.
    pub delta: f64,
}

/// The step of the quadrature in t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step(pub f64);

/// The trace of √K, its error and its derivative.
#[derive(Debug, Clone)]
pub(super) struct RootTrace {
    /// The trace.
    pub trace: f64,
    /// The absolute difference to the trace with twice the step.
    pub error: f64,
    /// The derivative by A, symmetric.
    pub by_a: Option<Array2<f64>>,
}

/// The values of a row of B and its entry of D.
struct Row {
    columns: [usize; 3],
    b: [f64; 3],
    d: f64,
}

/// Computes tr √K by quadrature.
///
/// The error comes from every second node. If `by` is given, adds the derivatives times a
/// multiplicity to it. O(nodes · (n_A³ + rows)) time.
pub(super) fn root_trace(
    a: &Array2<f64>,
    couples: &[Couple],
    axes: &[Axis],
    step: Step,
    by: Option<(&mut [ByAxis], f64)>,
) -> RootTrace {
    let rows: Vec<Row> = couples.iter().map(|couple| row(couple, axes)).collect();
    let n = a.nrows();
    let largest = a.diag().sum() + rows.iter().map(|r| r.d).sum::<f64>();
    // The largest eigenvalue is at least the largest diagonal entry and at most the trace.
    let unit = a.diag().iter().copied().chain(rows.iter().map(|r| r.d)).fold(0.0, f64::max).sqrt();
    let nodes = ((RANGE.1 / RANGE.0 * (largest.sqrt() / unit)).ln() / step.0).ceil() as usize;
    let (mut fine, mut coarse) = (0.0, 0.0);
    let mut by_a = by.is_some().then(|| Array2::<f64>::zeros((n, n)));
    let mut by_rows = vec![([0.0; 3], 0.0); if by.is_some() { rows.len() } else { 0 }];
    for node in 0..=nodes {
        let x = RANGE.0 * unit * (step.0 * node as f64).exp();
        let weight = 2.0 / std::f64::consts::PI * step.0 * x;
        let square = x * x;
        // Below the range the derivative's integrand is constant: the omitted nodes are a geometric
        // series.
        let slope = if node == 0 { weight / (1.0 - (-step.0).exp()) } else { weight };
        let mut reduced = a.clone();
        for row in &rows {
            let scale = 1.0 / (row.d + square);
            for (p, bp) in row.columns.iter().zip(row.b) {
                for (q, bq) in row.columns.iter().zip(row.b) {
                    reduced[[*p, *q]] -= scale * bp * bq;
                }
            }
        }
        let mut schur = reduced.clone();
        schur.diag_mut().iter_mut().for_each(|s| *s += square);
        // If rounding makes S indefinite, at the low end of singular problems, skip the node. This
        // underestimates the trace.
        let Ok(inverse) = linalg::spd_inverse(schur.view()) else { continue };
        // n_A − x² tr S⁻¹ = tr S⁻¹(S − x²), without the cancellation at large x.
        let mut value = (&inverse * &reduced).sum();
        for (k, row) in rows.iter().enumerate() {
            let image: [f64; 3] = std::array::from_fn(|p| {
                row.columns.iter().zip(row.b).map(|(q, b)| inverse[[row.columns[p], *q]] * b).sum()
            });
            let form: f64 = image.iter().zip(row.b).map(|(x, b)| x * b).sum();
            let scale = 1.0 / (row.d + square);
            value -= square * form * scale * scale;
            if let Some((by_b, by_d)) = by_rows.get_mut(k) {
                by_b.iter_mut().zip(image).for_each(|(sum, x)| *sum -= slope * scale * x);
                *by_d += slope * form * scale * scale / 2.0;
            }
        }
        if let Some(by_a) = &mut by_a {
            by_a.scaled_add(slope / 2.0, &inverse);
        }
        value *= weight;
        fine += value;
        if node % 2 == 0 {
            coarse += 2.0 * value;
        }
    }
    let roots: f64 = rows.iter().map(|r| r.d.sqrt()).sum();
    if let Some((by, multiplicity)) = by {
        for ((couple, row), (by_b, by_d)) in couples.iter().zip(&rows).zip(by_rows) {
            let by_d = if row.d > 0.0 { by_d + 0.5 / row.d.sqrt() } else { 0.0 };
            couple.pull_back(axes, by_b.map(|x| x * multiplicity), by_d * multiplicity, by);
        }
        if let Some(by_a) = &mut by_a {
            *by_a *= multiplicity;
        }
    }
    RootTrace { trace: roots + fine, error: (fine - coarse).abs(), by_a }
}

fn row(couple: &Couple, axes: &[Axis]) -> Row {
    let ((i, a), (j, b)) = (couple.first, couple.second);
    let (sa, wa, sb, wb) = (axes[i].s[a], axes[i].w[a], axes[j].s[b], axes[j].w[b]);
    let [x, y, z] = couple.alpha;
    Row {
        columns: couple.columns,
        b: [x * sa * sb, y * wa * sb, z * sa * wb],
        d: couple.delta * wa * wb,
    }
}

impl Couple {
    fn pull_back(&self, axes: &[Axis], by_b: [f64; 3], by_d: f64, by: &mut [ByAxis]) {
        let ((i, a), (j, b)) = (self.first, self.second);
        let (sa, wa, sb, wb) = (axes[i].s[a], axes[i].w[a], axes[j].s[b], axes[j].w[b]);
        let [x, y, z] = std::array::from_fn(|k| self.alpha[k] * by_b[k]);
        let d = self.delta * by_d;
        by[i].s[a] += x * sb + z * wb;
        by[i].w[a] += y * sb + d * wb;
        by[j].s[b] += x * sa + y * wa;
        by[j].w[b] += z * sa + d * wa;
    }
}
