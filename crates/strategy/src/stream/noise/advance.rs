//! The recurrences of all forms, for chunks of coordinates.

use crate::stream::{Chains, Coefficients, NoiseRecurrence, Truncated};
use matmech_linalg::{Loops, Wide};

/// Number of coordinates that are computed together. Their normals fit into the cache, and the
/// buffers are read in runs long enough to be prefetched.
const CHUNK: usize = 8192;

/// Independent standard normals, indexed by step, coordinate and chain.
pub(super) trait Normals {
    /// The normals of one step.
    type Step: StepNormals;

    /// Returns the normals of a step, from the first coordinate on. Every call returns the same.
    fn step(&self, step: usize) -> Self::Step;
}

/// The normals of one step, read in a fixed order.
pub(super) trait StepNormals {
    /// Writes the normals of coordinates from `first` on, for one chain.
    fn fill(&mut self, first: usize, chain: usize, normals: &mut [f64]);
}

/// The buffers of all coordinates.
#[derive(Debug)]
pub(super) struct Machine {
    /// Chunk by chunk, buffer by buffer.
    state: Vec<f64>,
    buffers: usize,
    coordinates: usize,
}

impl Machine {
    /// Creates buffers of zeros.
    pub fn new(coefficients: &Coefficients, coordinates: usize) -> Self {
        let buffers = coefficients.buffers();
        Machine { state: vec![0.0; buffers * coordinates], buffers, coordinates }
    }

    /// Creates buffers with contents that [`state`](Machine::state) returned; `None` if their
    /// number is another.
    pub fn with_state(
        coefficients: &Coefficients,
        coordinates: usize,
        state: Vec<f64>,
    ) -> Option<Self> {
        let buffers = coefficients.buffers();
        (buffers.checked_mul(coordinates) == Some(state.len())).then_some(Machine {
            state,
            buffers,
            coordinates,
        })
    }

    /// Returns the contents of the buffers.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// Returns the number of coordinates.
    pub fn coordinates(&self) -> usize {
        self.coordinates
    }

    /// Computes the noise of a step, which `receive` gets in chunks, with the index of the first
    /// coordinate. Steps are computed in order.
    pub fn advance<S: Normals>(
        &mut self,
        coefficients: &Coefficients,
        step: usize,
        source: &S,
        mut receive: impl FnMut(usize, &[f64]),
    ) {
        let lag = coefficients.lag();
        let lags = (0..=coefficients.lags()).take_while(|lags| lags * lag <= step);
        let mut sources: Vec<S::Step> = lags.map(|g| source.step(step - g * lag)).collect();
        let mut noise = [0.0; CHUNK];
        // A form without buffers would have empty chunks.
        let mut state = self.state.as_mut_slice();
        for first in (0..self.coordinates).step_by(CHUNK) {
            let noise = &mut noise[..CHUNK.min(self.coordinates - first)];
            let (chunk, rest) = state.split_at_mut(self.buffers * noise.len());
            state = rest;
            let mut chunk = Chunk { first, state: chunk, sources: &mut sources, noise };
            match coefficients {
                Coefficients::Recurrence(form) => chunk.recurrence(form, step),
                Coefficients::Chains(form) => chunk.chains(form, step),
                Coefficients::Truncated(form) if form.keeps_history() => chunk.history(form, step),
                Coefficients::Truncated(form) => chunk.copies(form, step),
            }
            receive(first, noise);
        }
    }
}

/// A chunk of coordinates in one step.
struct Chunk<'a, S> {
    first: usize,
    state: &'a mut [f64],
    sources: &'a mut [S],
    noise: &'a mut [f64],
}

