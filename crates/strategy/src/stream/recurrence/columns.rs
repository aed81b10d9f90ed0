//! The blocks `X_ππ` of `X = C₀ᵀSC₀` in linear time, and their derivatives.
//!
//! Let `D = diag(e^{−λ})`, and let S couple the steps of a pattern only. For the steps s in epoch i
//! and s' = s + mb in epoch j = i + m of pattern c, with entries S_ij and rows H_j of that pattern,
//!
//! ```text
//! q_ij = D^b (S_{i,j+1} H_{j+1} + q_{i,j+1}),    q_{i,k−1} = 0
//! T_m(s) = D (T_m(s+1) + H_u (S_ij H_u' + q_ij)ᵀ + q_ji H_u'ᵀ) D,    u = s + 1, u' = u + mb
//! X_ss' = d_s S_ij d_s' + d_s q_ijᵀ B_s' + d_s' q_jiᵀ B_s + B_sᵀ T_m(s) B_s'
//! ```
//!
//! where i and j in the second line are the epochs of u and u', and T_m starts with 0 at the last
//! step. All numbers are multiplied by `e^{−λ}` or less, so nothing overflows. O(nkN²) time.
//!
//! The blocks of `C₀YC₀ᵀ` are those of the matrix with the steps in reverse order, where B and H
//! change places.

use ndarray::Array2;

use super::patterns::Blocks;
use super::semiseparable::Semiseparable;
use matmech_linalg::{Loops, Wide};

/// A semiseparable matrix C₀, arranged by patterns.
#[derive(Debug)]
pub(super) struct Columns {
    /// k.
    count: usize,
    /// b.
    period: usize,
    /// `e^{−λ}`.
    decays: Vec<f64>,
    /// `e^{−λb}`.
    decays_of_epoch: Vec<f64>,
    /// d.
    diagonal: ByPattern,
    /// B.
    input: ByPattern,
    /// H.
    output: ByPattern,
}

/// Numbers of all steps: for every pattern and buffer, those of the k epochs.
#[derive(Debug, Clone)]
struct ByPattern {
    count: usize,
    buffers: usize,
    values: Vec<f64>,
}

impl ByPattern {
    fn zeros(count: usize, period: usize, buffers: usize) -> Self {
        ByPattern { count, buffers, values: vec![0.0; count * period * buffers] }
    }

    fn of(count: usize, period: usize, matrix: &Array2<f64>) -> Self {
        let mut out = Self::zeros(count, period, matrix.ncols());
        for ((t, j), &x) in matrix.indexed_iter() {
            out.epochs_mut(t % period, j)[t / period] = x;
        }
        out
    }

    #[inline(always)]
    fn epochs(&self, c: usize, j: usize) -> &[f64] {
        &self.values[(c * self.buffers + j) * self.count..][..self.count]
    }

    #[inline(always)]
    fn epochs_mut(&mut self, c: usize, j: usize) -> &mut [f64] {
        &mut self.values[(c * self.buffers + j) * self.count..][..self.count]
    }

    fn add_to(&self, matrix: &mut Array2<f64>) {
        let period = matrix.nrows() / self.count;
        for ((t, j), x) in matrix.indexed_iter_mut() {
            *x += self.epochs(t % period, j)[t / period];
        }
    }
}

