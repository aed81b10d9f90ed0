//! Estimates from residuals against dense least squares, each other and the exact noise variances.

use approx::{assert_abs_diff_eq, assert_relative_eq};
use ndarray::{Array1, Array2, ArrayView2};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::domain::{AttributeSet, AxisSet};
use crate::residual::{centre_box, summed};
use crate::test_support::{rng, schema, set};
use matmech_linalg as linalg;

const SIZES: [usize; 4] = [3, 2, 1, 4];

/// Returns the set whose attributes are the bits of a number.
fn numbered(bits: usize) -> AttributeSet {
    AttributeSet::first(SIZES.len()).at(AxisSet::from_number(bits))
}

fn normals(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(count).collect()
}

/// Returns a measurement of a residual: random numbers over the marginal's cells, centred.
fn measurement(tau: AttributeSet, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let sizes = tau.select(&SIZES);
    let mut y = normals(sizes.iter().product(), rng);
    centre_box(&sizes, &mut y);
    y
}

fn all_marginals() -> Vec<AttributeSet> {
    AttributeSet::first(SIZES.len()).subsets().collect()
}

/// Returns a Kronecker product over all attributes, with one matrix for those in the set and one
/// for the others.
fn kronecker(
    set: AttributeSet,
    inside: impl Fn(usize) -> Array2<f64>,
    outside: impl Fn(usize) -> Array2<f64>,
) -> Array2<f64> {
    SIZES.iter().enumerate().fold(Array2::eye(1), |product, (p, &n)| {
        let factor = if set.contains(p) { inside(n) } else { outside(n) };
        linalg::kron(product.view(), factor.view())
    })
}

/// Returns the paper's subtraction matrix, (n − 1) × n.
fn subtraction(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n - 1, n), |(i, j)| match j {
        0 => -1.0,
        _ => f64::from(u8::from(j == i + 1)),
    })
}

fn pseudoinverse(matrix: ArrayView2<'_, f64>) -> Array2<f64> {
    let eigen = linalg::eigh(matrix).unwrap();
    let largest = eigen.values.iter().copied().fold(0.0, f64::max);
    let inverted = eigen.values.mapv(|x| if x > 1e-10 * largest { 1.0 / x } else { 0.0 });
    (&eigen.vectors * &inverted).dot(&eigen.vectors.t())
}

/// S4, Theorem 4.1, against least squares over all data vectors, weighted by the inverse
/// covariances σ²V_τ in the paper's coordinates (dense subtraction matrices); the minimum-norm
/// minimiser where residuals are not measured.
#[test]
fn estimates_minimise_the_weighted_squared_error() {
    let mut rng = rng(4);
    let measured: [(&[usize], f64); 8] = [
        (&[], 2.0),
        (&[0], 0.5),
        (&[0], 3.0),
        (&[3], 1.0),
        (&[0, 3], 0.25),
        (&[1, 3], 4.0),
        (&[0, 1, 3], 1.5),
        (&[0, 1, 3], 0.1),
    ];
    let cells: usize = SIZES.iter().product();
    let mut estimates = ResidualEstimates::new(&schema(&SIZES));
    let (mut normal, mut right) = (Array2::zeros((cells, cells)), Array1::zeros(cells));
    let row = |n: usize| Array2::ones((1, n));
    for (positions, variance) in measured {
        let tau = set(positions);
        let sizes = tau.select(&SIZES);
        let y = normals(sizes.iter().product(), &mut rng);
        // z = Decomp(y, τ, τ); R is the residual query on the data; V = D Dᵀ with D the matrix of
        // Decomp.
        let decomposition = kronecker(tau, subtraction, |_| Array2::eye(1));
        let queries = kronecker(tau, subtraction, row);
        let z = decomposition.dot(&Array1::from_vec(y.clone()));
        let inverse =
            linalg::spd_inverse(decomposition.dot(&decomposition.t()).view()).unwrap() / variance;
        normal += &queries.t().dot(&inverse).dot(&queries);
        right += &queries.t().dot(&inverse).dot(&z);
        let mut centred = y;
        centre_box(&sizes, &mut centred);
        estimates.update(tau, &centred, variance).unwrap();
    }
    let data = pseudoinverse(normal.view()).dot(&right);
    for gamma in all_marginals() {
        let expected = kronecker(gamma, Array2::eye, row).dot(&data);
        let found = Array1::from_vec(estimates.marginal(gamma).unwrap());
        assert_abs_diff_eq!(found, expected, epsilon = 1e-9);
    }
}

