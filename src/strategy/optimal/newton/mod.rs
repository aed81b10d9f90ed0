//! The curvature H of the dual function and the linear systems of the interior-point method.
//!
//! `H_ij = Σ_ab Y_ai Y_bi Y_aj Y_bj W_ab` with `W_ab = 1/(s_a s_b (s_a + s_b))`, summed over the
//! blocks. For few orbits H is formed. For many orbits and low rank, only products
//! `Hx = diag(Yᵀ (W ∘ (Y diag(x) Yᵀ)) Y)` are computed, 4·rank²·orbits flops each, and
//! `(H + diag(z/μ)) x = b` is solved by conjugate gradients. The preconditioner is exact on the
//! orbits with the largest `μ_i H_ii / z_i`. On the others the weights tend to zero, and the system
//! is nearly diagonal.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::conjugate_gradients::conjugate_gradients;
use super::dual::{Dual, Point, Spectrum};
use crate::error::Result;
use matmech_linalg as linalg;

/// Number of orbits up to which H is always formed.
const ALWAYS_FORMED: usize = 1024;

/// Maximum number of orbits for which H is formed: 512 MiB.
const MAX_FORMED: usize = 8192;

/// Maximum number of orbits on which the preconditioner is exact.
const MAX_EXACT: usize = 512;

/// Relative additions to the diagonal if rounding makes the preconditioner indefinite.
const RIDGES: [f64; 3] = [1e-12, 1e-9, 1e-6];

/// Minimum `μ_i H_ii / z_i` of the orbits on which the preconditioner is exact.
const MIN_COUPLING: f64 = 1e-3;

/// Maximum number of conjugate-gradient steps for one system.
const MAX_STEPS: usize = 60;

/// Number of columns that a product with H processes at a time.
const CHUNK: usize = 256;

/// Assumed number of conjugate-gradient steps when costs are compared.
const TYPICAL_STEPS: f64 = 20.0;

/// Returns whether H is formed, and the flops of one interior-point step.
///
/// `None` if H is too large to be formed and products are no cheaper.
pub(super) fn step_cost(dual: &Dual) -> Option<(bool, f64)> {
    let orbits = dual.orbit_sizes.len();
    let formed: f64 = dual
        .block_sizes()
        .map(|(rank, columns)| ((rank * columns) as f64).powi(2) / 2.0)
        .sum::<f64>()
        + 2.0 / 3.0 * (orbits as f64).powi(3);
    let exact = MAX_EXACT as f64;
    let products: f64 = dual
        .block_sizes()
        .map(|(rank, columns)| (rank as f64, columns as f64))
        .map(|(rank, columns)| {
            rank * rank * (exact.min(columns).powi(2) / 2.0 + 4.0 * TYPICAL_STEPS * columns)
        })
        .sum::<f64>()
        + exact.powi(3);
    match orbits {
        0..=ALWAYS_FORMED => Some((true, formed)),
        _ if products < formed => Some((false, products)),
        _ => (orbits <= MAX_FORMED).then_some((true, formed)),
    }
}

/// H at a point.
pub(super) enum Curvature<'a> {
    /// H itself.
    Formed(Array2<f64>),
    /// The data for products with H.
    Products {
        /// Per block the orbits of its columns, s and Y, and W.
        blocks: Vec<(&'a [usize], &'a Spectrum, Array2<f64>)>,
        /// The scale of H.
        scale: f64,
        /// The number of orbits.
        orbits: usize,
    },
}

/// A function that forms H of one block over some of its columns.
type Form = fn(&Spectrum, ArrayView2<'_, f64>) -> Array2<f64>;

impl Curvature<'static> {
    /// Forms `H / divisor` at a point: rank²·columns²/2 flops per block.
    pub fn formed(dual: &Dual, point: &Point, divisor: f64) -> Self {
        Self::formed_by(slabs, dual, point, divisor)
    }

    /// Forms `H / divisor` with a relative error of a thousandth of its entries' scale.
    ///
    /// The weights W are approximated by a sum of about 15 products, rank·columns² flops each.
    pub fn nearly_formed(dual: &Dual, point: &Point, divisor: f64) -> Self {
        Self::formed_by(sums_of_exponentials, dual, point, divisor)
    }

    fn formed_by(form: Form, dual: &Dual, point: &Point, divisor: f64) -> Self {
        let orbits = dual.orbit_sizes.len();
        let mut out = Array2::zeros((orbits, orbits));
        for (columns, spectrum) in dual.block_orbits().zip(&point.spectra) {
            let part = form(spectrum, spectrum.y.view());
            for (i, &o) in columns.iter().enumerate() {
                for (j, &p) in columns.iter().enumerate() {
                    out[[o, p]] += part[[i, j]];
                }
            }
        }
        Curvature::Formed(out / divisor)
    }
}

