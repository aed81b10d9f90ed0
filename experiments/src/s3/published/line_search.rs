//! Line search with guaranteed decrease (Moré and Thuente).

use matmech::Result;

/// Lower extrapolation factor while no minimiser is bracketed.
const NEAREST: f64 = 1.1;

/// Upper extrapolation factor while no minimiser is bracketed.
const FARTHEST: f64 = 4.0;

/// The share by which two updates must shrink the bracket, and how far into it an extrapolation may
/// go.
const SHRINKAGE: f64 = 0.66;

/// No step is longer.
const LONGEST: f64 = 1e10;

/// A step along a ray with the value φ and the slope φ' there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    pub step: f64,
    pub value: f64,
    pub slope: f64,
}

/// Finds a step with `φ(t) <= φ(0) + μ t φ'(0)` and `|φ'(t)| <= η |φ'(0)|`.
///
/// Safeguarded cubic and quadratic interpolation in an interval that holds such steps; until one of
/// them is known to lie ahead, on `ψ(t) = φ(t) − φ(0) − μ t φ'(0)`. *Requirements*: φ'(0) < 0.
/// *Reference*: J. J. Moré and D. J. Thuente, Line search algorithms with guaranteed sufficient
/// decrease, ACM TOMS 20 (1994); the letters μ, η are theirs.
#[derive(Debug, Clone, Copy)]
pub struct LineSearch {
    /// μ.
    pub decrease: f64,
    /// η.
    pub curvature: f64,
    /// A bracket of this relative width is as good as a step in it.
    pub width: f64,
    /// Most evaluations of φ.
    pub evaluations: usize,
}

impl LineSearch {
    /// The accepted step, or `None` if the evaluations do not suffice. `evaluate` returns φ and φ'
    /// and is last called for the step that is returned.
    ///
    /// # Errors
    /// Those of `evaluate`.
    pub fn search(
        &self,
        origin: Evaluation,
        first: f64,
        mut evaluate: impl FnMut(f64) -> Result<(f64, f64)>,
    ) -> Result<Option<Evaluation>> {
        let required = self.decrease * origin.slope;
        let relative = |t: Evaluation| Evaluation {
            value: t.value - required * t.step,
            slope: t.slope - required,
            ..t
        };
        let mut interval = Interval { best: origin, other: origin, closed: false };
        let mut bounds = (0.0, first + FARTHEST * first);
        let mut widths = (2.0 * LONGEST, LONGEST);
        let mut ahead = false;
        let mut step = first.min(LONGEST);
        for _ in 0..self.evaluations {
            let (value, slope) = evaluate(step)?;
            let trial = Evaluation { step, value, slope };
            let decreased = value <= origin.value + required * step;
            ahead |= decreased && slope >= 0.0;
            let flat = slope.abs() <= self.curvature * -origin.slope;
            let at_end = step == LONGEST && decreased && slope <= required;
            if (decreased && flat) || at_end || interval.exhausted(step, bounds, self.width) {
                return Ok(Some(trial));
            }
            step = if !ahead && value <= interval.best.value && !decreased {
                interval.update(trial, bounds, relative)
            } else {
                interval.update(trial, bounds, |t| t)
            };
            let (best, other) = (interval.best.step, interval.other.step);
            if interval.closed {
                if (other - best).abs() >= SHRINKAGE * widths.0 {
                    step = best + 0.5 * (other - best);
                }
                widths = (widths.1, (other - best).abs());
                bounds = (best.min(other), best.max(other));
            } else {
                bounds = (step + NEAREST * (step - best), step + FARTHEST * (step - best));
            }
            step = step.clamp(0.0, LONGEST);
            if interval.exhausted(step, bounds, self.width) {
                step = best;
            }
        }
        Ok(None)
    }
}

/// An interval between the best step so far and another one; closed once it brackets a minimiser.
struct Interval {
    best: Evaluation,
    other: Evaluation,
    closed: bool,
}

impl Interval {
    /// Whether no step strictly inside can be told from the ends.
    fn exhausted(&self, step: f64, (low, high): (f64, f64), width: f64) -> bool {
        self.closed && (step <= low || step >= high || high - low <= width * high)
    }

