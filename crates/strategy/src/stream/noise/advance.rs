//! The recurrences of all forms, for chunks of coordinates.

use std::mem;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use super::noisy_values::{NoisyValues, Remaining};
use crate::stream::{Chains, Coefficients, NoiseRecurrence, Truncated};
use matmech_linalg::{Loops, Wide};

/// Number of coordinates that are computed together. Their normals fit into the cache, and the
/// buffers are read in runs long enough to be prefetched.
const CHUNK: usize = 8192;

/// Maximum number of threads. More wait for the memory of the buffers.
const MAX_THREADS: usize = 8;

/// Minimum number of chunks per thread: starting a thread takes about as long as one chunk.
const CHUNKS_PER_THREAD: usize = 4;

/// Independent standard normals, indexed by step, coordinate and chain.
pub(super) trait Normals: Sync {
    /// The normals of one chunk of coordinates in one step.
    type Chunk: ChunkNormals;

    /// Returns the normals of a chunk, the `index`-th, in a step. Every call returns the same.
    fn chunk(&self, step: usize, index: usize) -> Self::Chunk;
}

/// The normals of one chunk in one step, read once, chain by chain.
pub(super) trait ChunkNormals {
    /// Writes the normals of coordinates from `first` on, the first of the chunk, for one chain.
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

    /// Adds the noise of a step, times a scale, to values whose coordinates follow each other: as
    /// many as there are coordinates. Steps are computed in order.
    ///
    /// Every chunk is computed by one of the threads. They share nothing that is written, so the
    /// result does not depend on their number.
    pub fn advance<S: Normals>(
        &mut self,
        coefficients: &Coefficients,
        step: usize,
        source: &S,
        (scale, values): (f64, &mut [NoisyValues<'_>]),
        threads: usize,
    ) {
        let tasks = Mutex::new(Tasks {
            index: 0,
            coordinates: self.coordinates,
            buffers: self.buffers,
            state: &mut self.state,
            values: Remaining::new(values),
        });
        let work = || {
            loop {
                let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(task) = next else { break };
                task.run(coefficients, step, source, scale);
            }
        };
        // Threads of this step, not of a global pool: a process that is forked has no threads of the
        // pool of its parent, and would wait for them. If no thread starts, this one does the work.
        std::thread::scope(|scope| {
            for _ in 1..threads {
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
    }
}

/// Returns the number of threads for some coordinates: at most [`MAX_THREADS`], and one where
/// starting others takes longer than the noise.
pub(super) fn threads(coordinates: usize) -> usize {
    let useful = (coordinates / (CHUNKS_PER_THREAD * CHUNK)).min(MAX_THREADS);
    if useful < 2 {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, NonZero::get).min(useful)
}

/// The chunks of a step that no thread has yet.
struct Tasks<'a> {
    index: usize,
    coordinates: usize,
    buffers: usize,
    state: &'a mut [f64],
    values: Remaining<'a>,
}

impl<'a> Iterator for Tasks<'a> {
    type Item = Task<'a>;

    fn next(&mut self) -> Option<Task<'a>> {
        let (index, first) = (self.index, self.index * CHUNK);
        let length = self.coordinates.checked_sub(first).filter(|&left| left > 0)?.min(CHUNK);
        // A form without buffers would have empty chunks.
        let (state, rest) = mem::take(&mut self.state).split_at_mut(self.buffers * length);
        self.state = rest;
        self.index += 1;
        Some(Task { index, length, state, values: self.values.take(length) })
    }
}

/// A chunk, and the values that get its noise.
struct Task<'a> {
    index: usize,
    length: usize,
    state: &'a mut [f64],
    values: Vec<NoisyValues<'a>>,
}

impl Task<'_> {
    fn run<S: Normals>(self, coefficients: &Coefficients, step: usize, source: &S, scale: f64) {
        let Task { index, length, state, values } = self;
        if step == 0 {
            // Pages of new memory that are read before they are written are mapped twice.
            state.fill(0.0);
        }
        let lag = coefficients.lag();
        let lags = (0..=coefficients.lags()).take_while(|lags| lags * lag <= step);
        let mut sources: Vec<_> = lags.map(|g| source.chunk(step - g * lag, index)).collect();
        let mut noise = [0.0; CHUNK];
        let noise = &mut noise[..length];
        let mut chunk = Chunk { first: index * CHUNK, state, sources: &mut sources, noise };
        match coefficients {
            Coefficients::Recurrence(form) => chunk.recurrence(form, step),
            Coefficients::Chains(form) => chunk.chains(form, step),
            Coefficients::Truncated(form) if form.keeps_history() => chunk.history(form, step),
            Coefficients::Truncated(form) => chunk.copies(form, step),
        }
        let mut noise = &*noise;
        for mut part in values {
            let (now, later) = noise.split_at(part.len());
            part.add(scale, now);
            noise = later;
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

impl<S: ChunkNormals> Chunk<'_, S> {
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
