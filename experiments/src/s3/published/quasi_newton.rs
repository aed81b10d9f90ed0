//! Unconstrained L-BFGS minimisation with one correction pair.

use matmech::Result;

use super::line_search::{Evaluation, LineSearch};

/// The options of the method. The defaults are those of SciPy's L-BFGS-B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuasiNewton {
    /// Maximum relative decrease at which to stop: `f − f' <= tolerance · max(|f|, |f'|, 1)`.
    /// SciPy's `ftol`.
    pub decrease: f64,
    /// Maximum absolute gradient entry at which to stop. SciPy's `gtol`.
    pub gradient: f64,
    /// Maximum number of iterations. SciPy's `maxiter`.
    pub iterations: usize,
    /// Maximum number of evaluations per line search. SciPy's `maxls`.
    pub steps: usize,
}

impl Default for QuasiNewton {
    fn default() -> Self {
        QuasiNewton {
            decrease: 2.220446049250313e-9,
            gradient: 1e-5,
            iterations: 15_000,
            steps: 20,
        }
    }
}

/// Why the iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The gradient is small.
    Gradient,
    /// The last decrease is small.
    Decrease,
    /// The line search along the steepest descent failed.
    NoStep,
    /// The maximum number of iterations.
    Iterations,
}

/// The end of the iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    /// The last point.
    pub point: Vec<f64>,
    /// The objective at the last point.
    pub value: f64,
    /// The reason.
    pub stop: Stop,
    /// Number of accepted steps.
    pub iterations: usize,
    /// Number of evaluations of the objective and its gradient.
    pub evaluations: usize,
}

/// The last step `s` and the change `y` of the gradient over it.
struct Correction {
    s: Vec<f64>,
    y: Vec<f64>,
    sy: f64,
    yy: f64,
}

impl Correction {
    /// Creates a correction, or returns `None` if the curvature `sᵀy` is not positive.
    ///
    /// The threshold is the machine epsilon times the expected decrease `−sᵀg`.
    fn new(s: Vec<f64>, y: Vec<f64>, expected: f64) -> Option<Self> {
        let (sy, yy) = (dot(&s, &y), dot(&y, &y));
        (sy > f64::EPSILON * expected).then_some(Correction { s, y, sy, yy })
    }

