//! Line search with sufficient decrease (Moré and Thuente).

use matmech::Result;

/// Minimum extrapolation factor while no minimiser is bracketed.
const MIN_EXTRAPOLATION: f64 = 1.1;

/// Maximum extrapolation factor while no minimiser is bracketed.
const MAX_EXTRAPOLATION: f64 = 4.0;

/// The factor by which two updates must shrink the bracket, and the maximum share of the bracket
/// that an extrapolation covers.
const SHRINKAGE: f64 = 0.66;

/// Maximum step.
const MAX_STEP: f64 = 1e10;

/// A step along a ray, with the value φ and the slope φ' there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    pub step: f64,
    pub value: f64,
    pub slope: f64,
}

/// Finds a step with `φ(t) <= φ(0) + μ t φ'(0)` and `|φ'(t)| <= η |φ'(0)|`.
///
/// The method is safeguarded cubic and quadratic interpolation in an interval with such steps. It
/// uses `ψ(t) = φ(t) − φ(0) − μ t φ'(0)` until a step has `ψ(t) <= 0` and `φ'(t) >= 0`, then φ.
///
/// *Requirements*: φ'(0) < 0.
///
/// *Reference*: J. J. Moré and D. J. Thuente, Line search algorithms with guaranteed sufficient
/// decrease, ACM TOMS 20 (1994); μ and η are in their notation.
#[derive(Debug, Clone, Copy)]
pub struct LineSearch {
    /// μ.
    pub decrease: f64,
    /// η.
    pub curvature: f64,
    /// Relative width of a bracket at which the search stops.
    pub width: f64,
    /// Maximum number of evaluations of φ.
    pub evaluations: usize,
}

impl LineSearch {
    /// Returns the accepted step, or `None` after the maximum number of evaluations.
    ///
    /// `evaluate` returns φ and φ'. Its last call is for the returned step.
    ///
    /// # Errors
    /// Returns the errors of `evaluate`.
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
        let mut interval = Interval::new(origin, first);
        let mut second_stage = false;
        let mut step = first.min(MAX_STEP);
        for _ in 0..self.evaluations {
            let (value, slope) = evaluate(step)?;
            let trial = Evaluation { step, value, slope };
            let decreased = value <= origin.value + required * step;
            second_stage |= decreased && slope >= 0.0;
            let flat = slope.abs() <= self.curvature * -origin.slope;
            let at_end = step == MAX_STEP && decreased && slope <= required;
            if (decreased && flat) || at_end || interval.exhausted(step, self.width) {
                return Ok(Some(trial));
            }
            let minimiser = if !second_stage && value <= interval.best.value && !decreased {
                interval.update(trial, relative)
            } else {
                interval.update(trial, |t| t)
            };
            step = interval.safeguarded(minimiser).clamp(0.0, MAX_STEP);
            if interval.exhausted(step, self.width) {
                step = interval.best.step;
            }
        }
        Ok(None)
    }
}

/// An interval between the best step and another step; closed once it brackets a minimiser.
struct Interval {
    best: Evaluation,
    other: Evaluation,
    closed: bool,
    /// Smallest and largest next step.
    bounds: (f64, f64),
    /// The widths of the closed interval before and after the last update.
    widths: (f64, f64),
}

impl Interval {
    /// Returns the interval before the first step.
    fn new(origin: Evaluation, first: f64) -> Self {
        Self {
            best: origin,
            other: origin,
            closed: false,
            bounds: (0.0, first + MAX_EXTRAPOLATION * first),
            widths: (2.0 * MAX_STEP, MAX_STEP),
        }
    }

    /// Returns whether a closed interval is too narrow for another step.
    fn exhausted(&self, step: f64, width: f64) -> bool {
        let (low, high) = self.bounds;
        self.closed && (step <= low || step >= high || high - low <= width * high)
    }

    /// Updates widths and bounds, and returns the step: the midpoint if two updates have not shrunk
    /// the closed interval enough, else `step`.
    fn safeguarded(&mut self, step: f64) -> f64 {
        let (best, other) = (self.best.step, self.other.step);
        if !self.closed {
            self.bounds = (
                step + MIN_EXTRAPOLATION * (step - best),
                step + MAX_EXTRAPOLATION * (step - best),
            );
            return step;
        }
        let width = (other - best).abs();
        let is_wide = width >= SHRINKAGE * self.widths.0;
        self.widths = (self.widths.1, width);
        self.bounds = (best.min(other), best.max(other));
        if is_wide { best + 0.5 * (other - best) } else { step }
    }

