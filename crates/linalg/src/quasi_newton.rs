//! Minimisation with nonnegative variables: L-BFGS on the free variables, with projection.
//!
//! Variables at zero whose derivative is positive are fixed in a step; the others follow the
//! two-loop recursion, restricted to them (Bertsekas 1982, Byrd et al. 1995), from the function's
//! [`Metric`] or the identity. The line search projects its points.

use std::collections::VecDeque;

use crate::simd::{Loops, Wide};

/// Number of steps before the metric of the function is used. Far from the minimum its steps leave
/// the bounds.
const WARM_UP: usize = 50;

/// Nonnegative variables up to this value count as zero.
const ZERO: f64 = 1e-10;

/// Required share of the decrease that the derivative predicts.
const SUFFICIENT: f64 = 1e-4;

/// Maximum number of step lengths that are tried.
const MAX_HALVINGS: usize = 30;

/// Number of partial sums of an inner product.
const LANES: usize = 16;

/// Multiplies a vector by an approximation of the inverse second derivative, up to a factor.
pub type Metric<E> = Box<dyn Fn(&mut [f64]) -> Result<(), E>>;

/// A function to minimise.
pub trait SmoothFunction {
    /// The error of an evaluation.
    type Error;

    /// Number of past steps that approximate the curvature.
    const MEMORY: usize = 20;

    /// Returns the value and the gradient. A value that is not finite is outside the domain.
    ///
    /// # Errors
    /// The function cannot be computed.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Self::Error>;

    /// Length of a step without curvature.
    const FIRST_STEP: f64 = 0.1;

    /// Returns the metric of the free variables, for vectors that are zero elsewhere; `None` is the
    /// identity.
    fn metric(&self, _x: &[f64], _free: &[bool]) -> Option<Metric<Self::Error>> {
        None
    }
}

/// A past step.
#[derive(Debug)]
struct Step {
    /// The change s of the variables.
    change: Vec<f64>,
    /// The change t of the gradient.
    turn: Vec<f64>,
    /// `⟨s, t⟩`, `⟨s, s⟩` and `⟨t, t⟩` over the variables that are not bounded.
    products: [f64; 3],
}

/// The state of the minimisation.
#[derive(Debug)]
pub struct QuasiNewton {
    /// The current variables.
    pub x: Vec<f64>,
    /// The current value.
    pub value: f64,
    /// Evaluations so far.
    pub evaluations: usize,
    /// The current gradient.
    pub gradient: Vec<f64>,
    /// Past steps, oldest first.
    steps: VecDeque<Step>,
    /// Number of steps so far.
    taken: usize,
    /// The variables from this index on are nonnegative.
    first_bounded: usize,
}

impl QuasiNewton {
    /// Starts at `x`.
    ///
    /// # Errors
    /// The objective fails.
    pub fn from<F: SmoothFunction>(
        objective: &F,
        x: Vec<f64>,
        first_bounded: usize,
    ) -> Result<Self, F::Error> {
        let (value, gradient) = objective.evaluate(&x)?;
        let steps = VecDeque::new();
        Ok(QuasiNewton { x, value, evaluations: 1, gradient, steps, taken: 0, first_bounded })
    }

    /// Takes one step; returns the decrease, or `None` if no step decreases the value.
    ///
    /// # Errors
    /// The objective fails.
    pub fn step<F: SmoothFunction>(&mut self, objective: &F) -> Result<Option<f64>, F::Error> {
        loop {
            if let Some(decrease) = self.search(objective)? {
                return Ok(Some(decrease));
            }
            if self.steps.is_empty() {
                return Ok(None);
            }
            self.steps.clear();
        }
    }