impl<'a> Curvature<'a> {
    /// Prepares products with `H / divisor`.
    pub fn products(dual: &'a Dual, point: &'a Point, divisor: f64) -> Self {
        let parts = dual.block_orbits().zip(&point.spectra);
        let orbits = dual.orbit_sizes.len();
        let weights = |s: &Array1<f64>| {
            Array2::from_shape_fn((s.len(), s.len()), |(a, b)| {
                let product = s[a] * s[b] * (s[a] + s[b]);
                if product > 0.0 { product.recip() } else { 0.0 }
            })
        };
        let blocks =
            parts.map(|(columns, spectrum)| (columns, spectrum, weights(&spectrum.s))).collect();
        Curvature::Products { blocks, scale: divisor.recip(), orbits }
    }

    /// Returns `H x`.
    pub fn times(&self, x: &Array1<f64>) -> Array1<f64> {
        let (blocks, scale, orbits) = match self {
            Curvature::Formed(matrix) => return matrix.dot(x),
            Curvature::Products { blocks, scale, orbits, .. } => (blocks, scale, *orbits),
        };
        let mut out = Array1::zeros(orbits);
        // The columns are processed in chunks, so that intermediate results stay in the cache.
        for (columns, spectrum, weights) in blocks {
            let x_of_block = Array1::from_iter(columns.iter().map(|&o| x[o]));
            let rank = spectrum.y.nrows();
            let mut inner: Array2<f64> = Array2::zeros((rank, rank));
            let chunks = || {
                x_of_block
                    .axis_chunks_iter(Axis(0), CHUNK)
                    .zip(spectrum.y.axis_chunks_iter(Axis(1), CHUNK))
            };
            for (x, y) in chunks() {
                let mut scaled = y.as_standard_layout().into_owned();
                scaled.rows_mut().into_iter().for_each(|mut row| row *= &x);
                inner += &linalg::matmul(scaled.view(), y.t());
            }
            inner *= weights;
            for ((_, y), columns) in chunks().zip(columns.chunks(CHUNK)) {
                let outer = linalg::matmul(inner.view(), y);
                let mut sums = vec![0.0; columns.len()];
                for (outer, y) in outer.rows().into_iter().zip(y.rows()) {
                    sums.iter_mut()
                        .zip(outer.iter().zip(y))
                        .for_each(|(sum, (a, b))| *sum += a * b);
                }
                for (&o, sum) in columns.iter().zip(sums) {
                    out[o] += scale * sum;
                }
            }
        }
        out
    }

    /// Prepares the system `(H + diag(barrier)) x = b`.
    ///
    /// # Errors
    /// The preconditioner is not positive definite.
    pub fn system(&'a self, barrier: Array1<f64>) -> Result<System<'a>> {
        let (blocks, scale) = match self {
            Curvature::Formed(matrix) => {
                let mut matrix = matrix.clone();
                for (i, b) in barrier.iter().enumerate() {
                    matrix[[i, i]] += b;
                }
                return Ok(System::Formed(matrix));
            }
            Curvature::Products { blocks, scale, .. } => (blocks, scale),
        };
        let mut diagonal: Array1<f64> = Array1::zeros(barrier.len());
        for (columns, spectrum, weights) in blocks {
            let squares = &spectrum.y * &spectrum.y;
            let outer = linalg::matmul(weights.view(), squares.view()) * &squares;
            for (&o, sum) in columns.iter().zip(outer.sum_axis(Axis(0))) {
                diagonal[o] += scale * sum;
            }
        }
        let mut chosen: Vec<usize> =
            (0..barrier.len()).filter(|&i| diagonal[i] > MIN_COUPLING * barrier[i]).collect();
        chosen.sort_by(|&i, &j| {
            (diagonal[j] / barrier[j]).total_cmp(&(diagonal[i] / barrier[i])).then(i.cmp(&j))
        });
        chosen.truncate(MAX_EXACT);
        let mut position = vec![None; barrier.len()];
        for (k, &i) in chosen.iter().enumerate() {
            position[i] = Some(k);
        }
        let mut exact = Array2::from_diag(&Array1::from_iter(chosen.iter().map(|&i| barrier[i])));
        for (columns, spectrum, _) in blocks {
            let (kept, positions): (Vec<usize>, Vec<usize>) =
                columns.iter().enumerate().filter_map(|(c, &o)| Some((c, position[o]?))).unzip();
            let part = sums_of_exponentials(spectrum, spectrum.y.select(Axis(1), &kept).view());
            for (i, &o) in positions.iter().enumerate() {
                for (j, &p) in positions.iter().enumerate() {
                    exact[[o, p]] += scale * part[[i, j]];
                }
            }
        }
        let inverse = if chosen.is_empty() { exact } else { nearly_inverse(exact)? };
        let rest = (&diagonal + &barrier).mapv(f64::recip);
        Ok(System::Products { curvature: self, barrier, chosen, inverse, rest })
    }
}

/// `H + diag(barrier)`.
pub(super) enum System<'a> {
    /// The matrix.
    Formed(Array2<f64>),
    /// Its products, and a preconditioner.
    Products {
        /// H.
        curvature: &'a Curvature<'a>,
        /// The diagonal that is added.
        barrier: Array1<f64>,
        /// The orbits on which the preconditioner is exact.
        chosen: Vec<usize>,
        /// The inverse of the matrix on the chosen orbits.
        inverse: Array2<f64>,
        /// The inverse of the whole diagonal.
        rest: Array1<f64>,
    },
}