/// q and its transpose: for every pattern, epoch i and buffer, q_ij or q_ji of all epochs j.
#[derive(Debug, Clone)]
struct Later {
    count: usize,
    buffers: usize,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Later {
    fn zeros(columns: &Columns) -> Self {
        let (count, buffers) = (columns.count, columns.decays.len());
        let length = count * count * columns.period * buffers;
        Later { count, buffers, rows: vec![0.0; length], columns: vec![0.0; length] }
    }

    #[inline(always)]
    fn range(&self, c: usize, i: usize, buffer: usize) -> std::ops::Range<usize> {
        let first = ((c * self.count + i) * self.buffers + buffer) * self.count;
        first..first + self.count
    }
}

impl Columns {
    /// Arranges C₀.
    pub fn new(form: &Semiseparable, count: usize, period: usize) -> Self {
        let diagonal = Array2::from_shape_fn((form.steps(), 1), |(t, _)| form.diagonal[t]);
        let arranged = |matrix: &Array2<f64>| ByPattern::of(count, period, matrix);
        Columns {
            count,
            period,
            decays: form.rates.iter().map(|rate| (-rate).exp()).collect(),
            decays_of_epoch: form.rates.iter().map(|rate| (-rate * period as f64).exp()).collect(),
            diagonal: arranged(&diagonal),
            input: arranged(&form.input),
            output: arranged(&form.output),
        }
    }

    /// Returns the blocks of `C₀ᵀSC₀`.
    pub fn gram(&self, s: &Blocks) -> Blocks {
        let mut out = Blocks::zeros(self.count, self.period);
        Wide::detect().run(Gram { columns: self, s, out: &mut out });
        out.mirrored()
    }

    /// Adds the derivatives of `tr(Y C₀ᵀSC₀)` by C₀.
    pub fn add_gradient(&self, s: &Blocks, y: &Blocks, gradient: &mut Semiseparable) {
        let (k, b, buffers) = (self.count, self.period, self.decays.len());
        let zeros = |buffers| ByPattern::zeros(k, b, buffers);
        let mut adjoint = Adjoint {
            columns: self,
            s,
            y,
            later: self.later(s),
            by_later: Later::zeros(self),
            by_rates: vec![0.0; buffers],
            by_diagonal: zeros(1),
            by_input: zeros(buffers),
            by_output: zeros(buffers),
        };
        Wide::detect().run(&mut adjoint);
        let mut by_diagonal = Array2::zeros((k * b, 1));
        adjoint.by_diagonal.add_to(&mut by_diagonal);
        gradient.diagonal.iter_mut().zip(&by_diagonal).for_each(|(x, d)| *x += d);
        gradient.rates.iter_mut().zip(&adjoint.by_rates).for_each(|(x, d)| *x += d);
        adjoint.by_input.add_to(&mut gradient.input);
        adjoint.by_output.add_to(&mut gradient.output);
    }

    /// Returns q.
    #[inline(always)]
    fn later(&self, s: &Blocks) -> Later {
        let k = self.count;
        let mut later = Later::zeros(self);
        for c in 0..self.period {
            for i in 0..k {
                let couplings = s.row(c, i);
                for (a, decay) in self.decays_of_epoch.iter().enumerate() {
                    let (output, row) = (self.output.epochs(c, a), later.range(c, i, a));
                    let mut sum = 0.0;
                    for j in (0..k).rev() {
                        later.rows[row.start + j] = sum;
                        let column = later.range(c, j, a).start + i;
                        later.columns[column] = sum;
                        sum = decay * (couplings[j] * output[j] + sum);
                    }
                }
            }
        }
        later
    }

    /// Turns T_m(u) into T_m(u − 1), for all m. The numbers of all m are adjacent.
    #[inline(always)]
    fn advance(&self, s: &Blocks, later: &Later, u: usize, states: &mut [f64]) {
        let (k, c, i) = (self.count, u % self.period, u / self.period);
        let couplings = &s.row(c, i)[i..];
        for (a, decay) in self.decays.iter().enumerate() {
            let left = self.output.epochs(c, a)[i];
            let column = &later.columns[later.range(c, i, a)][i..];
            for (e, other) in self.decays.iter().enumerate() {
                let row = &later.rows[later.range(c, i, e)][i..];
                let right = &self.output.epochs(c, e)[i..];
                let states = &mut states[(a * self.decays.len() + e) * k..][..k - i];
                let factor = decay * other;
                for ((((t, s), q), p), h) in
                    states.iter_mut().zip(couplings).zip(row).zip(column).zip(right)
                {
                    *t = factor * (*t + left * (s * h + q) + p * h);
                }
            }
        }
    }
}

struct Gram<'a> {
    columns: &'a Columns,
    s: &'a Blocks,
    out: &'a mut Blocks,
}

