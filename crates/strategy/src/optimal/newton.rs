//! The curvature H of the dual function and the linear systems of the interior-point method.
//!
//! `H_ij = Σ_ab Y_ai Y_bi Y_aj Y_bj W_ab` with `W_ab = 1/(s_a s_b (s_a + s_b))`, summed over the
//! blocks.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::dual::{Dual, DualPoint};
use crate::error::Result;
use matmech_linalg as linalg;

/// Number of orbits up to which H is always formed.
const ALWAYS_FORMED: usize = 1024;

/// Maximum number of orbits for which H is formed: 512 MiB.
const MAX_FORMED: usize = 8192;

/// Assumed number of active orbits when costs are compared.
const MAX_EXACT: usize = 512;

/// Relative additions to the diagonal if rounding makes the preconditioner indefinite.
const RIDGES: [f64; 3] = [1e-12, 1e-9, 1e-6];

/// Step of the nodes in ln x for a relative error of H of 1e-3.
pub(super) const FINE_STEP: f64 = 1.0;

/// The same for 1.5e-2.
pub(super) const COARSE_STEP: f64 = 1.5;

/// Number of columns that a product with H processes at a time.
const CHUNK: usize = 256;

/// Assumed cost of a step on the active orbits, in products with H.
const TYPICAL_STEPS: f64 = 20.0;

/// Returns whether H is formed on all orbits, and the flops of one interior-point step.
///
/// Otherwise the active orbits are cheaper. `None` if H is too large to be formed and they are not.
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
pub(super) struct Curvature(Array2<f64>);

