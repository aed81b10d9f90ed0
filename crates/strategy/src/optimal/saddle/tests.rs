//! Tests of saddle.

use approx::assert_relative_eq;
use rand::RngExt;

use super::coupling::Coupling;
use super::*;
use crate::Optimal;
use crate::residual::Measure;
use crate::test_support::rng;
use crate::workload::{Family, JointQueries};
use ndarray::{Array1, Array2};

fn measure(n: usize, seed: u64) -> Measure {
    let mut rng = rng(seed);
    let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.5..1.5)).collect();
    let sum: f64 = weights.iter().sum();
    Measure::of(weights.iter().map(|w| w / sum).collect()).unwrap()
}

fn queries(family: Family, shape: &[usize]) -> Array2<f64> {
    let queries = JointQueries::family(family, shape).unwrap();
    let values: Vec<f64> = queries.rows().unwrap().flatten().collect();
    Array2::from_shape_vec((queries.count(), shape.iter().product()), values).unwrap()
}

/// Boxes of one to three axes; K of full rank, and of rank limited by the rows and by the cells.
fn cases() -> Vec<(Vec<usize>, Array2<f64>)> {
    let mut rng = rng(3);
    let mut random = |rows: usize, cells: usize| {
        Array2::from_shape_fn((rows, cells), |_| rng.random_range(-1.0..1.0))
    };
    vec![
        (vec![6], random(6, 6)),
        (vec![5, 4], queries(Family::AFFINE, &[5, 4])),
        (vec![7, 2], queries(Family::ABS, &[7, 2])),
        (vec![3, 4], random(5, 12)),
        (vec![2, 3, 4], random(4, 24)),
    ]
}

/// Returns measures moved along a direction.
fn moved(measures: &[Measure], direction: &Array1<f64>, step: f64) -> Vec<Measure> {
    let mut first = 0;
    let moved = |measure: &Measure| {
        let weights = measure.to_vec();
        let moved: Vec<f64> =
            weights.iter().enumerate().map(|(k, w)| w + step * direction[first + k]).collect();
        first += weights.len();
        Measure::of(moved).unwrap()
    };
    measures.iter().map(moved).collect()
}

/// A direction that keeps the sums of the measures, along one axis or all.
fn direction(shape: &[usize], axis: Option<usize>) -> Array1<f64> {
    let mut rng = rng(7);
    let mut out = Vec::new();
    for (k, &n) in shape.iter().enumerate() {
        let values: Vec<f64> = (0..n).map(|_| rng.random_range(-0.1..0.1)).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let scale = if axis.is_none_or(|axis| axis == k) { 1.0 } else { 0.0 };
        out.extend(values.iter().map(|x| scale * (x - mean)));
    }
    Array1::from_vec(out)
}

/// Oracle: differences of 2t and v at fixed weights.
#[test]
fn derivatives_by_the_measures_equal_differences() {
    const STEP: f64 = 1e-3;
    for (shape, rows) in cases() {
        let measures: Vec<Measure> = (1..).zip(&shape).map(|(k, &n)| measure(n, k)).collect();
        let cells = rows.ncols();
        let mu = Array1::from_shape_fn(cells, |i| 0.5 + ((i * 7) % 5) as f64 / 5.0);
        let spectra = |measures: &[Measure]| {
            MovingRows { shape: &shape, rows: rows.view(), measures }.spectra(&mu).unwrap()
        };
        let here = spectra(&measures);
        let moving = MovingRows { shape: &shape, rows: rows.view(), measures: &measures };
        let coupling = Coupling::of(&moving, &here, &mu).unwrap();
        let all: Vec<usize> = (0..cells).collect();
        let c = coupling.rows(&here, &all, &here.y).unwrap();
        // Second derivatives by several axes are included for two axes.
        let axes = (0..shape.len()).map(Some).chain((shape.len() <= 2).then_some(None));
        for axis in axes {
            let d = direction(&shape, axis);
            let (up, down) =
                (spectra(&moved(&measures, &d, STEP)), spectra(&moved(&measures, &d, -STEP)));
            let second = 2.0 * (up.trace() - 2.0 * here.trace() + down.trace()) / STEP.powi(2);
            let expected = d.dot(&coupling.hessian.dot(&d));
            assert_relative_eq!(second, expected, max_relative = 1e-3, epsilon = 1e-6);
            let slope = (&down.residual - &up.residual) / (2.0 * STEP);
            for computed in [c.dot(&d), coupling.directional(&here, &d)] {
                for (a, b) in slope.iter().zip(&computed) {
                    assert_relative_eq!(a, b, epsilon = 1e-4, max_relative = 1e-4);
                }
            }
        }
    }
}

