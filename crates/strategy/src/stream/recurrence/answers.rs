//! The variances of the answers in linear time, and their derivatives.
//!
//! Let e be the noise at unit scale, with the covariance T_ih between the steps of epochs i and h of
//! one pattern and none between patterns. The buffers and the answer of the previous step follow
//!
//! ```text
//! ξ_{t+1} = A_t ξ_t + g_t e_t,    ξ_0 = 0
//! A_t = [ D (I − B_t H_tᵀ/d_t)    0   ]    g_t = [ D B_t/d_t   ]
//!       [ −a_t r_t H_tᵀ/d_t       ρ_t ]          [ a_t r_t/d_t ]
//! ```
//!
//! With the effects z_th on ξ_t of e at step c + hb, for step t of pattern c in epoch i > h, the
//! covariance of ξ is
//!
//! ```text
//! Σ_{t+1} = A_t Σ_t A_tᵀ + A_t v_t g_tᵀ + g_t v_tᵀ A_tᵀ + T_ii g_t g_tᵀ,    v_t = Σ_{h<i} T_ih z_th
//! z_th = A_{t−1} ⋯ A_{t−b+1} y_th,    y_th = A_{t−b} z_{t−b,h} for h < i − 1,    y_{t,i−1} = g_{t−b}
//! ```
//!
//! The product is Q_t R_t, of the steps of t's own epoch and of those of the epoch before.
//! Derivatives follow from the recurrences in reverse order. O(nN²(N + k)) time, O(nN(N + k)) memory.

use std::cell::RefCell;

use ndarray::{Array1, Array2, Axis, Slice};

use super::patterns::Blocks;
use super::semiseparable::Semiseparable;

/// The recurrence of the buffers and the answers, with its covariances.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    workload: &'a Errors,
    form: &'a Semiseparable,
    scale: &'a [f64],
    /// T.
    noise: &'a Blocks,
    decays: Array1<f64>,
    /// A.
    transitions: Vec<Array2<f64>>,
    /// g.
    inputs: Vec<Array1<f64>>,
    /// Q_t, the product of the transitions of the epoch before step t.
    before: Vec<Array2<f64>>,
    /// The product of the transitions of the epoch from step t on. R_t is that of step t − b + 1.
    after: Vec<Array2<f64>>,
    /// z, for every step.
    effects: Vec<Vec<Array1<f64>>>,
    /// v.
    correlated: Vec<Array1<f64>>,
    /// Σ_0 to Σ_n.
    covariances: Vec<Array2<f64>>,
}

/// Derivatives by the quantities of one step.
struct StepDerivatives {
    /// By A_t.
    by_transition: Array2<f64>,
    /// By g_t.
    by_input: Array1<f64>,
    /// By v_t.
    by_correlated: Array1<f64>,
    /// By T_ii.
    by_variance: f64,
}

impl<'a> Answers<'a> {
    /// Computes all covariances, with the scale r of the patterns and the blocks of T.
    pub fn new(
        workload: &'a Errors,
        form: &'a Semiseparable,
        scale: &'a [f64],
        noise: &'a Blocks,
    ) -> Self {
        let (n, b, order) = (form.steps(), workload.period, form.rates.len() + 1);
        let mut answers = Answers {
            workload,
            form,
            scale,
            noise,
            decays: form.rates.iter().map(|rate| (-rate).exp()).collect(),
            transitions: Vec::with_capacity(n),
            inputs: Vec::with_capacity(n),
            before: Vec::new(),
            after: Vec::new(),
            effects: Vec::with_capacity(n),
            correlated: Vec::with_capacity(n),
            covariances: vec![Array2::zeros((order, order))],
        };
        for t in 0..n {
            let (transition, input) = answers.step(t);
            answers.transitions.push(transition);
            answers.inputs.push(input);
        }
        if workload.count > 1 {
            answers.multiply_transitions();
        }
        for t in 0..n {
            let effects: Vec<Array1<f64>> = (0..t / b)
                .map(|h| answers.before[t].dot(&answers.effect_in_epoch_before(t, h).1))
                .collect();
            let mut correlated = Array1::zeros(order);
            for (effect, weight) in effects.iter().zip(noise.row(t % b, t / b)) {
                correlated.scaled_add(*weight, effect);
            }
            let (transition, input) = (&answers.transitions[t], &answers.inputs[t]);
            let mut next = transition.dot(&answers.covariances[t]).dot(&transition.t());
            let mut image = transition.dot(&correlated);
            add_outer(&mut next, 1.0, input, &image);
            image.scaled_add(noise.row(t % b, t / b)[t / b], input);
            add_outer(&mut next, 1.0, &image, input);
            answers.covariances.push(next);
            answers.effects.push(effects);
            answers.correlated.push(correlated);
        }
        answers
    }