/// A function that forms H of one block, from s and some columns of Y.
type Form = fn(&Array1<f64>, ArrayView2<'_, f64>) -> Array2<f64>;

impl Curvature {
    /// Forms `H / divisor` at a point: rank²·columns²/2 flops per block.
    pub fn formed(dual: &Dual, point: &DualPoint, divisor: f64) -> Self {
        Self::formed_by(slabs, dual, point, divisor)
    }

    /// Forms `H / divisor` with a relative error of a thousandth of its entries' scale.
    ///
    /// The weights W are approximated by a sum of about 15 products, rank·columns² flops each.
    pub fn nearly_formed(dual: &Dual, point: &DualPoint, divisor: f64) -> Self {
        Self::formed_by(|s, y| sums_of_exponentials(s, y, FINE_STEP), dual, point, divisor)
    }

    fn formed_by(form: Form, dual: &Dual, point: &DualPoint, divisor: f64) -> Self {
        let orbits = dual.orbit_sizes.len();
        let mut out = Array2::zeros((orbits, orbits));
        for (columns, spectrum) in dual.block_orbits().zip(&point.spectra) {
            let part = form(&spectrum.s, spectrum.y.view());
            for (i, &o) in columns.iter().enumerate() {
                for (j, &p) in columns.iter().enumerate() {
                    out[[o, p]] += part[[i, j]];
                }
            }
        }
        Curvature(out / divisor)
    }

    /// Returns `H x`.
    pub fn times(&self, x: &Array1<f64>) -> Array1<f64> {
        self.0.dot(x)
    }

    /// Returns `H + diag(barrier)`.
    pub fn system(&self, barrier: &Array1<f64>) -> System {
        let mut matrix = self.0.clone();
        let mut diagonal = matrix.diag_mut();
        diagonal += barrier;
        System(matrix)
    }
}

/// `H + diag(barrier)`.
pub(super) struct System(Array2<f64>);

impl System {
    /// Solves for one right-hand side.
    ///
    /// `None` if the matrix is not positive definite.
    pub fn solve(&self, right: Array1<f64>) -> Option<Array1<f64>> {
        let solved = linalg::spd_solve(self.0.view(), right.insert_axis(Axis(1)).view()).ok()?;
        Some(solved.index_axis(Axis(1), 0).to_owned())
    }
}

/// Returns `H x` of one block without H: `diag(Yᵀ (W ∘ (Y diag(x) Yᵀ)) Y)`.
///
/// 4·rank²·columns flops.
pub(super) fn product(s: &Array1<f64>, y: ArrayView2<'_, f64>, x: &Array1<f64>) -> Array1<f64> {
    let mut inner: Array2<f64> = Array2::zeros((s.len(), s.len()));
    // The columns are processed in chunks, so that intermediate results stay in the cache.
    let chunks = || x.axis_chunks_iter(Axis(0), CHUNK).zip(y.axis_chunks_iter(Axis(1), CHUNK));
    for (x, y) in chunks() {
        let mut scaled = y.as_standard_layout().into_owned();
        scaled.rows_mut().into_iter().for_each(|mut row| row *= &x);
        inner += &linalg::matmul(scaled.view(), y.t());
    }
    inner *= &pair_weights(s);
    let mut out = Vec::with_capacity(x.len());
    for (_, y) in chunks() {
        let outer = linalg::matmul(inner.view(), y) * y;
        out.extend(outer.sum_axis(Axis(0)));
    }
    Array1::from_vec(out)
}

/// Returns W: `1/(s_a s_b (s_a + s_b))`, or 0 if that is infinite.
pub(super) fn pair_weights(s: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((s.len(), s.len()), |(a, b)| {
        let product = s[a] * s[b] * (s[a] + s[b]);
        if product > 0.0 { product.recip() } else { 0.0 }
    })
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
fn slabs(s: &Array1<f64>, y: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rank, width) = y.dim();
    let mut part = Array2::zeros((width, width));
    if width == 0 {
        return part;
    }
    for a in 0..rank {
        let sa = s[a];
        if sa <= 0.0 {
            continue;
        }
        let mut slab = Array2::zeros((rank - a, width));
        for b in a..rank {
            let sb = s[b];
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

/// Forms H of one block over some of its columns `y`, up to a small share of its entries' scale.
///
/// `1/(s_a + s_b) = ∫ e^{−(s_a + s_b)x} dx` by the trapezoidal rule in ln x, so H is a sum of
/// entrywise squares of `Σ_a y_ai y_aj e^{−s_a x}/s_a`. `step` is the step in ln x: the relative
/// error is 1e-3 for [`FINE_STEP`] and 1.5e-2 for [`COARSE_STEP`]. rank·columns² flops per node.
pub(super) fn sums_of_exponentials(
    s: &Array1<f64>,
    y: ArrayView2<'_, f64>,
    step: f64,
) -> Array2<f64> {
    let positive = || s.iter().copied().filter(|&s| s > 0.0);
    let (low, high) =
        positive().fold((f64::INFINITY, 0.0f64), |(low, high), s| (low.min(s), high.max(s)));
    let nodes = nodes(2.0 * low, 2.0 * high, step);
    if y.nrows() <= 2 * nodes.len() {
        return slabs(s, y);
    }
    // Tiles stay in the cache.
    let scaled = |x: f64, tile: ArrayView2<'_, f64>| {
        let mut scaled = tile.as_standard_layout().into_owned();
        for (mut row, &s) in scaled.rows_mut().into_iter().zip(s) {
            row *= if s > 0.0 { ((-s * x).exp() / s).sqrt() } else { 0.0 };
        }
        scaled
    };
    let tiles: Vec<Vec<Array2<f64>>> = y
        .axis_chunks_iter(Axis(1), CHUNK)
        .map(|tile| nodes.iter().map(|&(x, _)| scaled(x, tile)).collect())
        .collect();
    let mut out = Array2::zeros((y.ncols(), y.ncols()));
    for (i, left) in tiles.iter().enumerate() {
        for (j, right) in tiles[..=i].iter().enumerate() {
            let mut sum = Array2::zeros((left[0].ncols(), right[0].ncols()));
            for ((left, right), (_, weight)) in left.iter().zip(right).zip(&nodes) {
                let product = linalg::matmul(left.t(), right.view());
                sum.zip_mut_with(&product, |sum: &mut f64, p| *sum += weight * p * p);
            }
            for ((a, b), &value) in sum.indexed_iter() {
                out[[i * CHUNK + a, j * CHUNK + b]] = value;
                out[[j * CHUNK + b, i * CHUNK + a]] = value;
            }
        }
    }
    out
}

/// Returns nodes x and weights with `1/s ≈ Σ weight · e^{−sx}` for s between two positive numbers.
///
/// `step` is the distance of the nodes in ln x.
pub(super) fn nodes(low: f64, high: f64, step: f64) -> Vec<(f64, f64)> {
    // After the last node e^{−sx} is negligible. Before the first it is nearly 1, and all nodes
    // there are merged into one.
    let (first, last) = ((0.05 / high).ln(), (9.0 / low).ln());
    let count = ((last - first) / step).ceil().max(0.0) as usize;
    let mut out = vec![(0.6 * first.exp() / step.exp_m1(), step * first.exp() / step.exp_m1())];
    out.extend((0..=count).map(|k| (first + step * k as f64).exp()).map(|x| (x, step * x)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimal::bounds::Bounds;
    use crate::optimal::fixed_point::FixedPoint;
    use crate::optimal::{OptimalOptions, active_set, interior_point};
    use crate::symmetry::Reduction;
    use crate::workload::Workload;
    use approx::assert_relative_eq;

    fn started(text: &str) -> (Dual, Bounds) {
        let workload = Workload::parse(text).unwrap();
        let gram = workload.gram().unwrap().to_dense().unwrap();
        let dual = Dual::new(&Reduction::of(workload.shape(), gram.view())).unwrap();
        let mut bounds = Bounds::new();
        FixedPoint::from(dual.uniform())
            .advance(&dual, &mut bounds, &OptimalOptions::default(), 12)
            .unwrap();
        (dual, bounds)
    }

    /// A matrix of rank one with a barrier below the rounding of its entries has no inverse, but a
    /// preconditioner. An indefinite matrix has neither.
    #[test]
    fn a_matrix_indefinite_by_rounding_has_a_preconditioner() {
        let v = Array1::from_shape_fn(60, |i| 1.0 / (1.0 + (i * 7 % 60) as f64));
        let mut matrix = Array2::from_shape_fn((60, 60), |(i, j)| v[i] * v[j]);
        matrix.diag_mut().mapv_inplace(|x| x + 1e-22);
        assert!(linalg::spd_inverse(matrix.view()).is_err());
        let inverse = nearly_inverse(matrix.clone()).unwrap();
        // The preconditioned step satisfies v·x = 1, as the solution of v(vᵀx) = v does.
        let x = inverse.dot(&v);
        assert_relative_eq!(v.dot(&x), 1.0, max_relative = 1e-2);
        matrix[[3, 3]] = -1.0;
        assert!(nearly_inverse(matrix).is_err());
    }

    /// Oracle: the formed matrix.
    #[test]
    fn products_and_sums_of_exponentials_agree_with_the_formed_matrix() {
        for text in ["residual(abs:25x36)", "residual(affine:20x42)"] {
            let (dual, bounds) = started(text);
            let point = bounds.upper.unwrap();
            let formed = Curvature::formed(&dual, &point, 1.0);
            let x = Array1::from_shape_fn(dual.orbit_sizes.len(), |i| {
                (i as f64).sin() / (1.0 + point.mu[i])
            });
            let exact = formed.times(&x);
            let mut computed: Array1<f64> = Array1::zeros(x.len());
            for (columns, spectrum) in dual.block_orbits().zip(&point.spectra) {
                let part = product(&spectrum.s, spectrum.y.view(), &x.select(Axis(0), columns));
                columns.iter().zip(part).for_each(|(&o, value)| computed[o] += value);
            }
            let scale = exact.iter().fold(0.0f64, |max, v| max.max(v.abs()));
            assert!((&exact - &computed).iter().all(|d| d.abs() <= 1e-10 * scale), "{text}");
            let near = |step: f64| {
                let mut sum: Array2<f64> = Array2::zeros(formed.0.dim());
                for (columns, spectrum) in dual.block_orbits().zip(&point.spectra) {
                    let part = sums_of_exponentials(&spectrum.s, spectrum.y.view(), step);
                    for ((i, j), value) in part.indexed_iter() {
                        sum[[columns[i], columns[j]]] += value;
                    }
                }
                sum
            };
            for (step, error) in [(FINE_STEP, 2e-3), (COARSE_STEP, 2e-2)] {
                for ((i, j), d) in (&formed.0 - &near(step)).indexed_iter() {
                    let scale = (formed.0[[i, i]] * formed.0[[j, j]]).sqrt();
                    assert!(d.abs() <= error * scale, "{text}: {d} at {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn both_methods_close_the_gap() {
        for text in ["residual(abs:25x36)", "residual(affine:20x42)"] {
            let mut values = Vec::new();
            for formed in [true, false] {
                let (dual, mut bounds) = started(text);
                let start = bounds.upper.clone().unwrap();
                assert!(bounds.gap() > 1e-5, "{text}: the start is already optimal");
                if formed {
                    interior_point::run(
                        &dual,
                        &start,
                        &mut bounds,
                        &OptimalOptions::default(),
                        40,
                        Curvature::formed,
                    )
                    .unwrap();
                } else {
                    let (options, share) = (OptimalOptions::default(), active_set::UNIFORM_SHARE);
                    active_set::run(&dual, &mut bounds, &options, share).unwrap();
                }
                assert!(bounds.gap() <= 1e-7, "{text} {formed}: {}", bounds.gap());
                values.push(bounds.lower);
            }
            assert_relative_eq!(values[0], values[1], max_relative = 1e-7);
        }
    }

    #[test]
    fn h_is_formed_if_that_is_cheaper_or_small() {
        let is_formed = |text: &str| {
            let workload = Workload::parse(text).unwrap();
            let gram = workload.gram().unwrap().to_dense().unwrap();
            step_cost(&Dual::new(&Reduction::of(workload.shape(), gram.view())).unwrap())
                .map(|(formed, _)| formed)
        };
        assert_eq!(is_formed("residual(abs:20x30)"), Some(true));
        assert_eq!(is_formed("residual(abs:30x40)"), Some(false));
    }
}