/// Oracle: differences of 2t in the direction of a change of R.
#[test]
fn derivatives_by_rows_and_gram_equal_differences() {
    let (shape, rows) = (vec![5, 4], queries(Family::AFFINE, &[5, 4]));
    let measures = [measure(5, 1), measure(4, 2)];
    let mu = Array1::from_shape_fn(20, |i| 0.5 + ((i * 7) % 5) as f64 / 5.0);
    let scaled = |factor: f64| {
        let mut rows = rows.clone();
        rows.row_mut(3).mapv_inplace(|x| x * factor);
        rows
    };
    let spectra = |rows: &Array2<f64>| {
        MovingRows { shape: &shape, rows: rows.view(), measures: &measures }.spectra(&mu).unwrap()
    };
    let difference =
        (spectra(&scaled(1.0 + 1e-5)).trace() - spectra(&scaled(1.0 - 1e-5)).trace()) / 1e-5;
    let moving = MovingRows { shape: &shape, rows: rows.view(), measures: &measures };
    let (centred, here) = (moving.centred(), spectra(&rows));
    let row = centred.row(3);
    assert_relative_eq!(here.by_rows(&mu).row(3).dot(&row), difference, max_relative = 1e-6);
    // RᵀR changes by twice the outer product of the row.
    let by_gram = here.by_gram(&mu);
    assert_relative_eq!(2.0 * row.dot(&by_gram.dot(&row)), difference, max_relative = 1e-6);
}

/// Oracle: the certificate of the optimum, for measures that do not move.
///
/// 1,764 cells are more than H is formed on.
#[test]
fn paths_end_at_the_optimum() {
    for shape in [[9, 7], [42, 42]] {
        let rows = queries(Family::AFFINE, &shape);
        let measures = [measure(shape[0], 1), measure(shape[1], 2)];
        let moving = MovingRows { shape: &shape, rows: rows.view(), measures: &measures };
        let optimal = Optimal::default();
        let centred = moving.centred();
        let optimum = optimal.select_rows(&shape, centred.view()).unwrap().certificate;
        let mut point = moving.start().unwrap();
        for _ in 0..20 {
            let spectra = moving.spectra(&point.mu).unwrap();
            let gap = (0.15 * point.gap()).max(1e-3);
            let barrier = gap * point.mu.sum() / point.mu.len() as f64;
            let linearised = moving.linearised(spectra, &point, barrier).unwrap();
            let still = Array1::zeros(shape[0] + shape[1]);
            let step = linearised.step(&point, &still).unwrap();
            point.advance(&step);
        }
        let bound = moving.spectra(&point.mu).unwrap().trace().powi(2) / point.mu.sum();
        assert!(bound <= optimum.upper_bound * (1.0 + 1e-12), "{shape:?}");
        assert!(bound >= optimum.lower_bound * (1.0 - 1.1e-3), "{shape:?}: {bound} {optimum:?}");
        assert_relative_eq!(point.gap(), 1e-3, max_relative = 1e-2);
        // The certified optimum from the end of the path.
        let near = point.mu.to_vec();
        let from_path = optimal.select_rows_near(&shape, centred.view(), &near).unwrap();
        assert!(from_path.certificate.gap() <= 1e-7, "{:?}", from_path.certificate);
        assert_relative_eq!(
            from_path.certificate.lower_bound,
            optimum.lower_bound,
            max_relative = 2e-7
        );
    }
}