/// Marginalising μ̂_γ gives μ̂_β for every β ⊆ γ, for any measurements.
#[test]
fn estimated_marginals_are_consistent() {
    let mut rng = rng(5);
    let mut estimates = ResidualEstimates::new(&schema(&SIZES));
    for mask in [0, 1, 8, 9, 3, 15, 10, 9, 1] {
        let y = measurement(numbered(mask), &mut rng);
        estimates.update(numbered(mask), &y, 0.5 + mask as f64).unwrap();
    }
    for gamma in all_marginals() {
        let marginal = estimates.marginal(gamma).unwrap();
        for beta in gamma.subsets() {
            let added = summed(&gamma.select(&SIZES), gamma.axes_in(beta), &marginal);
            assert_abs_diff_eq!(
                added.as_slice(),
                estimates.marginal(beta).unwrap().as_slice(),
                epsilon = 1e-10
            );
        }
    }
}

/// The noise in a cell is a linear combination of the noise of all measurements. With an impulse of
/// one standard deviation in one coordinate at a time, the sum of squares over all coordinates is
/// the exact variance.
#[test]
fn cell_variances_are_exact() {
    let gamma = AttributeSet::first(4);
    // Each residual is measured twice with different noise, so that precisions add up. Attribute 2
    // has one value and no residual.
    let variance = |step: usize| 0.5 + (step * 7 % 5) as f64;
    let measured: Vec<(AttributeSet, f64)> = (0..32)
        .map(|step| (numbered(step % 16), variance(step)))
        .filter(|(tau, _)| !tau.contains(2))
        .collect();
    let coordinates: usize =
        measured.iter().map(|(tau, _)| tau.select(&SIZES).iter().product::<usize>()).sum();
    let mut sums = vec![0.0; 24];
    let mut expected = f64::NAN;
    for coordinate in 0..coordinates {
        let mut estimates = ResidualEstimates::new(&schema(&SIZES));
        assert!(estimates.cell_variance(gamma).is_infinite());
        let mut drawn = 0;
        for &(tau, variance) in &measured {
            let sizes = tau.select(&SIZES);
            let mut y = vec![0.0; sizes.iter().product()];
            if let Some(value) = coordinate.checked_sub(drawn).and_then(|k| y.get_mut(k)) {
                *value = variance.sqrt();
            }
            drawn += y.len();
            centre_box(&sizes, &mut y);
            estimates.update(tau, &y, variance).unwrap();
        }
        expected = estimates.cell_variance(gamma);
        let cells = estimates.marginal(gamma).unwrap();
        sums.iter_mut().zip(cells).for_each(|(sum, x)| *sum += x * x);
    }
    for sum in sums {
        assert_relative_eq!(sum, expected, max_relative = 1e-12);
    }
}

#[test]
fn precisions_add_up_and_estimates_are_weighted_means() {
    let mut estimates = ResidualEstimates::new(&schema(&SIZES));
    let first = estimates.update(set(&[0]), &[2.0, -1.0, -1.0], 0.5).unwrap();
    assert_eq!(first, vec![2.0, -1.0, -1.0]);
    let change = estimates.update(set(&[0]), &[-2.0, 1.0, 1.0], 0.25).unwrap();
    let estimate = estimates.get(set(&[0])).unwrap();
    assert_abs_diff_eq!(
        estimate.centred(),
        [-2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0].as_slice(),
        epsilon = 1e-15
    );
    assert_abs_diff_eq!(
        change.as_slice(),
        [-8.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0].as_slice(),
        epsilon = 1e-15
    );
    assert_relative_eq!(estimate.precision(), 6.0);
    assert_eq!(estimates.precisions(set(&[0, 3])), vec![0.0, 6.0, 0.0, 0.0]);
    assert_eq!((estimates.measured(), estimates.precision(set(&[1]))), (1, 0.0));
}

#[test]
fn invalid_measurements_and_attributes_are_refused() {
    let mut estimates = ResidualEstimates::new(&schema(&SIZES));
    assert!(
        estimates.update(set(&[0]), &[0.0; 2], 1.0).unwrap_err().to_string().contains("3 numbers")
    );
    assert!(
        estimates.update(set(&[9]), &[0.0; 2], 1.0).unwrap_err().to_string().contains("below 4")
    );
    for variance in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
        assert!(estimates.update(set(&[0]), &[0.0; 3], variance).is_err());
    }
    assert_eq!(estimates.measured(), 0);
    let outside = set(&[4]);
    assert!(estimates.marginal(outside).unwrap_err().to_string().contains("below 4"));
    assert!(estimates.cell_variance(outside).is_infinite());
}