impl System<'_> {
    /// Solves for one right-hand side, up to a relative residual if H is not formed.
    ///
    /// `None` if the matrix is not positive definite.
    pub fn solve(&self, right: Array1<f64>, precision: f64) -> Option<Array1<f64>> {
        let (curvature, barrier, chosen, inverse, rest) = match self {
            System::Formed(matrix) => {
                let solved =
                    linalg::spd_solve(matrix.view(), right.insert_axis(Axis(1)).view()).ok()?;
                return Some(solved.index_axis(Axis(1), 0).to_owned());
            }
            System::Products { curvature, barrier, chosen, inverse, rest } => {
                (curvature, barrier, chosen, inverse, rest)
            }
        };
        let precondition = |r: &Array1<f64>| {
            let mut out = r * rest;
            let exact = inverse.dot(&Array1::from_iter(chosen.iter().map(|&i| r[i])));
            chosen.iter().zip(exact).for_each(|(&i, x)| out[i] = x);
            out
        };
        let product = |x: &Array1<f64>| curvature.times(x) + barrier * x;
        conjugate_gradients(product, precondition, right, precision, MAX_STEPS)
    }
}

/// Returns the inverse of a matrix that is positive definite up to rounding.
///
/// If the barrier is below the rounding of H, the diagonal is increased as needed. The result is
/// accurate enough for a preconditioner.
///
/// # Errors
/// The matrix is clearly not positive definite.
pub(super) fn nearly_inverse(mut matrix: Array2<f64>) -> Result<Array2<f64>> {
    for ridge in RIDGES {
        match linalg::spd_inverse(matrix.view()) {
            Err(linalg::Error::NotPositiveDefinite { .. }) => {
                matrix.diag_mut().mapv_inplace(|x| x * (1.0 + ridge))
            }
            inverse => return Ok(inverse?),
        }
    }
    Ok(linalg::spd_inverse(matrix.view())?)
}

/// Forms H of one block over some of its columns `y`, slab by slab. rank²·columns² flops.
fn slabs(spectrum: &Spectrum, y: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rank, width) = y.dim();
    let mut part = Array2::zeros((width, width));
    if width == 0 {
        return part;
    }
    for a in 0..rank {
        let sa = spectrum.s[a];
        if sa <= 0.0 {
            continue;
        }
        let mut slab = Array2::zeros((rank - a, width));
        for b in a..rank {
            let sb = spectrum.s[b];
            if sb <= 0.0 {
                continue;
            }
            let twice = if a == b { 1.0 } else { 2.0 };
            let weight = (twice / (sa * sb * (sa + sb))).sqrt();
            let mut row = slab.row_mut(b - a);
            row.assign(&y.row(a));
            row *= &y.row(b);
            row *= weight;
        }
        linalg::add_gram(&mut part, slab.view());
    }
    part
}

/// Forms H of one block over some of its columns `y`, up to a thousandth of its entries' scale.
///
/// `1/(s_a + s_b) = ∫ e^{−(s_a + s_b)x} dx` by the trapezoidal rule in ln x, so H is a sum of
/// entrywise squares of `Σ_a y_ai y_aj e^{−s_a x}/s_a`.
fn sums_of_exponentials(spectrum: &Spectrum, y: ArrayView2<'_, f64>) -> Array2<f64> {
    let positive = || spectrum.s.iter().copied().filter(|&s| s > 0.0);
    let (low, high) =
        positive().fold((f64::INFINITY, 0.0f64), |(low, high), s| (low.min(s), high.max(s)));
    let nodes = nodes(2.0 * low, 2.0 * high);
    if y.nrows() <= 2 * nodes.len() {
        return slabs(spectrum, y);
    }
    let mut part = Array2::zeros((y.ncols(), y.ncols()));
    for (x, weight) in nodes {
        let mut scaled = y.to_owned();
        for (mut row, &s) in scaled.rows_mut().into_iter().zip(&spectrum.s) {
            row *= if s > 0.0 { ((-s * x).exp() / s).sqrt() } else { 0.0 };
        }
        let product = linalg::gram_of(scaled.view());
        part.zip_mut_with(&product, |sum, p| *sum += weight * p * p);
    }
    part
}

/// Returns nodes x and weights with `1/s ≈ Σ weight · e^{−sx}` for s between two positive numbers.
///
/// The relative error is at most a thousandth.
pub(super) fn nodes(low: f64, high: f64) -> Vec<(f64, f64)> {
    const STEP: f64 = 1.0;
    // After the last node e^{−sx} is negligible. Before the first it is nearly 1, and all nodes
    // there are merged into one.
    let (first, last) = ((0.05 / high).ln(), (9.0 / low).ln());
    let count = ((last - first) / STEP).ceil().max(0.0) as usize;
    let mut out = vec![(0.6 * first.exp() / STEP.exp_m1(), STEP * first.exp() / STEP.exp_m1())];
    out.extend((0..=count).map(|k| (first + STEP * k as f64).exp()).map(|x| (x, STEP * x)));
    out
}

#[cfg(test)]
mod tests;