    /// Returns the variances of the answers.
    pub fn variances(&self) -> Vec<f64> {
        let last = self.form.rates.len();
        self.covariances[1..].iter().map(|covariance| covariance[[last, last]]).collect()
    }

    /// Adds the derivatives of `Σ_t w_t Var_t` by C₀ to `gradient`; returns those by T, as the
    /// symmetric matrices G with `Σ_t w_t Var_t = tr(TG)` for each pattern, and those by r.
    pub fn add_gradient(
        &self,
        weights: &[f64],
        gradient: &mut Semiseparable,
    ) -> (Blocks, Vec<f64>) {
        let (n, b, buffers) = (self.form.steps(), self.workload.period, self.form.rates.len());
        let mut by_noise = Blocks::zeros(self.workload.count, b);
        let mut steps = Vec::with_capacity(n);
        // The derivative by Σ_{t+1}.
        let mut adjoint = Array2::<f64>::zeros((buffers + 1, buffers + 1));
        for t in (0..n).rev() {
            adjoint[[buffers, buffers]] += weights[t];
            let (step, by_covariance) = self.derivatives_of_step(t, &adjoint);
            self.set_gradient_of_noise(t, &step, &mut by_noise);
            adjoint = by_covariance;
            steps.push(step);
        }
        steps.reverse();
        if self.workload.count > 1 {
            self.add_gradient_of_effects(&mut steps);
        }
        let by_scale = steps.iter().enumerate();
        let by_scale = by_scale.map(|(t, step)| self.add_gradient_of_step(t, step, gradient));
        (by_noise, by_scale.collect())
    }

    /// Returns the derivatives of a step, and that by Σ_t, with the derivative Λ by Σ_{t+1}:
    ///
    /// ```text
    /// ∂A_t = 2 Λ A_t Σ_t + 2 Λ g_t v_tᵀ      ∂v_t = 2 A_tᵀ Λ g_t
    /// ∂g_t = 2 Λ A_t v_t + 2 T_ii Λ g_t      ∂Σ_t = A_tᵀ Λ A_t
    /// ```
    fn derivatives_of_step(
        &self,
        t: usize,
        adjoint: &Array2<f64>,
    ) -> (StepDerivatives, Array2<f64>) {
        let (c, i) = (t % self.workload.period, t / self.workload.period);
        let (transition, input) = (&self.transitions[t], &self.inputs[t]);
        let image = adjoint.dot(transition);
        let along = adjoint.dot(input);
        let mut by_transition = image.dot(&self.covariances[t]) * 2.0;
        add_outer(&mut by_transition, 2.0, &along, &self.correlated[t]);
        let mut by_input = image.dot(&self.correlated[t]) * 2.0;
        by_input.scaled_add(2.0 * self.noise.row(c, i)[i], &along);
        let by_correlated = transition.t().dot(&along) * 2.0;
        let step = StepDerivatives {
            by_transition,
            by_input,
            by_correlated,
            by_variance: input.dot(&along),
        };
        (step, transition.t().dot(&image))
    }