    fn search<F: SmoothFunction>(&mut self, objective: &F) -> Result<Option<f64>, F::Error> {
        let direction = self.direction(objective)?;
        let mut length = 1.0;
        for _ in 0..MAX_HALVINGS {
            let x: Vec<f64> = (self.x.iter().zip(&direction).enumerate())
                .map(|(i, (x, d))| {
                    let moved = x + length * d;
                    if i < self.first_bounded { moved } else { moved.max(0.0) }
                })
                .collect();
            let change: Vec<f64> = x.iter().zip(&self.x).map(|(new, old)| new - old).collect();
            let (value, gradient) = objective.evaluate(&x)?;
            self.evaluations += 1;
            if value <= self.value + SUFFICIENT * dot(&self.gradient, &change) {
                let turn = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old);
                let turn: Vec<f64> = turn.collect();
                let (s, t) = (&change[..self.first_bounded], &turn[..self.first_bounded]);
                let products = [dot(s, t), dot(s, s), dot(t, t)];
                self.steps.push_back(Step { change, turn, products });
                if self.steps.len() > F::MEMORY {
                    self.steps.pop_front();
                }
                self.taken += 1;
                let decrease = self.value - value;
                (self.x, self.value, self.gradient) = (x, value, gradient);
                return Ok(Some(decrease));
            }
            length *= 0.5;
        }
        Ok(None)
    }

    /// Returns the descent direction.
    fn direction<F: SmoothFunction>(&mut self, objective: &F) -> Result<Vec<f64>, F::Error> {
        let free: Vec<bool> = (self.x.iter().zip(&self.gradient).enumerate())
            .map(|(i, (&x, &g))| i < self.first_bounded || x > ZERO || g <= 0.0)
            .collect();
        let metric = if self.taken < WARM_UP { None } else { objective.metric(&self.x, &free) };
        // Only the variables from `first` on can be fixed.
        let first = self.first_bounded;
        let zero = |q: &mut [f64]| {
            let bounded = q[first..].iter_mut().zip(&free[first..]);
            bounded.filter(|(_, free)| !**free).for_each(|(x, _)| *x = 0.0);
        };
        let masked = |v: &[f64]| -> Vec<f64> {
            let mut v = v.to_vec();
            zero(&mut v);
            v
        };
        let free_bounded = |a: &[f64], b: &[f64]| -> f64 {
            let bounded = a[first..].iter().zip(&b[first..]).zip(&free[first..]);
            bounded.filter(|(_, free)| **free).map(|((a, b), _)| a * b).sum()
        };
        let pairs: Vec<(&Step, f64)> = (self.steps.iter())
            .map(|step| {
                let (s, t, [st, ss, tt]) = (&step.change, &step.turn, step.products);
                let product = st + free_bounded(s, t);
                let norms = (ss + free_bounded(s, s)) * (tt + free_bounded(t, t));
                (step, product, norms)
            })
            .filter(|(_, product, norms)| *product > 1e-12 * norms.sqrt())
            .map(|(step, product, _)| (step, product))
            .collect();
        let inner = |a: &[f64], b: &[f64]| dot(&a[..first], &b[..first]) + free_bounded(a, b);
        let mut q = masked(&self.gradient);
        let mut factors = Vec::with_capacity(pairs.len());
        for (step, product) in pairs.iter().rev() {
            let factor = inner(&step.change, &q) / product;
            add(&mut q, -factor, &step.turn);
            zero(&mut q);
            factors.push(factor);
        }
        let image = |mut v: Vec<f64>| -> Result<Vec<f64>, F::Error> {
            metric.as_ref().map_or(Ok(()), |metric| metric(&mut v))?;
            Ok(v)
        };
        q = image(q)?;
        let scale = match pairs.last() {
            Some((step, product)) => product / inner(&step.turn, &image(masked(&step.turn))?),
            None => F::FIRST_STEP / inner(&q, &q).sqrt().max(f64::MIN_POSITIVE),
        };
        q.iter_mut().for_each(|x| *x *= scale);
        for ((step, product), factor) in pairs.iter().zip(factors.iter().rev()) {
            let correction = factor - inner(&step.turn, &q) / product;
            add(&mut q, correction, &step.change);
            zero(&mut q);
        }
        let towards = |q: &[f64]| -> Vec<f64> {
            let fixed = q.iter().zip(&self.x).zip(&free);
            fixed.map(|((&q, &x), &free)| if free { -q } else { -x }).collect()
        };
        let direction = towards(&q);
        if dot(&direction, &self.gradient) < 0.0 {
            return Ok(direction);
        }
        let steepest = towards(&masked(&self.gradient));
        self.steps.clear();
        Ok(steepest)
    }
}

/// Returns the inner product, from [`LANES`] partial sums that are computed at the same time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    struct Dot<'a>(&'a [f64], &'a [f64], &'a mut f64);
    impl Loops for Dot<'_> {
        #[inline(always)]
        fn run(self) {
            let mut sums = [0.0; LANES];
            let (a_chunks, a_rest) = self.0.as_chunks::<LANES>();
            let (b_chunks, b_rest) = self.1.as_chunks::<LANES>();
            for (a, b) in a_chunks.iter().zip(b_chunks) {
                for l in 0..LANES {
                    sums[l] += a[l] * b[l];
                }
            }
            let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
            *self.2 = sums.iter().sum::<f64>() + rest;
        }
    }
    let mut sum = 0.0;
    Wide::detect().run(Dot(a, b, &mut sum));
    sum
}

/// Adds a multiple of b to a.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    struct Add<'a>(&'a mut [f64], f64, &'a [f64]);
    impl Loops for Add<'_> {
        #[inline(always)]
        fn run(self) {
            for (a, b) in self.0.iter_mut().zip(self.2) {
                *a += self.1 * b;
            }
        }
    }
    Wide::detect().run(Add(a, factor, b));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Σ i (x_i − c_i)² + (Σx)⁴/10`, with nonnegative second half.
    struct Quartic(Vec<f64>);

    impl SmoothFunction for Quartic {
        type Error = std::convert::Infallible;

        fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Self::Error> {
            let sum: f64 = x.iter().sum();
            let mut value = 0.1 * sum.powi(4);
            let mut gradient = vec![0.4 * sum.powi(3); x.len()];
            for (i, (x, c)) in x.iter().zip(&self.0).enumerate() {
                value += (i + 1) as f64 * (x - c).powi(2);
                gradient[i] += 2.0 * (i + 1) as f64 * (x - c);
            }
            Ok((value, gradient))
        }
    }

    /// Oracle: the first-order conditions.
    #[test]
    fn minima_satisfy_the_first_order_conditions() {
        let objective = Quartic((0..12).map(|i| (1.7 * i as f64).sin()).collect());
        let mut state = QuasiNewton::from(&objective, vec![0.5; 12], 6).unwrap();
        while state.step(&objective).unwrap().is_some_and(|decrease| decrease > 1e-16) {}
        let mut fixed = 0;
        for (i, (&x, &g)) in state.x.iter().zip(&state.gradient).enumerate() {
            if i >= 6 && x <= ZERO {
                assert!(g > -1e-6, "{i}: {g}");
                fixed += 1;
            } else {
                assert!(g.abs() < 1e-6, "{i}: {g}");
            }
        }
        assert!(fixed > 0 && state.evaluations < 200, "{fixed} {}", state.evaluations);
    }
}
