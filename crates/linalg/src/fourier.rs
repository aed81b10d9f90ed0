//! Fourier transforms over boxes of cells: power spectra by fast transforms of any length, and the
//! Walsh–Hadamard transform.
//!
//! Cells of a box are numbered row-major: the last axis varies fastest. This is the only module
//! that uses `rustfft`.

use std::fmt;
use std::sync::Arc;

use ndarray::ArrayView2;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::error::{Error, Result};

/// Discrete Fourier transforms over a row-major box.
///
/// `F_j = Σ_x v_x exp(−2πi Σ_k j_k x_k / n_k)`, not normalised.
pub struct BoxTransform {
    shape: Vec<usize>,
    axes: Vec<Arc<dyn Fft<f64>>>,
}

/// Shows the box only.
impl fmt::Debug for BoxTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxTransform").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl BoxTransform {
    /// Prepares transforms over a box.
    pub fn new(shape: &[usize]) -> Self {
        let mut planner = FftPlanner::new();
        BoxTransform {
            shape: shape.to_vec(),
            axes: shape.iter().map(|&n| planner.plan_fft_forward(n)).collect(),
        }
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// Transforms in place.
    ///
    /// O(cells log cells) time.
    fn forward(&self, values: &mut [Complex<f64>]) {
        let mut inner = 1;
        for (&n, axis) in self.shape.iter().zip(&self.axes).rev() {
            if inner == 1 {
                axis.process(values);
            } else {
                let mut line = vec![Complex::default(); n];
                for outer in (0..values.len()).step_by(n * inner) {
                    for offset in 0..inner {
                        let start = outer + offset;
                        for (k, x) in line.iter_mut().enumerate() {
                            *x = values[start + k * inner];
                        }
                        axis.process(&mut line);
                        for (k, x) in line.iter().enumerate() {
                            values[start + k * inner] = *x;
                        }
                    }
                }
            }
            inner *= n;
        }
    }

    /// Returns the power spectrum of some rows, `Σ_q |FFT(q)_j|²`, one value per frequency j.
    ///
    /// O(rows · cells log cells) time, O(cells) memory.
    ///
    /// # Errors
    /// A row has the wrong length.
    pub fn power(&self, rows: impl Iterator<Item = Vec<f64>>) -> Result<Vec<f64>> {
        let mut power = vec![0.0; self.cells()];
        for row in rows {
            self.check(row.len())?;
            let mut values: Vec<Complex<f64>> =
                row.into_iter().map(|x| Complex::new(x, 0.0)).collect();
            self.forward(&mut values);
            for (sum, x) in power.iter_mut().zip(&values) {
                *sum += x.norm_sqr();
            }
        }
        Ok(power)
    }

    /// Returns the power spectrum of the rows with Gram matrix `G = Σ_q qᵀq`.
    ///
    /// It is the transform of the shift sums `c_δ = Σ_x G[x, x+δ]`. O(cells²) time.
    ///
    /// # Errors
    /// The matrix has the wrong order.
    pub fn power_of_gram(&self, gram: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
        self.check(gram.nrows())?;
        self.check(gram.ncols())?;
        let cells = self.cells();
        let positions: Vec<Vec<usize>> =
            (0..cells).map(|cell| coordinates(&self.shape, cell)).collect();
        let mut shifts = vec![Complex::default(); cells];
        let mut shifted = vec![0; self.shape.len()];
        for (x, from) in positions.iter().enumerate() {
            for (delta, by) in positions.iter().enumerate() {
                for (m, ((a, b), n)) in shifted.iter_mut().zip(from.iter().zip(by).zip(&self.shape))
                {
                    *m = (a + b) % n;
                }
                shifts[delta] += gram[[x, cell_index(&self.shape, &shifted)]];
            }
        }
        self.forward(&mut shifts);
        // The power is a sum of squares: negative values are rounding errors.
        Ok(shifts.iter().map(|x| x.re.max(0.0)).collect())
    }

    /// Returns the first row of the circulant matrix with the given eigenvalues.
    ///
    /// `x_δ = (1/N) Σ_j s_j cos(2π j·δ/n)` for a spectrum that is real and even.
    ///
    /// # Errors
    /// The spectrum has the wrong length.
    pub fn circulant_row(&self, spectrum: &[f64]) -> Result<Vec<f64>> {
        self.check(spectrum.len())?;
        let mut values: Vec<Complex<f64>> =
            spectrum.iter().map(|&x| Complex::new(x, 0.0)).collect();
        self.forward(&mut values);
        let cells = self.cells() as f64;
        Ok(values.iter().map(|x| x.re / cells).collect())
    }

    /// Multiplies the circulant matrix with the given eigenvalues by a vector.
    ///
    /// The eigenvalues are real and even. O(cells log cells) time.
    ///
    /// # Errors
    /// The vector or the spectrum has the wrong length.
    pub fn filter(&self, values: &[f64], spectrum: &[f64]) -> Result<Vec<f64>> {
        self.check(values.len())?;
        self.check(spectrum.len())?;
        let mut transformed: Vec<Complex<f64>> =
            values.iter().map(|&x| Complex::new(x, 0.0)).collect();
        self.forward(&mut transformed);
        // The inverse transform is the forward one of the conjugate; the result is real.
        for (x, s) in transformed.iter_mut().zip(spectrum) {
            *x = x.conj() * s;
        }
        self.forward(&mut transformed);
        let cells = self.cells() as f64;
        Ok(transformed.iter().map(|x| x.re / cells).collect())
    }

    fn check(&self, found: usize) -> Result<()> {
        if found == self.cells() {
            return Ok(());
        }
        Err(Error::shape(
            "Fourier transform",
            format!("{} values, one per cell of {:?}", self.cells(), self.shape),
            found.to_string(),
            "pass one value per cell",
        ))
    }
}