    /// Sets the derivatives by row and column i of T: `g_tᵀ Λ g_t` by T_ii, and `∂v_t·z_th / 2` by
    /// T_ih and T_hi for h < i.
    fn set_gradient_of_noise(&self, t: usize, step: &StepDerivatives, by_noise: &mut Blocks) {
        let (c, i) = (t % self.workload.period, t / self.workload.period);
        let row = by_noise.row_mut(c, i);
        row[i] = step.by_variance;
        for (x, effect) in row.iter_mut().zip(&self.effects[t]) {
            *x = 0.5 * step.by_correlated.dot(effect);
        }
        (0..i).for_each(|h| by_noise.row_mut(c, h)[i] = by_noise.row(c, i)[h]);
    }

    /// Returns y_th and R_t y_th.
    fn effect_in_epoch_before(&self, t: usize, h: usize) -> (Array1<f64>, Array1<f64>) {
        let earlier = t - self.workload.period;
        let effect = match self.effects[earlier].get(h) {
            Some(effect) => self.transitions[earlier].dot(effect),
            None => self.inputs[earlier].clone(),
        };
        let image = match self.is_first(earlier + 1) {
            true => effect.clone(),
            false => self.after[earlier + 1].dot(&effect),
        };
        (effect, image)
    }

    /// Returns whether a step is the first of its epoch.
    fn is_first(&self, t: usize) -> bool {
        t.is_multiple_of(self.workload.period)
    }

    fn multiply_transitions(&mut self) {
        let order = self.decays.len() + 1;
        for t in 0..self.transitions.len() {
            self.before.push(match self.is_first(t) {
                true => Array2::eye(order),
                false => self.transitions[t - 1].dot(&self.before[t - 1]),
            });
        }
        let mut after: Vec<Array2<f64>> = Vec::with_capacity(self.transitions.len());
        for t in (0..self.transitions.len()).rev() {
            after.push(match after.last() {
                Some(later) if !self.is_first(t + 1) => later.dot(&self.transitions[t]),
                _ => self.transitions[t].clone(),
            });
        }
        after.reverse();
        self.after = after;
    }

    /// Passes the derivatives by v on to A and g.
    fn add_gradient_of_effects(&self, steps: &mut [StepDerivatives]) {
        let (n, b, order) = (self.form.steps(), self.workload.period, self.decays.len() + 1);
        let zeros = || vec![Array2::<f64>::zeros((order, order)); n + 1];
        let (mut by_before, mut by_after) = (zeros(), zeros());
        let mut by_effects: Vec<Vec<Array1<f64>>> = (0..n)
            .map(|t| {
                let couplings = &self.noise.row(t % b, t / b)[..t / b];
                couplings.iter().map(|weight| &steps[t].by_correlated * *weight).collect()
            })
            .collect();
        for t in (b..n).rev() {
            let earlier = t - b;
            for (h, by_effect) in std::mem::take(&mut by_effects[t]).iter().enumerate() {
                let (effect, image) = self.effect_in_epoch_before(t, h);
                add_outer(&mut by_before[t], 1.0, by_effect, &image);
                let mut by_image = self.before[t].t().dot(by_effect);
                if !self.is_first(earlier + 1) {
                    add_outer(&mut by_after[earlier + 1], 1.0, &by_image, &effect);
                    by_image = self.after[earlier + 1].t().dot(&by_image);
                }
                match self.effects[earlier].get(h) {
                    None => steps[earlier].by_input += &by_image,
                    Some(effect) => {
                        add_outer(&mut steps[earlier].by_transition, 1.0, &by_image, effect);
                        by_effects[earlier][h] += &self.transitions[earlier].t().dot(&by_image);
                    }
                }
            }
        }
        for t in (1..n).rev().filter(|&t| !self.is_first(t)) {
            steps[t - 1].by_transition += &by_before[t].dot(&self.before[t - 1].t());
            let passed = self.transitions[t - 1].t().dot(&by_before[t]);
            by_before[t - 1] += &passed;
        }
        for t in 0..n {
            if self.is_first(t + 1) {
                steps[t].by_transition += &by_after[t];
            } else {
                steps[t].by_transition += &self.after[t + 1].t().dot(&by_after[t]);
                let passed = by_after[t].dot(&self.transitions[t].t());
                by_after[t + 1] += &passed;
            }
        }
    }

