//! Minimisation with nonnegative variables: L-BFGS on the free variables, with projection.
//!
//! Variables at zero whose derivative is positive are fixed in a step; the others follow the
//! two-loop recursion, restricted to them (Bertsekas 1982, Byrd et al. 1995). The line search
//! projects its points.

use std::collections::VecDeque;

use crate::error::Result;

/// Number of past steps that approximate the curvature.
const MEMORY: usize = 20;

/// Nonnegative variables up to this value count as zero.
const ZERO: f64 = 1e-10;

/// Required share of the decrease that the derivative predicts.
const SUFFICIENT: f64 = 1e-4;

/// Maximum number of step lengths that are tried.
const MAX_HALVINGS: usize = 30;

/// Length of a step without curvature.
const FIRST_STEP: f64 = 0.1;

/// Number of partial sums of an inner product.
const LANES: usize = 16;

/// A function to minimise.
pub(crate) trait SmoothFunction {
    /// Returns the value and the gradient. A value that is not finite is outside the domain.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)>;
}

/// The state of the minimisation.
#[derive(Debug)]
pub(crate) struct QuasiNewton {
    /// The current variables.
    pub x: Vec<f64>,
    /// The current value.
    pub value: f64,
    /// Evaluations so far.
    pub evaluations: usize,
    gradient: Vec<f64>,
    /// Past changes of x and of the gradient, oldest first.
    steps: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The variables from this index on are nonnegative.
    first_bounded: usize,
}

impl QuasiNewton {
    /// Starts at `x`.
    ///
    /// # Errors
    /// The objective fails.
    pub fn from(
        objective: &impl SmoothFunction,
        x: Vec<f64>,
        first_bounded: usize,
    ) -> Result<Self> {
        let (value, gradient) = objective.evaluate(&x)?;
        let steps = VecDeque::new();
        Ok(QuasiNewton { x, value, evaluations: 1, gradient, steps, first_bounded })
    }

    /// Takes one step; returns the decrease, or `None` if no step decreases the value.
    ///
    /// # Errors
    /// The objective fails.
    pub fn step(&mut self, objective: &impl SmoothFunction) -> Result<Option<f64>> {
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

    fn search(&mut self, objective: &impl SmoothFunction) -> Result<Option<f64>> {
        let direction = self.direction();
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
                self.steps.push_back((change, turn.collect()));
                if self.steps.len() > MEMORY {
                    self.steps.pop_front();
                }
                let decrease = self.value - value;
                (self.x, self.value, self.gradient) = (x, value, gradient);
                return Ok(Some(decrease));
            }
            length *= 0.5;
        }
        Ok(None)
    }

    /// Returns the descent direction.
    fn direction(&mut self) -> Vec<f64> {
        let free: Vec<bool> = (self.x.iter().zip(&self.gradient).enumerate())
            .map(|(i, (&x, &g))| i < self.first_bounded || x > ZERO || g <= 0.0)
            .collect();
        let masked = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&free).map(|(&x, &free)| if free { x } else { 0.0 }).collect()
        };
        // Only the variables from `first_bounded` on can be fixed.
        let first = self.first_bounded;
        let dot = |a: &[f64], b: &[f64]| {
            let bounded = a[first..].iter().zip(&b[first..]).zip(&free[first..]);
            let rest: f64 = bounded.filter(|(_, free)| **free).map(|((a, b), _)| a * b).sum();
            dot(&a[..first], &b[..first]) + rest
        };
        let zero = |q: &mut [f64]| {
            let bounded = q[first..].iter_mut().zip(&free[first..]);
            bounded.filter(|(_, free)| !**free).for_each(|(x, _)| *x = 0.0);
        };
        let pairs: Vec<(&[f64], &[f64], f64)> = (self.steps.iter())
            .map(|(s, y)| (s.as_slice(), y.as_slice(), dot(s, y)))
            .filter(|(s, y, product)| *product > 1e-12 * (dot(s, s) * dot(y, y)).sqrt())
            .collect();
        let mut q = masked(&self.gradient);
        let mut factors = Vec::with_capacity(pairs.len());
        for (s, y, product) in pairs.iter().rev() {
            let factor = dot(s, &q) / product;
            add(&mut q, -factor, y);
            zero(&mut q);
            factors.push(factor);
        }
        let scale = match pairs.last() {
            Some((_, y, product)) => product / dot(y, y),
            None => FIRST_STEP / dot(&q, &q).sqrt().max(f64::MIN_POSITIVE),
        };
        q.iter_mut().for_each(|x| *x *= scale);
        for ((s, y, product), factor) in pairs.iter().zip(factors.iter().rev()) {
            let correction = factor - dot(y, &q) / product;
            add(&mut q, correction, s);
            zero(&mut q);
        }
        let towards = |q: &[f64]| -> Vec<f64> {
            let fixed = q.iter().zip(&self.x).zip(&free);
            fixed.map(|((&q, &x), &free)| if free { -q } else { -x }).collect()
        };
        let direction = towards(&q);
        if self::dot(&direction, &self.gradient) < 0.0 {
            return direction;
        }
        let steepest = towards(&masked(&self.gradient));
        self.steps.clear();
        steepest
    }
}

/// Returns the inner product, from [`LANES`] partial sums that are computed at the same time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Σ i (x_i − c_i)² + (Σx)⁴/10`, with nonnegative second half.
    struct Quartic(Vec<f64>);

    impl SmoothFunction for Quartic {
        fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
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