/// Replaces `x` by `H x`.
///
/// `H_kj = (−1)^(number of ones in k & j)`, so `H H = n I`. O(n log n) time.
///
/// # Errors
/// The length is not a power of two.
pub fn walsh_hadamard(x: &mut [f64]) -> Result<()> {
    let n = x.len();
    if !n.is_power_of_two() {
        let remedy = "give every attribute a number of values that is a power of two";
        return Err(Error::shape(
            "Walsh–Hadamard transform",
            "a power of two",
            n.to_string(),
            remedy,
        ));
    }
    let mut half = 1;
    while half < n {
        for block in x.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    Ok(())
}

/// Returns the coordinates of cell `cell` in a row-major box of the given shape.
pub fn coordinates(shape: &[usize], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut out = vec![0; shape.len()];
    for (o, &size) in out.iter_mut().zip(shape).rev() {
        *o = rest % size;
        rest /= size;
    }
    out
}

/// Returns the cell at the given coordinates of a row-major box.
///
/// Inverse of [`coordinates`].
pub fn cell_index(shape: &[usize], coordinates: &[usize]) -> usize {
    shape.iter().zip(coordinates).fold(0, |index, (&size, &c)| index * size + c)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::Array2;

    use super::*;

    /// Returns `Σ_q |Σ_x q_x e^{−2πi j·x/n}|²`, term by term.
    fn power_by_definition(shape: &[usize], rows: &[Vec<f64>]) -> Vec<f64> {
        let cells: usize = shape.iter().product();
        (0..cells)
            .map(|j| {
                let frequency = coordinates(shape, j);
                rows.iter()
                    .map(|row| {
                        let (mut re, mut im) = (0.0, 0.0);
                        for (x, q) in row.iter().enumerate() {
                            let position = coordinates(shape, x);
                            let turns: f64 = frequency
                                .iter()
                                .zip(&position)
                                .zip(shape)
                                .map(|((j, x), n)| (j * x) as f64 / *n as f64)
                                .sum();
                            let angle = -2.0 * std::f64::consts::PI * turns;
                            re += q * angle.cos();
                            im += q * angle.sin();
                        }
                        re * re + im * im
                    })
                    .sum()
            })
            .collect()
    }

    #[test]
    fn powers_of_rows_and_of_their_gram_agree_with_the_definition() {
        for (seed, shape) in [(1.0, vec![3, 4]), (2.0, vec![7]), (3.0, vec![2, 3, 2])] {
            let cells: usize = shape.iter().product();
            let matrix =
                Array2::from_shape_fn((5, cells), |(i, j)| (seed * (i * cells + j) as f64).sin());
            let rows: Vec<Vec<f64>> = matrix.rows().into_iter().map(|row| row.to_vec()).collect();
            let transform = BoxTransform::new(&shape);
            let expected = power_by_definition(&shape, &rows);
            let by_rows = transform.power(rows.into_iter()).unwrap();
            let by_gram = transform.power_of_gram(matrix.t().dot(&matrix).view()).unwrap();
            for ((a, b), c) in by_rows.iter().zip(&by_gram).zip(&expected) {
                assert_abs_diff_eq!(a, c, epsilon = 1e-10);
                assert_abs_diff_eq!(b, c, epsilon = 1e-10);
            }
        }
        assert!(BoxTransform::new(&[3]).power(std::iter::once(vec![1.0])).is_err());
    }

    #[test]
    fn circulant_matrices_have_the_given_spectrum() {
        let spectrum = [4.0, 1.0, 0.5, 0.5, 1.0];
        let transform = BoxTransform::new(&[5]);
        let row = transform.circulant_row(&spectrum).unwrap();
        let matrix = Array2::from_shape_fn((5, 5), |(i, j)| row[(j + 5 - i) % 5]);
        let x = [1.0, -2.0, 0.5, 3.0, 0.0];
        let product = matrix.dot(&ndarray::arr1(&x)).to_vec();
        assert_abs_diff_eq!(
            transform.filter(&x, &spectrum).unwrap().as_slice(),
            product.as_slice(),
            epsilon = 1e-14
        );
        let mut values = crate::eigvalsh(matrix.view()).unwrap().to_vec();
        values.reverse();
        for (value, expected) in values.iter().zip([4.0, 1.0, 1.0, 0.5, 0.5]) {
            assert_abs_diff_eq!(*value, expected, epsilon = 1e-14);
        }
    }

    #[test]
    fn the_transform_equals_the_explicit_matrix() {
        let x: Vec<f64> = (0..16).map(|i| ((i * i) as f64).sin()).collect();
        let mut y = x.clone();
        walsh_hadamard(&mut y).unwrap();
        for (k, y) in y.iter().enumerate() {
            let sum: f64 = x
                .iter()
                .enumerate()
                .map(|(j, x)| if (k & j).count_ones() % 2 == 0 { *x } else { -x })
                .sum();
            assert!((y - sum).abs() < 1e-13);
        }
        assert!(walsh_hadamard(&mut [0.0; 6]).is_err());
    }

    #[test]
    fn coordinates_and_index_are_inverse() {
        let shape = [3, 4, 2];
        for cell in 0..24 {
            assert_eq!(cell_index(&shape, &coordinates(&shape, cell)), cell);
        }
        assert_eq!(coordinates(&shape, 5), vec![0, 2, 1]);
    }
}