    /// Returns g_t up to `1/d_t`: `(D B_t, a_t r_t)`.
    fn gains(&self, t: usize) -> Array1<f64> {
        let buffers = self.decays.iter().zip(self.form.input.row(t)).map(|(decay, b)| decay * b);
        let scale = self.scale[t % self.workload.period];
        buffers.chain([self.workload.gains[t] * scale]).collect()
    }

    /// Returns A_t and g_t.
    fn step(&self, t: usize) -> (Array2<f64>, Array1<f64>) {
        let buffers = self.decays.len();
        let input = self.gains(t) / self.form.diagonal[t];
        let mut transition = Array2::zeros((buffers + 1, buffers + 1));
        for (i, gain) in input.iter().enumerate() {
            for (j, output) in self.form.output.row(t).iter().enumerate() {
                transition[[i, j]] = -gain * output;
            }
        }
        self.decays.iter().enumerate().for_each(|(j, decay)| transition[[j, j]] += decay);
        transition[[buffers, buffers]] = self.workload.factors[t];
        (transition, input)
    }

    /// Adds the derivatives through A_t and g_t; returns that by r_t.
    fn add_gradient_of_step(
        &self,
        t: usize,
        StepDerivatives { by_transition, by_input, .. }: &StepDerivatives,
        gradient: &mut Semiseparable,
    ) -> f64 {
        let buffers = self.decays.len();
        let pivot = 1.0 / self.form.diagonal[t];
        let gains = self.gains(t);
        let left = by_transition.slice_axis(Axis(1), Slice::from(..buffers));
        // A_t = diag(D, ρ) − gains (H/d)ᵀ and g_t = gains/d.
        gradient.output.row_mut(t).scaled_add(-pivot, &left.t().dot(&gains));
        let by_gains = (by_input - &left.dot(&self.form.output.row(t))) * pivot;
        gradient.diagonal[t] -= by_gains.dot(&gains) * pivot;
        for j in 0..buffers {
            gradient.input[[t, j]] += by_gains[j] * self.decays[j];
            gradient.rates[j] -= by_gains[j] * gains[j] + by_transition[[j, j]] * self.decays[j];
        }
        by_gains[buffers] * self.workload.gains[t]
    }
}

/// Adds `factor · x yᵀ`.
fn add_outer(matrix: &mut Array2<f64>, factor: f64, x: &Array1<f64>, y: &Array1<f64>) {
    for (mut row, x) in matrix.rows_mut().into_iter().zip(x) {
        row.scaled_add(factor * x, y);
    }
}

/// The workload `y_t = ρ_t y_{t−1} + a_t x_t`, for the patterns of k epochs of b steps.
#[derive(Debug)]
pub(super) struct Errors {
    /// k.
    pub count: usize,
    /// b.
    pub period: usize,
    /// ρ, with ρ_0 = 0.
    pub factors: Vec<f64>,
    /// a.
    pub gains: Vec<f64>,
    /// The solutions of the last two linear systems, where the next ones start.
    pub last: RefCell<(Vec<f64>, Vec<f64>)>,
}

impl Errors {
    /// Creates the workload from ρ and a.
    pub fn new(count: usize, period: usize, factors: Vec<f64>, gains: Vec<f64>) -> Self {
        let unknowns = count * (count - 1) / 2 * period;
        let last = RefCell::new((vec![0.0; unknowns], vec![0.0; unknowns]));
        Errors { count, period, factors, gains, last }
    }
}
