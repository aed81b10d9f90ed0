//! The fit of truncated exponentials.
//!
//! The error of a banded matrix is minimised over the rates, the inputs and the outputs, together
//! with the multipliers y and z of the pattern polytope that set the norms of the columns (see
//! [`BandedFactor`]). Inputs and rates determine the band up to the scale of its columns, so the
//! diagonal is 1. The derivative follows from that by the entries of the band.

use std::f64::consts::FRAC_2_PI;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::Truncated;
use crate::error::{Error, Result};
use crate::optimal::BandedFactor;
use crate::progress::goes_on;
use crate::stream::coefficients::Coefficients;
use crate::stream::fitted::Fitted;
use crate::{Problem, Status};
use matmech_linalg::{Metric, QuasiNewton, SmoothFunction, SpdFactor};

/// Maximum number of steps of a workload.
const MAX_STEPS: usize = 2048;

/// Default of the maximum number of quasi-Newton steps.
const MAX_ITERATIONS: usize = 3000;

/// Number of quasi-Newton steps over which progress is measured.
const STRIDE: usize = 25;

/// Decrease of the error's logarithm over these steps at which the fit stops.
const PROGRESS: f64 = 2e-6;

/// Addition to the diagonal of a block of the curvature, relative to its mean. Exponentials of close
/// rates have nearly the same derivative.
const RIDGE: f64 = 1e-2;

/// The parametrisation of a band by exponentials.
struct Exponentials {
    band: BandedFactor,
    steps: usize,
    bands: usize,
    buffers: usize,
}

impl Exponentials {
    /// Returns the number of variables without multipliers: ln λ, H and B.
    fn free(&self) -> usize {
        self.buffers + 2 * self.steps * self.buffers
    }

