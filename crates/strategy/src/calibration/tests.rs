use approx::assert_relative_eq;
use ndarray::{Array2, array};

use super::*;
use crate::privacy::gaussian;
use crate::stream::{Form, Stream, StreamOptions};
use crate::workload::Workload;
use crate::{Objective, Participation, Problem};

/// Returns a lower triangular matrix with entries of both signs.
fn matrix(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| match i.checked_sub(j) {
        None => 0.0,
        Some(0) => 1.0 + 0.1 * i as f64,
        Some(lag) => ((3 * i + 5 * j) as f64).sin() / (1.0 + lag as f64),
    })
}

fn problem(workload: &Workload, participation: Participation) -> Problem<'_> {
    Problem { participation, ..Problem::new(workload) }
}

fn strategy(n: usize) -> NoiseStrategy {
    NoiseStrategy::of_matrix("C", matrix(n)).unwrap()
}

/// Returns the squared sensitivity by enumeration: the largest `X_ss`, or
/// `X_ss + X_tt + 2|X_st|` for two participations.
fn squared_sensitivity(matrix: &Array2<f64>, pairs: impl Fn(usize, usize) -> bool) -> f64 {
    let gram = matrix.t().dot(matrix);
    let n = gram.nrows();
    let mut largest = gram.diag().iter().copied().fold(0.0, f64::max);
    for s in 0..n {
        for t in (s + 1..n).filter(|&t| pairs(s, t)) {
            largest = largest.max(gram[[s, s]] + gram[[t, t]] + 2.0 * gram[[s, t]].abs());
        }
    }
    largest
}

/// Oracle: the sensitivity by enumeration, and the exact curve of the Gaussian mechanism.
#[test]
fn sigma_is_the_smallest_on_the_exact_curve() {
    let workload = Workload::parse("prefix:12").unwrap();
    for (participation, squared, tight) in [
        (Participation::Single, squared_sensitivity(&matrix(12), |_, _| false), true),
        (Participation::Epochs(2), squared_sensitivity(&matrix(12), |s, t| t == s + 6), true),
        (
            Participation::MinSeparation { separation: 5, count: 2 },
            squared_sensitivity(&matrix(12), |s, t| t >= s + 5),
            false,
        ),
    ] {
        let problem = problem(&workload, participation);
        let of = |calibration| {
            noise_guarantee(&strategy(12), &problem, calibration, Default::default()).unwrap()
        };
        let (epsilon, delta) = (0.8, 1e-7);
        let found = of(Calibration::Sigma { epsilon, delta });
        assert_eq!(found.failure_probability, 0.0);
        let l2 = squared.sqrt();
        let curve = |sigma| gaussian::analytic_delta(l2, sigma, epsilon).unwrap();
        assert!(curve(found.sigma) <= delta, "{participation}");
        if tight {
            assert_eq!(found.method, "Gaussian, exact");
            assert!(curve(found.sigma * (1.0 - 1e-7)) > delta, "{participation}");
        } else {
            assert_eq!(found.method, "Gaussian, row-sum bound on the sensitivity");
            assert!(found.sensitivity.squared > squared);
        }
        let sigma = found.sigma;
        let epsilon_back = of(Calibration::Epsilon { sigma, delta }).epsilon;
        assert_relative_eq!(epsilon_back, epsilon, max_relative = 1e-9);
        let delta_back = of(Calibration::Delta { sigma, epsilon }).delta;
        assert_relative_eq!(delta_back, delta, max_relative = 1e-9);
        assert!(delta_back >= curve(sigma));
    }
}

/// Oracle: `‖W C⁻¹‖²_F/m` and its largest row, by forward substitution.
#[test]
fn errors_of_a_matrix_are_those_of_its_noise() {
    let workload = Workload::parse("prefix:9").unwrap();
    let matrix = matrix(9);
    let (mut total, mut largest) = (0.0, 0.0f64);
    // Row q of W C⁻¹ solves x C = w.
    for q in 0..9 {
        let mut x = [0.0; 9];
        for j in (0..9).rev() {
            let rest: f64 = (j + 1..9).map(|i| x[i] * matrix[[i, j]]).sum();
            x[j] = (f64::from(u8::from(j <= q)) - rest) / matrix[[j, j]];
        }
        let error: f64 = x.iter().map(|x| x * x).sum();
        total += error;
        largest = largest.max(error);
    }
    let strategy = NoiseStrategy::of_matrix("C", matrix).unwrap();
    let error =
        |objective| strategy.unit_error(&Problem { objective, ..Problem::new(&workload) }).unwrap();
    assert_relative_eq!(error(Objective::Mean), total / 9.0, max_relative = 1e-12);
    assert_relative_eq!(error(Objective::Max), largest, max_relative = 1e-12);
    let balanced = 0.25 * largest + 0.75 * total / 9.0;
    assert_relative_eq!(error(Objective::Balanced(0.75)), balanced, max_relative = 1e-12);
}