    /// Returns `H g` for the BFGS update H of `(sᵀy/yᵀy) I`.
    ///
    /// *Reference*: Nocedal and Wright, Algorithm 7.4 with one pair.
    fn apply(&self, g: &[f64]) -> Vec<f64> {
        let alpha = dot(&self.s, g) / self.sy;
        let scale = self.sy / self.yy;
        let mut r: Vec<f64> = g.iter().zip(&self.y).map(|(g, y)| scale * (g - alpha * y)).collect();
        let beta = dot(&self.y, &r) / self.sy;
        r.iter_mut().zip(&self.s).for_each(|(r, s)| *r += (alpha - beta) * s);
        r
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(g: &[f64]) -> f64 {
    g.iter().fold(0.0, |max, x| x.abs().max(max))
}

impl QuasiNewton {
    /// Minimises an objective that returns its value and gradient, from `start`.
    ///
    /// The directions are those of L-BFGS-B without bounds and with one correction. The line search
    /// is that of Moré and Thuente with μ = 10⁻³, η = 0.9. Its first trial has length 1 in the
    /// first iteration, and is the full quasi-Newton step later. A failed line search drops the
    /// correction.
    ///
    /// *Cost*: O(variables) per iteration, plus the evaluations.
    ///
    /// *Reference*: Byrd, Lu, Nocedal and Zhu, A limited memory algorithm for bound constrained
    /// optimization (1995); Nocedal and Wright, Numerical Optimization, Ch. 7.
    ///
    /// # Errors
    /// Returns the errors of the objective.
    pub fn minimise(
        &self,
        start: Vec<f64>,
        mut objective: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>)>,
    ) -> Result<Stopped> {
        let search =
            LineSearch { decrease: 1e-3, curvature: 0.9, width: 0.1, evaluations: self.steps };
        let mut point = start;
        let (mut value, mut gradient) = objective(&point)?;
        let (mut iterations, mut evaluations) = (0, 1);
        let mut correction: Option<Correction> = None;
        let stop = loop {
            if largest(&gradient) <= self.gradient {
                break Stop::Gradient;
            }
            if iterations == self.iterations {
                break Stop::Iterations;
            }
            let mut direction =
                correction.as_ref().map_or_else(|| gradient.clone(), |c| c.apply(&gradient));
            direction.iter_mut().for_each(|d| *d = -*d);
            let first =
                if iterations == 0 { 1.0 / dot(&direction, &direction).sqrt() } else { 1.0 };
            let origin = Evaluation { step: 0.0, value, slope: dot(&gradient, &direction) };
            let mut reached = (point.clone(), gradient.clone());
            let accepted = if origin.slope < 0.0 {
                search.search(origin, first, |step| {
                    let trial: Vec<f64> =
                        point.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                    let (value, gradient) = objective(&trial)?;
                    evaluations += 1;
                    let slope = dot(&gradient, &direction);
                    reached = (trial, gradient);
                    Ok((value, slope))
                })?
            } else {
                None
            };
            let Some(accepted) = accepted else {
                if correction.take().is_none() {
                    break Stop::NoStep;
                }
                continue;
            };
            iterations += 1;
            let s: Vec<f64> = direction.iter().map(|d| accepted.step * d).collect();
            let y: Vec<f64> = reached.1.iter().zip(&gradient).map(|(new, old)| new - old).collect();
            let (before, expected) = (value, -accepted.step * origin.slope);
            (point, gradient) = reached;
            value = accepted.value;
            let small = before - value <= self.decrease * before.abs().max(value.abs()).max(1.0);
            if small && largest(&gradient) > self.gradient {
                break Stop::Decrease;
            }
            // A pair without positive curvature is skipped; the previous one is kept.
            correction = Correction::new(s, y, expected).or(correction);
        };
        Ok(Stopped { point, value, stop, iterations, evaluations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; x.len()]);
        for k in 0..x.len() - 1 {
            let (a, b) = (x[k + 1] - x[k] * x[k], 1.0 - x[k]);
            value += 100.0 * a * a + b * b;
            gradient[k] -= 400.0 * x[k] * a + 2.0 * b;
            gradient[k + 1] += 200.0 * a;
        }
        (value, gradient)
    }

    /// Compares with SciPy 1.17,
    /// `minimize(rosen, x0, jac=rosen_der, method="L-BFGS-B", options={"maxcor": 1})`.
    #[test]
    fn iterations_and_evaluations_are_those_of_scipy() {
        for (start, iterations, evaluations, value) in [
            (vec![-1.2, 1.0], 41, 74, 8.551368328201122e-10),
            (vec![-1.2, 1.0, -1.2, 1.0], 71, 87, 4.290335211152134e-8),
        ] {
            let found = QuasiNewton::default().minimise(start, |x| Ok(rosenbrock(x))).unwrap();
            assert_eq!(
                (found.iterations, found.evaluations, found.stop),
                (iterations, evaluations, Stop::Decrease)
            );
            assert!((found.value / value - 1.0).abs() < 1e-3, "{found:?}");
        }
    }

    #[test]
    fn a_correction_satisfies_the_secant_equation() {
        let (s, y) = (vec![1.0, -2.0, 0.5], vec![0.5, -1.5, 1.0]);
        let correction = Correction::new(s.clone(), y.clone(), 1.0).unwrap();
        for (a, b) in correction.apply(&y).iter().zip(&s) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
        let backwards: Vec<f64> = s.iter().map(|x| -x).collect();
        assert!(Correction::new(backwards, y, 1.0).is_none());
    }

    #[test]
    fn the_reason_of_the_stop_is_reported() {
        let bowl = |x: &[f64]| Ok((0.5 * dot(x, x), x.to_vec()));
        let method = QuasiNewton::default();
        let found = method.minimise(vec![3.0, 4.0], bowl).unwrap();
        assert_eq!(found.stop, Stop::Gradient);
        assert!(largest(&found.point) <= 1e-5);
        let found = QuasiNewton { iterations: 0, ..method }.minimise(vec![3.0, 4.0], bowl).unwrap();
        assert_eq!((found.stop, found.value, found.evaluations), (Stop::Iterations, 12.5, 1));
        // The gradient has the wrong sign: no step along the direction decreases the objective.
        let found = method.minimise(vec![3.0], |x| Ok((x[0], vec![-1.0]))).unwrap();
        assert_eq!((found.stop, found.value), (Stop::NoStep, 3.0));
    }

    #[test]
    fn errors_of_the_objective_are_passed_on() {
        let failing = |x: &[f64]| {
            if x[0] < 1.0 {
                return Err(matmech::Error::bad_input(
                    "objective",
                    "x >= 1",
                    x[0].to_string(),
                    "start elsewhere",
                ));
            }
            Ok((x[0], vec![1.0]))
        };
        assert!(QuasiNewton::default().minimise(vec![1.5], failing).is_err());
    }
}
