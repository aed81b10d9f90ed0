//! The update of one factor: a posterior mode.
//!
//! The prior is the cavity (the rest of the model), and the evidence is a noisy marginal.

/// Minimum cavity cell in records, so that cells that the model gives zero can become positive.
const MIN_CAVITY_CELL: f64 = 1e-3;

/// Number of shift steps of the update of a marginal next to the model.
pub(super) const SHIFT_STEPS: usize = 3;

/// Maximum steps of a projection.
const PROJECTION_STEPS: usize = 50;

/// Minimum of u = ln(v/q).
const MIN_EXPONENT: f64 = -20.0;

/// Minimum slope of the total with respect to the shift.
const MIN_SLOPE: f64 = 0.3;

/// Maximum number of Newton steps per cell and solve.
///
/// The function is convex and increasing and the start is right of the root, so every step comes
/// closer. The iteration stops early when a step is below the rounding error.
const MAX_NEWTON_STEPS: usize = 6;

/// The evidence on one marginal.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The estimated cells y.
    pub target: &'a [f64],
    /// The variance s² of every cell.
    pub variance: f64,
    /// The prior standard deviation τ of ln(v/q).
    pub width: f64,
}

/// The posterior marginal v for the cavity q and the evidence y.
///
/// For a fixed shift c every cell solves `e^u + b u = a` with `u = ln(v/q)`, `a = (y − c)/q`,
/// `b = s²/(τ²q²)`, by Newton steps from `(a − 1)/(1 + b)`, or from `ln a` if a > 1 and that is
/// smaller; `u ≥ −20`. These are the stationary points of the convex
///
/// `Σ (v − y)²/2 + Σ s²/(τ²q) (v ln(v/q) − v) + c Σ v`,
///
/// so c is the multiplier of Σv = Σq. One step of it is
/// `c ← c + (Σv − Σq)/max(0.3, Σ e^u/(e^u + b))`. Cells of `q` below 10⁻³ records are raised to it.
/// O(cells).
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// ln(v/q) of the last pass, the warm start of Newton's method.
    exponents: Vec<f64>,
    /// The new marginal v.
    pub values: Vec<f64>,
}

/// Raises every cell of a cavity to at least 10⁻³ records.
pub(super) fn raise_to_minimum(cavity: &mut [f64]) {
    cavity.iter_mut().for_each(|q| *q = q.max(MIN_CAVITY_CELL));
}

/// Returns whether an estimate v fits the evidence: `Σ (v − y)²/s² ≤ n + 3√(2n)` for n cells.
///
/// For the true marginal, the sum has mean n and standard deviation √(2n).
pub(super) fn fits(values: &[f64], target: &[f64], variance: f64) -> bool {
    let cells = values.len() as f64;
    let sum: f64 = values.iter().zip(target).map(|(v, y)| (v - y).powi(2)).sum();
    sum <= variance * (cells + 3.0 * (2.0 * cells).sqrt())
}

impl Update {
    /// Sets v to the nearest point of y with v ≥ 0 and the given sum: v = max(y − c, 0).
    ///
    /// c is found from below by Newton steps, which are exact once the positive cells are known.
    pub fn project(&mut self, target: &[f64], total: f64) {
        let mut shift = f64::NEG_INFINITY;
        for _ in 0..PROJECTION_STEPS {
            let positive = target.iter().filter(|y| **y > shift);
            let (sum, count) = positive.fold((0.0, 0.0), |(sum, n), y| (sum + y, n + 1.0));
            let next = (sum - total) / f64::max(count, 1.0);
            if next <= shift {
                break;
            }
            shift = next;
        }
        self.values.clear();
        self.values.extend(target.iter().map(|y| (y - shift).max(0.0)));
    }

    /// Computes v after `shifts` steps of the shift, from the given shift, and updates the shift.
    ///
    /// Cells of the cavity must be at least 10⁻³. `total` is the desired sum of v.
    pub fn solve(
        &mut self,
        cavity: &[f64],
        evidence: Evidence<'_>,
        total: f64,
        shifts: usize,
        shift: &mut f64,
    ) {
        self.exponents.clear();
        self.values.clear();
        self.values.resize(cavity.len(), 0.0);
        let (mut sum, mut slope) = self.pass(cavity, evidence, *shift);
        for _ in 0..shifts {
            *shift += (sum - total) / slope.max(MIN_SLOPE);
            (sum, slope) = self.pass(cavity, evidence, *shift);
        }
    }

    /// Computes v without a shift, scaled to the total.
    pub fn rescaled(&mut self, cavity: &[f64], evidence: Evidence<'_>, total: f64) {
        self.solve(cavity, evidence, total, 0, &mut 0.0);
        let sum: f64 = self.values.iter().sum();
        if sum > 0.0 {
            self.values.iter_mut().for_each(|v| *v *= total / sum);
        }
    }

    /// Solves every cell for one shift and returns Σv and Σ e^u/(e^u + b).
    fn pass(&mut self, cavity: &[f64], evidence: Evidence<'_>, shift: f64) -> (f64, f64) {
        let first = self.exponents.is_empty();
        self.exponents.resize(cavity.len(), 0.0);
        let ratio = evidence.variance / (evidence.width * evidence.width);
        let (mut sum, mut slope) = (0.0, 0.0);
        let cells =
            cavity.iter().zip(evidence.target).zip(&mut self.exponents).zip(&mut self.values);
        for (((&q, &y), u), v) in cells {
            let inverse = 1.0 / q;
            let (a, b) = ((y - shift) * inverse, ratio * inverse * inverse);
            let start = if first { f64::INFINITY } else { *u };
            let (solved, exponential) = root(a, b, start);
            *u = solved;
            *v = q * exponential;
            sum += *v;
            slope += exponential / (exponential + b);
        }
        (sum, slope)
    }
}

/// Returns u with e^u + b u = a, and e^u; starts from a finite `start`, or right of the root.
fn root(a: f64, b: f64, start: f64) -> (f64, f64) {
    // e^u ≥ 1 + u, so the root is at most (a − 1)/(1 + b), and at most ln a if that is positive.
    let bound = || match (a - 1.0) / (1.0 + b) {
        tangent if a > 1.0 => tangent.min(a.ln()),
        tangent => tangent,
    };
    let mut u = if start.is_finite() { start } else { bound().max(MIN_EXPONENT) };
    let mut exponential = u.exp();
    for _ in 0..MAX_NEWTON_STEPS {
        let before = u;
        u -= (exponential + b * u - a) / (exponential + b);
        // A step from the left may overshoot the root.
        if u > before {
            u = u.min(bound());
        }
        u = u.max(MIN_EXPONENT);
        let change = u - before;
        if change.abs() < 1e-7 {
            // e^change to second order.
            exponential *= 1.0 + change + 0.5 * change * change;
            break;
        }
        exponential = u.exp();
    }
    (u, exponential)
}