    /// Takes a trial into the interval, and the next step: the four cases of the paper's Sec. 4,
    /// for φ or ψ as `view` says.
    fn update(
        &mut self,
        trial: Evaluation,
        (low, high): (f64, f64),
        view: impl Fn(Evaluation) -> Evaluation,
    ) -> f64 {
        let (best, other, new) = (view(self.best), view(self.other), view(trial));
        let turned = new.slope * best.slope.signum() < 0.0;
        let cubic = || new.step + cubic_minimiser(new, best) * (best.step - new.step);
        let secant = || new.step + new.slope / (new.slope - best.slope) * (best.step - new.step);
        let next = if new.value > best.value {
            // Higher: a minimiser lies between. The cubic, moved half-way to the quadratic if that
            // is farther off.
            let cubic = best.step + cubic_minimiser(best, new) * (new.step - best.step);
            let mean_slope = (best.value - new.value) / (new.step - best.step);
            let quadratic =
                best.step + best.slope / (mean_slope + best.slope) / 2.0 * (new.step - best.step);
            self.closed = true;
            let cubic_is_nearer = (cubic - best.step).abs() < (quadratic - best.step).abs();
            if cubic_is_nearer { cubic } else { cubic + (quadratic - cubic) / 2.0 }
        } else if turned {
            // Lower, and the slope has changed its sign: again one lies between.
            self.closed = true;
            let (cubic, secant) = (cubic(), secant());
            if (cubic - new.step).abs() > (secant - new.step).abs() { cubic } else { secant }
        } else if new.slope.abs() < best.slope.abs() {
            // Lower and flatter: the cubic may have no minimiser, or one on the wrong side.
            let limit = if new.step > best.step { high } else { low };
            let ratio = cubic_minimiser(new, best);
            let cubic = if ratio < 0.0 { new.step + ratio * (best.step - new.step) } else { limit };
            let secant = secant();
            let cubic_is_nearer = (cubic - new.step).abs() < (secant - new.step).abs();
            if self.closed {
                let chosen = if cubic_is_nearer { cubic } else { secant };
                let most = new.step + SHRINKAGE * (other.step - new.step);
                if new.step > best.step { chosen.min(most) } else { chosen.max(most) }
            } else {
                let cubic_is_farther = (cubic - new.step).abs() > (secant - new.step).abs();
                (if cubic_is_farther { cubic } else { secant }).min(high).max(low)
            }
        } else if self.closed {
            // Lower and no flatter: the minimiser lies towards the other end.
            new.step + cubic_minimiser(new, other) * (other.step - new.step)
        } else if new.step > best.step {
            high
        } else {
            low
        };
        if new.value > best.value {
            self.other = trial;
        } else {
            if turned {
                self.other = self.best;
            }
            self.best = trial;
        }
        next
    }
}

/// The minimiser of the cubic with the values and slopes of `a` and `b`: its place as a share of
/// the way from a to b, positive infinity if the cubic has none.
fn cubic_minimiser(a: Evaluation, b: Evaluation) -> f64 {
    let theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
    let scale = theta.abs().max(a.slope.abs()).max(b.slope.abs());
    let discriminant = (theta / scale).powi(2) - a.slope / scale * (b.slope / scale);
    if discriminant <= 0.0 {
        return f64::INFINITY;
    }
    let root = scale * discriminant.sqrt() * (b.step - a.step).signum();
    (root - a.slope + theta) / (root - a.slope + root + b.slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First steps, and the evaluations and accepted steps that Moré and Thuente's Tables I and II
    /// state for them.
    fn check(mu: f64, eta: f64, phi: impl Fn(f64) -> (f64, f64), table: [(f64, usize, f64); 4]) {
        let (value, slope) = phi(0.0);
        let origin = Evaluation { step: 0.0, value, slope };
        for (first, expected, accepted) in table {
            let search = LineSearch { decrease: mu, curvature: eta, width: 1e-10, evaluations: 20 };
            let mut evaluations = 0;
            let found = search.search(origin, first, |t| {
                evaluations += 1;
                Ok(phi(t))
            });
            let found = found.unwrap().unwrap();
            assert_eq!(evaluations, expected, "first step {first}");
            // The tables print two digits.
            let printed: f64 = format!("{:.1e}", found.step).parse().unwrap();
            assert_eq!(printed, accepted, "first step {first}: {}", found.step);
            assert!(
                found.value <= value + mu * found.step * slope
                    && found.slope.abs() <= eta * slope.abs()
            );
            assert_eq!(phi(found.step), (found.value, found.slope));
        }
    }

    #[test]
    fn the_papers_first_function() {
        let phi = |t: f64| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2));
        check(1e-3, 0.1, phi, [(1e-3, 6, 1.4), (1e-1, 3, 1.4), (1e1, 1, 10.0), (1e3, 4, 37.0)]);
    }

    #[test]
    fn the_papers_second_function() {
        let phi = |t: f64| {
            let s = t + 0.004;
            (s.powi(5) - 2.0 * s.powi(4), 5.0 * s.powi(4) - 8.0 * s.powi(3))
        };
        check(0.1, 0.1, phi, [(1e-3, 12, 1.6), (1e-1, 8, 1.6), (1e1, 8, 1.6), (1e3, 11, 1.6)]);
    }

    #[test]
    fn gives_up_after_the_allowed_evaluations() {
        let search = LineSearch { decrease: 0.1, curvature: 0.1, width: 1e-10, evaluations: 3 };
        let origin = Evaluation { step: 0.0, value: 0.0, slope: -1.0 };
        let mut evaluations = 0;
        // Falls without end: no step is flat enough.
        let found = search.search(origin, 1.0, |t| {
            evaluations += 1;
            Ok((-t, -1.0))
        });
        assert_eq!((found.unwrap(), evaluations), (None, 3));
    }

    #[test]
    fn comes_back_from_where_the_function_does_not_exist() {
        // Beyond 2 a high plateau without slope, as an objective reports points that it cannot
        // evaluate.
        let phi =
            |t: f64| if t > 2.0 { (100.0, 0.0) } else { ((t - 1.0).powi(2), 2.0 * (t - 1.0)) };
        let search = LineSearch { decrease: 1e-3, curvature: 0.9, width: 0.1, evaluations: 20 };
        let found =
            search.search(Evaluation { step: 0.0, value: 1.0, slope: -2.0 }, 5.0, |t| Ok(phi(t)));
        let found = found.unwrap().unwrap();
        assert!(found.step < 2.0 && found.value < 1.0, "{found:?}");
    }
}