impl<S: StepNormals> Chunk<'_, S> {
    /// `y = (z + Σ_g f_g z_{−g} − Σ_j H_j x_j)/d`, `x_j ← e^{−λ_j}(x_j + B_j y)`, noise `r y`.
    fn recurrence(&mut self, form: &NoiseRecurrence, t: usize) {
        let length = self.noise.len();
        let mut earlier = [0.0; CHUNK];
        for (g, source) in self.sources.iter_mut().enumerate() {
            if g == 0 {
                source.fill(self.first, 0, self.noise);
                continue;
            }
            let earlier = &mut earlier[..length];
            source.fill(self.first, 0, earlier);
            add(self.noise, form.taps[[g - 1, t]], earlier);
        }
        let inverse = form.diagonal[t].recip();
        let buffer = |j: usize| Buffer {
            output: -form.output[[t, j]],
            decay: (-form.rates[j]).exp(),
            input: form.input[[t, j]],
        };
        let single = form.rates.len().checked_sub(4).unwrap_or(form.rates.len());
        let (singles, four) = self.state.split_at_mut(single * length);
        for (j, x) in singles.chunks_exact(length).enumerate() {
            add(self.noise, buffer(j).output, x);
        }
        // Other buffers need y without its scale.
        let scaled = singles.is_empty() && !four.is_empty();
        let scale = form.scale[t];
        if four.is_empty() {
            self.noise.iter_mut().for_each(|y| *y *= inverse);
        } else {
            Wide::detect().run(FourBuffers {
                noise: self.noise,
                scales: (inverse, if scaled { scale } else { 1.0 }),
                state: four,
                buffers: std::array::from_fn(|j| buffer(single + j)),
            });
        }
        for (j, x) in singles.chunks_exact_mut(length).enumerate() {
            let Buffer { decay, input, .. } = buffer(j);
            store(x, decay, input, self.noise);
        }
        if !scaled {
            self.noise.iter_mut().for_each(|y| *y *= scale);
        }
    }

    /// `z_j ← φ_j z_j + σ_j ξ_j`; the noise is the change of their sum as in [`Chains`].
    fn chains(&mut self, form: &Chains, t: usize) {
        let length = self.noise.len();
        let mut normals = [0.0; CHUNK];
        let normals = &mut normals[..length];
        self.noise.fill(0.0);
        for (j, z) in self.state.chunks_exact_mut(length).enumerate() {
            for source in self.sources.iter_mut() {
                source.fill(self.first, j, normals);
            }
            let (phi, sigma) = (form.phi[[t, j]], form.sigma[[t, j]]);
            let (scale, factor) = (form.scale[t], form.factors[t]);
            for ((z, xi), noise) in z.iter_mut().zip(normals.iter()).zip(self.noise.iter_mut()) {
                let next = phi * *z + sigma * xi;
                *noise += scale * (next - factor * *z);
                *z = next;
            }
        }
    }

    /// Truncated exponentials with delayed copies, as in [`Truncated`].
    fn copies(&mut self, form: &Truncated, t: usize) {
        let (length, bands) = (self.noise.len(), form.bands);
        let (mut y, mut before) = ([0.0; CHUNK], [0.0; CHUNK]);
        let (y, before) = (&mut y[..length], &mut before[..length]);
        for (g, source) in self.sources.iter_mut().enumerate().rev() {
            let u = t - g * bands;
            source.fill(self.first, 0, y);
            let copy = &mut self.state[g * form.rates.len() * length..];
            for (j, (x, rate)) in copy.chunks_exact_mut(length).zip(&form.rates).enumerate() {
                if u >= bands {
                    add(x, -(-rate * bands as f64).exp() * form.input[[u - bands, j]], before);
                }
                add(y, -form.output[[u, j]], x);
            }
            let inverse = form.diagonal[u].recip();
            y.iter_mut().for_each(|y| *y *= inverse);
            for (j, (x, rate)) in copy.chunks_exact_mut(length).zip(&form.rates).enumerate() {
                store(x, (-rate).exp(), form.input[[u, j]], y);
            }
            before.copy_from_slice(y);
        }
        self.noise.iter_mut().zip(y.iter()).for_each(|(noise, y)| *noise = form.scale[t] * y);
    }

    /// Truncated exponentials with the last b − 1 values of y.
    fn history(&mut self, form: &Truncated, t: usize) {
        let (length, kept) = (self.noise.len(), form.bands - 1);
        for source in self.sources.iter_mut() {
            source.fill(self.first, 0, self.noise);
        }
        for s in t.saturating_sub(kept)..t {
            let y = &self.state[s % kept * length..][..length];
            add(self.noise, -form.entry(t, s), y);
        }
        let inverse = form.diagonal[t].recip();
        self.noise.iter_mut().for_each(|y| *y *= inverse);
        if kept > 0 {
            self.state[t % kept * length..][..length].copy_from_slice(self.noise);
        }
        self.noise.iter_mut().for_each(|y| *y *= form.scale[t]);
    }
}

/// The coefficients of one buffer in one step.
struct Buffer {
    output: f64,
    decay: f64,
    input: f64,
}

/// `y ← (y + Σ_j output_j x_j)/d`, `x_j ← decay_j·(x_j + input_j y)`, `y ← r y` for four buffers:
/// one pass over memory, which limits the speed.
struct FourBuffers<'a> {
    noise: &'a mut [f64],
    /// `1/d` and r.
    scales: (f64, f64),
    state: &'a mut [f64],
    buffers: [Buffer; 4],
}

impl Loops for FourBuffers<'_> {
    #[inline(always)]
    fn run(self) {
        let FourBuffers { noise, scales: (inverse, scale), state, buffers: [a, b, c, d] } = self;
        let (first, second) = state.split_at_mut(2 * noise.len());
        let (x0, x1) = first.split_at_mut(noise.len());
        let (x2, x3) = second.split_at_mut(noise.len());
        for ((((y, x0), x1), x2), x3) in noise.iter_mut().zip(x0).zip(x1).zip(x2).zip(x3) {
            let sum = *y + a.output * *x0 + b.output * *x1 + c.output * *x2 + d.output * *x3;
            let value = sum * inverse;
            *x0 = a.decay * (*x0 + a.input * value);
            *x1 = b.decay * (*x1 + b.input * value);
            *x2 = c.decay * (*x2 + c.input * value);
            *x3 = d.decay * (*x3 + d.input * value);
            *y = scale * value;
        }
    }
}

/// `a ← a + factor·b`.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

/// `x ← decay·(x + input·y)`.
fn store(x: &mut [f64], decay: f64, input: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = decay * (*x + input * y));
}
