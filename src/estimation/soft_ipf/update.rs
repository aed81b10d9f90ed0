//! The update of one factor: the posterior mode between what the rest of the model says and a noisy
//! marginal.

/// A cavity cell is at least this many records: what the model calls impossible may come back.
const SMALLEST_CELL: f64 = 1e-3;

/// u = ln(v/q) is at least this.
const LOWEST: f64 = -20.0;

/// The least slope of the total against the shift.
const LEAST_SLOPE: f64 = 0.3;

/// Newton steps per cell and solve. The function is convex and increasing and the start lies right
/// of the root, so that every step comes closer; it ends early where a step is below the rounding.
const NEWTON_STEPS: usize = 6;

/// What is known of one marginal: a noisy estimate, the variance of its cells, and how far the
/// model is trusted.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// y: the estimated cells.
    pub target: &'a [f64],
    /// s²: the variance of each.
    pub variance: f64,
    /// τ: the standard deviation of ln(v/q) before y is seen.
    pub width: f64,
}

/// The marginal v that lies between the cavity q and the evidence y, and the slope of Σv against
/// the shift.
///
/// For a fixed shift c every cell solves `e^u + b u = a` with `u = ln(v/q)`, `a = (y − c)/q`,
/// `b = s²/(τ²q²)`, by Newton steps from `(a − 1)/(1 + b)`, or from `ln a` if a > 1 and that is
/// smaller; `u ≥ −20`. These are the stationary points of the convex
///
/// `Σ (v − y)²/2 + Σ s²/(τ²q) (v ln(v/q) − v) + c Σ v`,
///
/// so c is the multiplier of Σv = Σq; one step of it is
/// `c ← c + (Σv − Σq)/max(0.3, Σ e^u/(e^u + b))`. `q` is raised to 10⁻³ records where it is below.
/// O(cells).
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// ln(v/q), kept between solves: where Newton's method starts.
    exponents: Vec<f64>,
    /// v, the new marginal.
    pub values: Vec<f64>,
}

/// The cavity as it is used: at least 10⁻³ records in every cell.
pub(super) fn floored(cavity: &mut [f64]) {
    cavity.iter_mut().for_each(|q| *q = q.max(SMALLEST_CELL));
}

impl Update {
    /// v for a floored cavity, after `shifts` steps of the shift that start from the given one, and
    /// the last shift. `total` is what v should add up to.
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
            *shift += (sum - total) / slope.max(LEAST_SLOPE);
            (sum, slope) = self.pass(cavity, evidence, *shift);
        }
    }

    /// v without a shift, scaled to the total.
    pub fn rescaled(&mut self, cavity: &[f64], evidence: Evidence<'_>, total: f64) {
        self.solve(cavity, evidence, total, 0, &mut 0.0);
        let sum: f64 = self.values.iter().sum();
        if sum > 0.0 {
            self.values.iter_mut().for_each(|v| *v *= total / sum);
        }
    }

    /// Solves every cell for one shift: Σv and Σ e^u/(e^u + b).
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

/// u with e^u + b u = a, and e^u; from a start, or from the bound that lies right of the root.
fn root(a: f64, b: f64, start: f64) -> (f64, f64) {
    // e^u ≥ 1 + u, so the root is at most (a − 1)/(1 + b); and at most ln a, if that is positive.
    let bound = || match (a - 1.0) / (1.0 + b) {
        tangent if a > 1.0 => tangent.min(a.ln()),
        tangent => tangent,
    };
    let mut u = if start.is_finite() { start } else { bound().max(LOWEST) };
    let mut exponential = u.exp();
    for _ in 0..NEWTON_STEPS {
        let before = u;
        u -= (exponential + b * u - a) / (exponential + b);
        // From the left a step may go far beyond the root.
        if u > before {
            u = u.min(bound());
        }
        u = u.max(LOWEST);
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