/// A matrix is not rescaled: three times the strategy needs three times the noise, for the same
/// error.
#[test]
fn a_matrix_is_used_as_it_is() {
    let workload = Workload::parse("prefix:10").unwrap();
    let problem = problem(&workload, Participation::Epochs(2));
    let calibration = Calibration::Sigma { epsilon: 2.0, delta: 1e-6 };
    let tripled = NoiseStrategy::of_matrix("3C", matrix(10) * 3.0).unwrap();
    let of = |strategy| {
        noise_guarantee(strategy, &problem, calibration, Default::default()).unwrap().sigma
    };
    let (sigma, tripled_sigma) = (of(&strategy(10)), of(&tripled));
    assert_relative_eq!(tripled_sigma, 3.0 * sigma, max_relative = 1e-7);
    let error = |strategy: &NoiseStrategy, sigma: f64| {
        sigma * sigma * strategy.unit_error(&problem).unwrap()
    };
    assert_relative_eq!(
        error(&tripled, tripled_sigma),
        error(&strategy(10), sigma),
        max_relative = 1e-7
    );
}

/// Coefficients, their matrix, and the registered strategy of the same fit agree.
#[test]
fn all_forms_of_a_strategy_agree() {
    let workload = Workload::parse("prefix:24").unwrap();
    let problem = problem(&workload, Participation::Epochs(3));
    let stream = Stream::fit(&problem, Form::Recurrence, 3, &StreamOptions::default()).unwrap();
    let matrix = stream.coefficients.strategy_matrix().unwrap();
    let forms = [
        NoiseStrategy::of_coefficients("noise.npz", stream.coefficients),
        NoiseStrategy::of_matrix("C.npy", matrix.clone()).unwrap(),
        NoiseStrategy::of_text("recurrence(buffers=3)", &problem).unwrap(),
    ];
    let calibration = Calibration::Sigma { epsilon: 1.0, delta: 1e-6 };
    let expected = gaussian::analytic_sigma_rounded_up(1.0, 1.0, 1e-6).unwrap();
    for form in &forms {
        let found = noise_guarantee(form, &problem, calibration, Default::default()).unwrap();
        assert_relative_eq!(found.sigma, expected, max_relative = 1e-7);
        let error = form.unit_error(&problem).unwrap();
        assert_relative_eq!(error, stream.assessment.mean_error, max_relative = 1e-7);
        let own = form.matrix(&problem).unwrap();
        assert!((&own - &matrix).iter().all(|x| x.abs() < 1e-6), "{}", form.name());
    }
    assert_eq!(forms.map(|form| form.is_scaled()), [false, false, true]);
}

/// The lower triangular factor of a strategy with rows in any order has its Gram matrix.
#[test]
fn the_matrix_of_a_selected_strategy_is_lower_triangular_at_sensitivity_one() {
    let workload = Workload::parse("prefix:16").unwrap();
    let problem = problem(&workload, Participation::MinSeparation { separation: 4, count: 2 });
    let strategy = NoiseStrategy::of_text("wavelet", &problem).unwrap();
    let matrix = strategy.matrix(&problem).unwrap();
    let again = NoiseStrategy::of_matrix("C", matrix).unwrap();
    let (one, two) =
        (strategy.sensitivity(&problem).unwrap(), again.sensitivity(&problem).unwrap());
    assert_relative_eq!(one.squared, two.squared, max_relative = 1e-9);
    assert_eq!(one.bound, two.bound);
    let errors = [&strategy, &again].map(|strategy| strategy.unit_error(&problem).unwrap());
    assert_relative_eq!(errors[0], errors[1], max_relative = 1e-9);
}

#[test]
fn invalid_strategies_and_parameters_are_refused() {
    let refused = |matrix: Array2<f64>, text: &str| {
        let message = NoiseStrategy::of_matrix("C.npy", matrix).unwrap_err().to_string();
        assert!(message.contains(text) && message.contains("C.npy"), "{message}");
    };
    refused(Array2::ones((2, 3)), "2 rows and 3 columns");
    refused(array![[1.0, 1e-17], [0.0, 1.0]], "1e-17 in row 0, column 1, above the diagonal");
    refused(array![[1.0, 0.0], [1.0, 0.0]], "0e0 in row 1, column 1");
    refused(array![[1.0, 0.0], [f64::NAN, 1.0]], "NaN in row 1, column 0");
    let workload = Workload::parse("prefix:12").unwrap();
    let refused = |n: usize, participation, calibration, text: &str| {
        let problem = problem(&workload, participation);
        let message = noise_guarantee(&strategy(n), &problem, calibration, Default::default())
            .unwrap_err()
            .to_string();
        assert!(message.contains(text), "{message}");
    };
    let valid = Calibration::Sigma { epsilon: 1.0, delta: 1e-6 };
    refused(8, Participation::Single, valid, "12 steps, those of `prefix:12`, found 8");
    refused(12, Participation::Epochs(5), valid, "a multiple of 5");
    for (calibration, text) in [
        (Calibration::Sigma { epsilon: f64::NAN, delta: 1e-6 }, "epsilon"),
        (Calibration::Sigma { epsilon: 1.0, delta: 0.0 }, "delta"),
        (Calibration::Epsilon { sigma: 0.0, delta: 1e-6 }, "standard deviation"),
        (Calibration::Epsilon { sigma: 1.0, delta: f64::NAN }, "delta"),
        (Calibration::Delta { sigma: f64::INFINITY, epsilon: 1.0 }, "standard deviation"),
        (Calibration::Delta { sigma: 1.0, epsilon: -1.0 }, "epsilon"),
    ] {
        refused(12, Participation::Single, calibration, text);
    }
    for (sigma, epsilon, delta, text) in [
        (None, None, None, "none"),
        (None, Some(1.0), None, "epsilon alone"),
        (Some(1.0), Some(1.0), Some(1e-6), "all three"),
    ] {
        let message = Calibration::of_two(sigma, epsilon, delta).unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    }
}
