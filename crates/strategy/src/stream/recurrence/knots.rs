//! Coefficients that are piecewise linear within each epoch.

use ndarray::Array2;

use super::semiseparable::Semiseparable;

/// The parametrisation of C₀ by values at knots.
///
/// The knots of an epoch of b steps are 0, 1, 2, 4, …, at most b/2, and the same distances from its
/// last step. The variables are ln λ_j times [`RATE_SCALE`], then for each of ln d, B_1, …, B_N,
/// H_1, …, H_N the values at the knots, epoch by epoch.
#[derive(Debug)]
pub(super) struct Knots {
    buffers: usize,
    /// The first knot of every step and its weight; the next knot has the remaining weight.
    steps: Vec<(usize, f64)>,
    /// Number of knots of all epochs.
    count: usize,
}

/// Weight of the logarithms of the rates. It improves the condition of the problem.
const RATE_SCALE: f64 = 1.0 / 3.0;

impl Knots {
    /// Creates the knots of `count` epochs of `period` steps, for N buffers.
    pub fn new(buffers: usize, count: usize, period: usize) -> Self {
        let mut knots = vec![0];
        let mut distance = 1;
        while distance <= period / 2 {
            knots.push(distance);
            distance *= 2;
        }
        let mirrored: Vec<usize> = knots.iter().map(|knot| period - 1 - knot).collect();
        knots.extend(mirrored);
        knots.sort_unstable();
        knots.dedup();
        let mut steps = Vec::with_capacity(count * period);
        for epoch in 0..count {
            let first = epoch * knots.len();
            for step in 0..period {
                let next = knots.partition_point(|&knot| knot <= step);
                let weight = match knots.get(next) {
                    None => 1.0,
                    Some(&right) => (right - step) as f64 / (right - knots[next - 1]) as f64,
                };
                steps.push((first + next - 1, weight));
            }
        }
        Knots { buffers, steps, count: count * knots.len() }
    }

    /// Returns the variables of constant coefficients with d = 1 and B = H.
    pub fn constant(&self, rates: &[f64], input: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = rates.iter().map(|rate| rate.ln() * RATE_SCALE).collect();
        x.extend(std::iter::repeat_n(0.0, self.count));
        for _ in 0..2 {
            input.iter().for_each(|b| x.extend(std::iter::repeat_n(*b, self.count)));
        }
        x
    }

    /// Returns C₀.
    pub fn form(&self, x: &[f64]) -> Semiseparable {
        let (rates, values) = x.split_at(self.buffers);
        let mut blocks = values.chunks_exact(self.count).map(|block| self.interpolated(block));
        let diagonal = blocks.next().into_iter().flatten().map(f64::exp).collect();
        let mut columns = || {
            let mut matrix = Array2::zeros((self.steps.len(), self.buffers));
            for (mut column, block) in matrix.columns_mut().into_iter().zip(blocks.by_ref()) {
                column.iter_mut().zip(block).for_each(|(x, value)| *x = value);
            }
            matrix
        };
        Semiseparable {
            rates: rates.iter().map(|x| (x / RATE_SCALE).exp()).collect(),
            diagonal,
            input: columns(),
            output: columns(),
        }
    }

    /// Returns the derivatives by the variables, from those by C₀.
    pub fn gradient(&self, form: &Semiseparable, by_form: &Semiseparable) -> Vec<f64> {
        let rates = form.rates.iter().zip(&by_form.rates);
        let mut gradient: Vec<f64> = rates.map(|(rate, g)| rate * g / RATE_SCALE).collect();
        let diagonal = form.diagonal.iter().zip(&by_form.diagonal);
        let diagonal: Vec<f64> = diagonal.map(|(d, g)| d * g).collect();
        gradient.extend(self.summed(diagonal.into_iter()));
        for matrix in [&by_form.input, &by_form.output] {
            for column in matrix.columns() {
                gradient.extend(self.summed(column.iter().copied()));
            }
        }
        gradient
    }

    fn interpolated(&self, values: &[f64]) -> Vec<f64> {
        let value = |&(knot, weight): &(usize, f64)| {
            let next = values.get(knot + 1).copied().unwrap_or(0.0);
            weight * values[knot] + (1.0 - weight) * next
        };
        self.steps.iter().map(value).collect()
    }

    /// The transpose of [`interpolated`](Self::interpolated).
    fn summed(&self, by_step: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        for (&(knot, weight), g) in self.steps.iter().zip(by_step) {
            sums[knot] += weight * g;
            if let Some(next) = sums.get_mut(knot + 1) {
                *next += (1.0 - weight) * g;
            }
        }
        sums
    }
}