    /// Returns ln λ, H and B as slices; H and B row by row.
    fn parts<'x>(&self, x: &'x [f64]) -> (&'x [f64], &'x [f64], &'x [f64]) {
        let (rates, rest) = x.split_at(self.buffers);
        let (output, rest) = rest.split_at(self.steps * self.buffers);
        (rates, output, &rest[..self.steps * self.buffers])
    }

    /// Returns the number of entries of a column.
    fn length(&self, column: usize) -> usize {
        self.bands.min(self.steps - column)
    }

    /// Returns `e^{−λ_j τ}`, bands × buffers.
    fn decays(&self, rates: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((self.bands, self.buffers), |(lag, j)| {
            (-rates[j].exp() * lag as f64).exp()
        })
    }

    /// Returns the variables of [`BandedFactor`].
    fn entries(&self, x: &[f64]) -> Vec<f64> {
        let (rates, output, input) = self.parts(x);
        let (decays, n) = (self.decays(rates), self.buffers);
        let mut entries = Vec::with_capacity(self.band.entries());
        for (s, input) in input.chunks_exact(n).enumerate() {
            entries.push(1.0);
            for lag in 1..self.length(s) {
                let terms = output[(s + lag) * n..][..n].iter().zip(input).zip(decays.row(lag));
                entries.push(terms.map(|((h, b), decay)| h * b * decay).sum());
            }
        }
        entries.extend(&x[self.free()..]);
        entries
    }

    /// Returns rates that are geometric from 1.5/b to 1, the square root of the prefix sums as a
    /// sum of their exponentials, and equal y and z.
    ///
    /// The coefficients of the square root are moments, `∫ x^τ dx / (π √(x(1−x)))` over [0, 1];
    /// every rate gets the mass of its part of the interval.
    fn start(&self) -> Vec<f64> {
        let slowest = 1.5 / self.bands as f64;
        let last = (self.buffers - 1).max(1) as f64;
        let rates: Vec<f64> =
            (0..self.buffers).map(|j| slowest.powf(1.0 - j as f64 / last)).collect();
        // Mass up to x = e^{−λ}.
        let mass = |rate: f64| FRAC_2_PI * (-0.5 * rate).exp().asin();
        let bounds: Vec<f64> = rates.windows(2).map(|pair| (pair[0] * pair[1]).sqrt()).collect();
        let weights: Vec<f64> = (0..self.buffers)
            .map(|j| {
                let above = if j == 0 { 1.0 } else { mass(bounds[j - 1]) };
                let below = bounds.get(j).map_or(0.0, |&bound| mass(bound));
                (above - below).sqrt()
            })
            .collect();
        let mut x: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        (0..2 * self.steps).for_each(|_| x.extend(&weights));
        let multipliers = self.band.start();
        x.extend(&multipliers[self.band.entries()..]);
        x
    }

    /// Returns the factors of the blocks of `JᵀDJ`: of the rates, of the rows of H and of those of B.
    /// D has the squares of the columns' scales. O(n·b·N²).
    ///
    /// # Errors
    /// A variable is not finite.
    fn curvatures(&self, x: &[f64], scales: &[f64]) -> Result<Vec<SpdFactor>> {
        let (rates, output, input) = self.parts(x);
        let (decays, n) = (self.decays(rates), self.buffers);
        let outer = |row: &[f64]| -> Vec<f64> {
            row.iter().flat_map(|a| row.iter().map(move |b| a * b)).collect()
        };
        let outers = |rows: &[f64]| -> Vec<f64> { rows.chunks_exact(n).flat_map(outer).collect() };
        let (size, speeds) = (n * n, rates.iter().map(|rate| rate.exp()).collect::<Vec<_>>());
        let decays: Vec<f64> =
            decays.rows().into_iter().flat_map(|row| outer(&row.to_vec())).collect();
        let (output, input, speeds) = (outers(output), outers(input), outer(&speeds));
        let mut blocks = vec![0.0; (1 + 2 * self.steps) * size];
        let (by_rates, rest) = blocks.split_at_mut(size);
        let (by_output, by_input) = rest.split_at_mut(self.steps * size);
        for (s, scale) in scales.iter().enumerate() {
            for lag in 1..self.length(s) {
                let squares = (scale * scale, scale * scale * (lag * lag) as f64);
                let (row, column) = ((s + lag) * size, s * size);
                for i in 0..size {
                    let (decay, h, b) =
                        (decays[lag * size + i], output[row + i], input[column + i]);
                    by_output[row + i] += squares.0 * decay * b;
                    by_input[column + i] += squares.0 * decay * h;
                    by_rates[i] += squares.1 * decay * h * b;
                }
            }
        }
        by_rates.iter_mut().zip(&speeds).for_each(|(x, speed)| *x *= speed);
        let factor = |block: &[f64]| {
            let mut block = ArrayView2::from_shape((n, n), block)
                .map_err(|_| Error::bug("truncated exponentials", "square blocks", "others"))?
                .to_owned();
            let ridge = RIDGE * block.diag().mean().unwrap_or(0.0);
            // The first row of H and the last of B reach no entry.
            let ridge = if ridge > 0.0 { ridge } else { 1.0 };
            block.diag_mut().mapv_inplace(|x| x + ridge);
            SpdFactor::of(block.view()).map_err(Error::from)
        };
        blocks.chunks_exact(size).map(factor).collect()
    }

    /// Returns the coefficients at the variables, with squared sensitivity 1.
    fn coefficients(&self, x: &[f64]) -> Result<Truncated> {
        let (rates, output, input) = self.parts(x);
        let shape = (self.steps, self.buffers);
        let table = |values: &[f64]| {
            Array2::from_shape_vec(shape, values.to_vec())
                .map_err(|_| Error::bug("truncated exponentials", "steps × buffers", "others"))
        };
        let scales = self.band.column_scales(&self.entries(x));
        Ok(Truncated {
            rates: rates.iter().map(|rate| rate.exp()).collect(),
            input: table(input)?,
            output: table(output)?,
            diagonal: vec![1.0; self.steps],
            scale: scales.iter().map(|scale| scale.recip()).collect(),
            bands: self.bands,
        })
    }
}

