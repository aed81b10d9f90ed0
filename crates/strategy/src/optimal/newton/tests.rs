//! Tests of newton.

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