impl Loops for Gram<'_> {
    #[inline(always)]
    fn run(self) {
        let Gram { columns, s, out } = self;
        let (k, b, buffers) = (columns.count, columns.period, columns.decays.len());
        let later = columns.later(s);
        let mut states = vec![0.0; buffers * buffers * k];
        let (mut sums, mut images) = (vec![0.0; k], vec![0.0; k]);
        for step in (0..k * b).rev() {
            let (c, i) = (step % b, step / b);
            if step + 1 < k * b {
                columns.advance(s, &later, step + 1, &mut states);
            }
            let diagonal = columns.diagonal.epochs(c, 0);
            let d = diagonal[i];
            // The coefficients of the diagonal of the later step.
            sums[i..].iter_mut().zip(&s.row(c, i)[i..]).for_each(|(x, s)| *x = d * s);
            let entries = &mut out.row_mut(c, i)[i..];
            entries.fill(0.0);
            for e in 0..buffers {
                let row = &later.rows[later.range(c, i, e)][i..];
                images[i..].iter_mut().zip(row).for_each(|(x, q)| *x = d * q);
                for a in 0..buffers {
                    let weight = columns.input.epochs(c, a)[i];
                    let states = &states[(a * buffers + e) * k..][..k - i];
                    images[i..].iter_mut().zip(states).for_each(|(x, t)| *x += weight * t);
                }
                let right = &columns.input.epochs(c, e)[i..];
                entries.iter_mut().zip(&images[i..]).zip(right).for_each(|((x, y), b)| *x += y * b);
                let weight = columns.input.epochs(c, e)[i];
                let column = &later.columns[later.range(c, i, e)][i..];
                sums[i..].iter_mut().zip(column).for_each(|(x, q)| *x += weight * q);
            }
            for ((x, sum), d) in entries.iter_mut().zip(&sums[i..]).zip(&diagonal[i..]) {
                *x += sum * d;
            }
        }
    }
}

/// The derivatives of `tr(Y C₀ᵀSC₀)`, by the recurrences in reverse order.
struct Adjoint<'a> {
    columns: &'a Columns,
    s: &'a Blocks,
    y: &'a Blocks,
    later: Later,
    by_later: Later,
    by_rates: Vec<f64>,
    by_diagonal: ByPattern,
    by_input: ByPattern,
    by_output: ByPattern,
}

impl Loops for &mut Adjoint<'_> {
    #[inline(always)]
    fn run(self) {
        let columns = self.columns;
        let (k, n) = (columns.count, columns.count * columns.period);
        let length = columns.decays.len().pow(2) * k;
        let mut all_states = vec![0.0; n * length];
        for step in (0..n - 1).rev() {
            let (states, after) = all_states[step * length..].split_at_mut(length);
            states.copy_from_slice(&after[..length]);
            columns.advance(self.s, &self.later, step + 1, states);
        }
        let mut by_states = vec![0.0; length];
        for (step, states) in all_states.chunks_exact(length).enumerate() {
            self.entries(step, states, &mut by_states);
            self.transition(step + 1, states, &mut by_states);
        }
        self.chains();
    }
}