impl SmoothFunction for Exponentials {
    type Error = Error;

    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (value, by_entries) = self.band.evaluate(&self.entries(x))?;
        let (rates, output, input) = self.parts(x);
        let (decays, n) = (self.decays(rates), self.buffers);
        let mut gradient = vec![0.0; self.free()];
        let (by_rates, rest) = gradient.split_at_mut(n);
        let (by_output, by_input) = rest.split_at_mut(self.steps * n);
        let mut derivatives = by_entries.iter();
        for s in 0..self.steps {
            derivatives.next();
            for (lag, derivative) in (1..self.length(s)).zip(derivatives.by_ref()) {
                let row = (s + lag) * n;
                for j in 0..n {
                    let factor = derivative * decays[[lag, j]];
                    let (h, b) = (output[row + j], input[s * n + j]);
                    by_output[row + j] += factor * b;
                    by_input[s * n + j] += factor * h;
                    by_rates[j] -= factor * h * b * lag as f64;
                }
            }
        }
        by_rates.iter_mut().zip(rates).for_each(|(by, rate)| *by *= rate.exp());
        gradient.extend(derivatives);
        Ok((value, gradient))
    }

    /// The second derivative is approximated by blocks of `JᵀDJ`, J the derivatives of the entries
    /// and D the inverse of the metric of [`BandedFactor`], whose part for the multipliers is used
    /// as it is.
    fn metric(&self, x: &[f64], free: &[bool]) -> Option<Metric<Error>> {
        let entries = self.entries(x);
        let mut free_of_band = vec![true; self.band.entries()];
        free_of_band.extend(&free[self.free()..]);
        let of_band = self.band.metric(&entries, &free_of_band)?;
        let factors = self.curvatures(x, &self.band.column_scales(&entries)).ok()?;
        let (size, first, band) = (self.buffers, self.free(), self.band.entries());
        Some(Box::new(move |v| {
            let (blocks, multipliers) = v.split_at_mut(first);
            for (block, factor) in blocks.chunks_exact_mut(size).zip(&factors) {
                let image = factor.solve(&ArrayView1::from(&*block).to_owned())?;
                block.iter_mut().zip(image).for_each(|(x, image)| *x = image);
            }
            let mut all = vec![0.0; band];
            all.extend(&*multipliers);
            of_band(&mut all)?;
            multipliers.copy_from_slice(&all[band..]);
            Ok(())
        }))
    }
}

/// Fits truncated exponentials with as many bands as the separation.
///
/// O(steps³) per step of the quasi-Newton method.
///
/// # Errors
/// Another participation than min-separation, another objective than `mean`, or more than 2048
/// steps.
pub(in crate::stream) fn fit(
    problem: &Problem<'_>,
    buffers: usize,
    max_iterations: Option<usize>,
) -> Result<Fitted> {
    let (bands, count, steps) = super::exponentials::check(problem, MAX_STEPS)?;
    let band = BandedFactor::new(problem.workload, bands, bands, count, true)?;
    let form = Exponentials { band, steps, bands, buffers };
    let mut state = QuasiNewton::from(&form, form.start(), form.free())?;
    let (mut iterations, mut status) = (0, Status::IterationLimit);
    let mut before = state.value;
    while iterations < max_iterations.unwrap_or(MAX_ITERATIONS) {
        iterations += 1;
        if state.step(&form)?.is_none() {
            status = Status::Stalled;
            break;
        }
        if !goes_on(iterations, 0.0, state.value.exp()) {
            status = Status::Interrupted;
            break;
        }
        if iterations % STRIDE == 0 {
            if before - state.value < PROGRESS {
                status = Status::Converged;
                break;
            }
            before = state.value;
        }
    }
    let coefficients = Coefficients::Truncated(form.coefficients(&state.x)?);
    Ok(Fitted { coefficients, assessment: None, status, iterations, bound: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use approx::assert_relative_eq;

    /// Oracle: central differences.
    #[test]
    fn the_derivative_matches_central_differences() {
        let workload = Workload::parse("range:9").unwrap();
        let band = BandedFactor::new(&workload, 4, 4, 2, true).unwrap();
        let form = Exponentials { band, steps: 9, bands: 4, buffers: 2 };
        let x: Vec<f64> =
            form.start().iter().enumerate().map(|(i, x)| x * (1.2 + (i as f64).sin())).collect();
        let (_, gradient) = form.evaluate(&x).unwrap();
        for i in 0..x.len() {
            let at = |change: f64| {
                let mut moved = x.clone();
                moved[i] += change;
                form.evaluate(&moved).unwrap().0
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((difference - gradient[i]).abs() < 1e-6 * (1.0 + gradient[i].abs()), "{i}");
        }
    }

    /// The coefficients have the band and the column norms of the variables.
    #[test]
    fn coefficients_have_the_error_of_the_variables() {
        let workload = Workload::parse("prefix:11").unwrap();
        let band = BandedFactor::new(&workload, 3, 3, 3, true).unwrap();
        let form = Exponentials { band, steps: 11, bands: 3, buffers: 2 };
        let x: Vec<f64> =
            form.start().iter().enumerate().map(|(i, x)| x * (1.2 + (i as f64).cos())).collect();
        let noise = form.coefficients(&x).unwrap().noise_matrix();
        let gram = workload.gram().unwrap().to_dense().unwrap();
        let error = (&gram * &noise.dot(&noise.t())).sum();
        assert_relative_eq!(error.ln(), form.evaluate(&x).unwrap().0, max_relative = 1e-12);
    }
}