    /// Updates the interval with a trial and returns the next step: the four cases of Sec. 4 of
    /// the reference.
    ///
    /// `view` maps evaluations of φ to those of the function in use, φ or ψ.
    fn update(&mut self, trial: Evaluation, view: impl Fn(Evaluation) -> Evaluation) -> f64 {
        let (low, high) = self.bounds;
        let (best, other, new) = (view(self.best), view(self.other), view(trial));
        let sign_changed = new.slope * best.slope.signum() < 0.0;
        let cubic = || new.step + cubic_minimiser(new, best) * (best.step - new.step);
        let secant = || new.step + new.slope / (new.slope - best.slope) * (best.step - new.step);
        let next = if new.value > best.value {
            // Case 1, a higher value: a minimiser is between the steps. The cubic step, or the mean
            // of the cubic and the quadratic step if the quadratic one is closer.
            let cubic = best.step + cubic_minimiser(best, new) * (new.step - best.step);
            let mean_slope = (best.value - new.value) / (new.step - best.step);
            let quadratic =
                best.step + best.slope / (mean_slope + best.slope) / 2.0 * (new.step - best.step);
            self.closed = true;
            let cubic_is_nearer = (cubic - best.step).abs() < (quadratic - best.step).abs();
            if cubic_is_nearer { cubic } else { cubic + (quadratic - cubic) / 2.0 }
        } else if sign_changed {
            // Case 2, a lower value and a slope of opposite sign: a minimiser is between the steps.
            self.closed = true;
            let (cubic, secant) = (cubic(), secant());
            if (cubic - new.step).abs() > (secant - new.step).abs() { cubic } else { secant }
        } else if new.slope.abs() < best.slope.abs() {
            // Case 3, a lower value and a smaller slope: the cubic may have no minimiser, or one on
            // the wrong side.
            let limit = if new.step > best.step { high } else { low };
            let ratio = cubic_minimiser(new, best);
            let cubic = if ratio < 0.0 { new.step + ratio * (best.step - new.step) } else { limit };
            let secant = secant();
            let cubic_is_nearer = (cubic - new.step).abs() < (secant - new.step).abs();
            if self.closed {
                let chosen = if cubic_is_nearer { cubic } else { secant };
                let bound = new.step + SHRINKAGE * (other.step - new.step);
                if new.step > best.step { chosen.min(bound) } else { chosen.max(bound) }
            } else {
                let cubic_is_farther = (cubic - new.step).abs() > (secant - new.step).abs();
                (if cubic_is_farther { cubic } else { secant }).min(high).max(low)
            }
        } else if self.closed {
            // Case 4, a lower value and no smaller slope: the minimiser is towards the other end.
            new.step + cubic_minimiser(new, other) * (other.step - new.step)
        } else if new.step > best.step {
            high
        } else {
            low
        };
        if new.value > best.value {
            self.other = trial;
        } else {
            if sign_changed {
                self.other = self.best;
            }
            self.best = trial;
        }
        next
    }
}

/// Returns the minimiser of the cubic with the values and slopes of `a` and `b`.
///
/// The result is relative: 0 is a, 1 is b. It is infinite if the cubic has no minimiser.
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

    /// Compares evaluations and accepted steps with Moré and Thuente's Tables I and II, for four
    /// first steps.
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
    fn the_first_function_of_the_reference() {
        let phi = |t: f64| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2));
        check(1e-3, 0.1, phi, [(1e-3, 6, 1.4), (1e-1, 3, 1.4), (1e1, 1, 10.0), (1e3, 4, 37.0)]);
    }

    #[test]
    fn the_second_function_of_the_reference() {
        let phi = |t: f64| {
            let s = t + 0.004;
            (s.powi(5) - 2.0 * s.powi(4), 5.0 * s.powi(4) - 8.0 * s.powi(3))
        };
        check(0.1, 0.1, phi, [(1e-3, 12, 1.6), (1e-1, 8, 1.6), (1e1, 8, 1.6), (1e3, 11, 1.6)]);
    }

    #[test]
    fn the_search_stops_after_the_maximum_number_of_evaluations() {
        let search = LineSearch { decrease: 0.1, curvature: 0.1, width: 1e-10, evaluations: 3 };
        let origin = Evaluation { step: 0.0, value: 0.0, slope: -1.0 };
        let mut evaluations = 0;
        // A linear function: no step satisfies the curvature condition.
        let found = search.search(origin, 1.0, |t| {
            evaluations += 1;
            Ok((-t, -1.0))
        });
        assert_eq!((found.unwrap(), evaluations), (None, 3));
    }

    #[test]
    fn the_search_returns_from_points_outside_the_domain() {
        // Beyond 2 the function is a high plateau, as for points that an objective cannot evaluate.
        let phi =
            |t: f64| if t > 2.0 { (100.0, 0.0) } else { ((t - 1.0).powi(2), 2.0 * (t - 1.0)) };
        let search = LineSearch { decrease: 1e-3, curvature: 0.9, width: 0.1, evaluations: 20 };
        let found =
            search.search(Evaluation { step: 0.0, value: 1.0, slope: -2.0 }, 5.0, |t| Ok(phi(t)));
        let found = found.unwrap().unwrap();
        assert!(found.step < 2.0 && found.value < 1.0, "{found:?}");
    }
}