impl Adjoint<'_> {
    /// Passes the derivatives of the entries X_ss' of step s on.
    #[inline(always)]
    fn entries(&mut self, step: usize, states: &[f64], by_states: &mut [f64]) {
        let columns = self.columns;
        let (k, b, buffers) = (columns.count, columns.period, columns.decays.len());
        let (c, i) = (step % b, step / b);
        for j in i..k {
            let weight = self.y.row(c, i)[j] * if i == j { 1.0 } else { 2.0 };
            let coupling = self.s.row(c, i)[j];
            let diagonal = columns.diagonal.epochs(c, 0);
            let (d, other) = (diagonal[i], diagonal[j]);
            let (mut by_d, mut by_other) = (coupling * other, coupling * d);
            for e in 0..buffers {
                let (row, column) = (self.later.range(c, i, e), self.later.range(c, i, e));
                let (row, column) = (row.start + j, column.start + j);
                let (q, p) = (self.later.rows[row], self.later.columns[column]);
                let inputs = columns.input.epochs(c, e);
                let (left, right) = (inputs[i], inputs[j]);
                by_d += q * right;
                by_other += p * left;
                self.by_later.rows[row] += weight * d * right;
                self.by_later.columns[column] += weight * other * left;
                let (mut by_left, mut by_right) = (other * p, d * q);
                for a in 0..buffers {
                    let inputs = columns.input.epochs(c, a);
                    by_left += states[(e * buffers + a) * k + j - i] * inputs[j];
                    by_right += states[(a * buffers + e) * k + j - i] * inputs[i];
                    by_states[(e * buffers + a) * k + j - i] += weight * left * inputs[j];
                }
                self.by_input.epochs_mut(c, e)[i] += weight * by_left;
                self.by_input.epochs_mut(c, e)[j] += weight * by_right;
            }
            self.by_diagonal.epochs_mut(c, 0)[i] += weight * by_d;
            self.by_diagonal.epochs_mut(c, 0)[j] += weight * by_other;
        }
    }

    /// Turns the derivatives by T_m(u − 1) into those by T_m(u), and passes them on.
    #[inline(always)]
    fn transition(&mut self, u: usize, states: &[f64], by_states: &mut [f64]) {
        let columns = self.columns;
        let (k, b, buffers) = (columns.count, columns.period, columns.decays.len());
        let (c, i) = (u % b, u / b);
        for a in 0..buffers {
            for e in 0..buffers {
                let part = (a * buffers + e) * k..(a * buffers + e + 1) * k;
                let by_states = &mut by_states[part.clone()];
                let both: f64 = by_states.iter().zip(&states[part]).map(|(x, t)| x * t).sum();
                self.by_rates[a] -= both;
                self.by_rates[e] -= both;
                let factor = columns.decays[a] * columns.decays[e];
                by_states.iter_mut().for_each(|x| *x *= factor);
                let left = columns.output.epochs(c, a).get(i).copied().unwrap_or(0.0);
                for (j, by_state) in (i..k).zip(by_states) {
                    let right = columns.output.epochs(c, e)[j];
                    let (row, column) = (self.later.range(c, i, e), self.later.range(c, i, a));
                    let (row, column) = (row.start + j, column.start + j);
                    let (q, p) = (self.later.rows[row], self.later.columns[column]);
                    let coupling = self.s.row(c, i)[j];
                    self.by_output.epochs_mut(c, a)[i] += *by_state * (coupling * right + q);
                    self.by_output.epochs_mut(c, e)[j] += *by_state * (coupling * left + p);
                    self.by_later.rows[row] += *by_state * left;
                    self.by_later.columns[column] += *by_state * right;
                }
            }
        }
    }

    /// Passes the derivatives by q on.
    #[inline(always)]
    fn chains(&mut self) {
        let columns = self.columns;
        let (k, b) = (columns.count, columns.period as f64);
        for c in 0..columns.period {
            for i in 0..k {
                for (a, decay) in columns.decays_of_epoch.iter().enumerate() {
                    let row = self.later.range(c, i, a).start;
                    let mut sum = 0.0;
                    for j in 0..k {
                        let by_output = &mut self.by_output.epochs_mut(c, a)[j];
                        *by_output += self.s.row(c, i)[j] * sum;
                        let column = self.later.range(c, j, a).start + i;
                        sum += self.by_later.rows[row + j] + self.by_later.columns[column];
                        self.by_rates[a] -= b * sum * self.later.rows[row + j];
                        sum *= decay;
                    }
                }
            }
        }
    }
}
