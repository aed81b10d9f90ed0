//! The error of one participation and its derivatives, in linear time.
//!
//! The squared norm of column t of C₀ is `v_t = d_t² + B_tᵀ P_t B_t`, with `D = diag(e^{−λ})` and
//! the N × N matrices `P_{t−1} = D (H_t H_tᵀ + P_t) D`, `P_{n−1} = 0`. With `r_t = √v_t` the buffers
//! x and the answer s of the previous step have the covariance Σ_t, of order N + 1, and
//!
//! ```text
//! Σ_{t+1} = A_t Σ_t A_tᵀ + b_t b_tᵀ,    e_t = (Σ_{t+1})_ss,    Σ_0 = 0
//! A_t = [ D (I − B_t H_tᵀ/d_t)    0   ]    b_t = [ D B_t/d_t   ]
//!       [ −a_t r_t H_tᵀ/d_t       ρ_t ]          [ a_t r_t/d_t ]
//! ```
//!
//! Derivatives follow from the recurrences of the adjoint matrices. O(nN³) time, O(nN²) memory.

use ndarray::{Array1, Array2, Axis, Slice};

use super::objective::{Errors, Goal};
use super::semiseparable::Semiseparable;

/// Returns the logarithm of the objective and its derivatives by C₀, for one epoch.
///
/// `None` outside the domain: numbers overflow.
pub(super) fn evaluate(
    workload: &Errors,
    form: &Semiseparable,
    goal: Goal,
) -> Option<(f64, Semiseparable)> {
    let (n, buffers) = (form.steps(), form.rates.len());
    let decays: Array1<f64> = form.rates.iter().map(|rate| (-rate).exp()).collect();
    let norms = Norms::of(form, &decays);
    let scale: Vec<f64> = norms.squares.iter().map(|v| v.sqrt()).collect();
    let answers = Answers { workload, form, decays: &decays, scale: &scale };

    let mut covariances = Vec::with_capacity(n + 1);
    covariances.push(Array2::<f64>::zeros((buffers + 1, buffers + 1)));
    for t in 0..n {
        let (transition, input) = answers.step(t);
        let mut next = transition.dot(&covariances[t]).dot(&transition.t());
        add_outer(&mut next, 1.0, &input, &input);
        covariances.push(next);
    }
    let errors: Vec<f64> = covariances[1..].iter().map(|c| c[[buffers, buffers]]).collect();
    if !errors.iter().all(|e| *e > 0.0 && e.is_finite()) {
        return None;
    }
    let (value, by_errors) = goal.value(&errors);

    let mut gradient = Semiseparable::zeros(n, buffers);
    let mut by_scale = vec![0.0; n];
    let mut adjoint = Array2::<f64>::zeros((buffers + 1, buffers + 1));
    for t in (0..n).rev() {
        adjoint[[buffers, buffers]] += by_errors[t];
        let (transition, input) = answers.step(t);
        let image = adjoint.dot(&transition);
        let by_transition = image.dot(&covariances[t]) * 2.0;
        let by_input = adjoint.dot(&input) * 2.0;
        by_scale[t] = answers.add_gradient(t, &by_transition, &by_input, &mut gradient);
        adjoint = transition.t().dot(&image);
    }
    norms.add_gradient(form, &decays, &by_scale, &scale, &mut gradient);
    value.is_finite().then_some((value.ln(), gradient))
}

/// Adds `factor · x yᵀ`.
fn add_outer(matrix: &mut Array2<f64>, factor: f64, x: &Array1<f64>, y: &Array1<f64>) {
    for (mut row, x) in matrix.rows_mut().into_iter().zip(x) {
        row.scaled_add(factor * x, y);
    }
}

/// The squared column norms of C₀.
struct Norms {
    /// P, for every step.
    later: Vec<Array2<f64>>,
    /// v.
    squares: Vec<f64>,
}

impl Norms {
    fn of(form: &Semiseparable, decays: &Array1<f64>) -> Self {
        let (n, buffers) = (form.steps(), decays.len());
        let mut later = vec![Array2::zeros((buffers, buffers)); n];
        for t in (1..n).rev() {
            let mut sum = later[t].clone();
            let output = form.output.row(t).to_owned();
            add_outer(&mut sum, 1.0, &output, &output);
            later[t - 1] = congruent(decays, sum);
        }
        let square = |(t, p): (usize, &Array2<f64>)| {
            let input = form.input.row(t);
            form.diagonal[t].powi(2) + input.dot(&p.dot(&input))
        };
        let squares = later.iter().enumerate().map(square).collect();
        Norms { later, squares }
    }

    /// Adds the derivatives through v, given those by `r = √v`.
    fn add_gradient(
        &self,
        form: &Semiseparable,
        decays: &Array1<f64>,
        by_scale: &[f64],
        scale: &[f64],
        gradient: &mut Semiseparable,
    ) {
        // The derivative by P_{t−1}.
        let mut adjoint = Array2::<f64>::zeros((decays.len(), decays.len()));
        for t in 0..form.steps() {
            if t > 0 {
                let before = &adjoint * &self.later[t - 1];
                for (rate, sum) in gradient.rates.iter_mut().zip(before.rows()) {
                    *rate -= 2.0 * sum.sum();
                }
                adjoint = congruent(decays, adjoint);
                let by_output = adjoint.dot(&form.output.row(t));
                gradient.output.row_mut(t).scaled_add(2.0, &by_output);
            }
            let by_square = by_scale[t] / (2.0 * scale[t]);
            gradient.diagonal[t] += 2.0 * by_square * form.diagonal[t];
            let input = form.input.row(t).to_owned();
            gradient.input.row_mut(t).scaled_add(2.0 * by_square, &self.later[t].dot(&input));
            add_outer(&mut adjoint, by_square, &input, &input);
        }
    }
}

/// Returns `D M D`.
fn congruent(decays: &Array1<f64>, mut matrix: Array2<f64>) -> Array2<f64> {
    for (mut row, decay) in matrix.rows_mut().into_iter().zip(decays) {
        row.zip_mut_with(decays, |x, other| *x *= decay * other);
    }
    matrix
}

/// The recurrence of the buffers and the answers.
struct Answers<'a> {
    workload: &'a Errors,
    form: &'a Semiseparable,
    decays: &'a Array1<f64>,
    scale: &'a [f64],
}

impl Answers<'_> {
    /// Returns b_t up to `1/d_t`: `(D B_t, a_t r_t)`.
    fn gains(&self, t: usize) -> Array1<f64> {
        let buffers = self.decays.iter().zip(self.form.input.row(t)).map(|(decay, b)| decay * b);
        buffers.chain([self.workload.gains[t] * self.scale[t]]).collect()
    }

    /// Returns A_t and b_t.
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

    /// Adds the derivatives through A_t and b_t; returns that by r_t.
    fn add_gradient(
        &self,
        t: usize,
        by_transition: &Array2<f64>,
        by_input: &Array1<f64>,
        gradient: &mut Semiseparable,
    ) -> f64 {
        let buffers = self.decays.len();
        let pivot = 1.0 / self.form.diagonal[t];
        let gains = self.gains(t);
        let left = by_transition.slice_axis(Axis(1), Slice::from(..buffers));
        // A_t = diag(D, ρ) − gains (H/d)ᵀ and b_t = gains/d.
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
