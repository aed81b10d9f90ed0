//! Tests of whole fits.

use super::*;
use crate::workload::Workload;
use crate::{Objective, Participation, Problem, Request, StrategySelector};
use approx::assert_relative_eq;
use ndarray::Array2;

fn fitted(workload: &str, participation: &str, form: Form, buffers: usize) -> Stream {
    let workload = Workload::parse(workload).unwrap();
    let participation = participation.parse().unwrap();
    let problem = Problem { participation, ..Problem::new(&workload) };
    let options = StreamOptions { max_iterations: Some(300), ..StreamOptions::default() };
    Stream::fit(&problem, form, buffers, &options).unwrap()
}

/// Returns a recurrence that is not fitted, for two epochs.
fn any_recurrence(steps: usize, buffers: usize) -> Coefficients {
    let wave = |rows: usize, columns: usize, phase: f64| {
        Array2::from_shape_fn((rows, columns), |(t, j)| {
            0.2 + 0.1 * (phase + 1.3 * t as f64 + 2.1 * j as f64).sin()
        })
    };
    Coefficients::Recurrence(NoiseRecurrence {
        rates: (0..buffers).map(|j| 0.2 + 0.4 * j as f64).collect(),
        input: wave(steps, buffers, 0.0),
        output: wave(steps, buffers, 1.0),
        diagonal: wave(steps, 1, 2.0).mapv(|x| 1.0 + x).into_raw_vec_and_offset().0,
        scale: wave(steps, 1, 3.0).mapv(|x| 1.0 + x).into_raw_vec_and_offset().0,
        taps: wave(1, steps, 4.0),
        period: steps / 2,
    })
}

/// Coefficients of all forms, for few steps and for several chunks of coordinates.
pub(super) fn streams() -> Vec<Coefficients> {
    let mut streams = vec![any_recurrence(16, 2), any_recurrence(600, 6)];
    streams.extend(
        [
            ("prefix:24", "single", Form::Recurrence, 4),
            ("prefix:30", "epochs:3", Form::Recurrence, 2),
            ("prefix:24", "single", Form::Chains, 3),
            ("decay(rate=0.9):300", "single", Form::Chains, 4),
            ("prefix:32", "min-sep:8,4", Form::Truncated, 1),
            ("prefix:21", "min-sep:5,4", Form::Truncated, 2),
            ("prefix:9", "min-sep:1,4", Form::Truncated, 2),
            ("prefix:90", "min-sep:30,2", Form::Truncated, 2),
        ]
        .map(|(workload, participation, form, buffers)| {
            fitted(workload, participation, form, buffers).coefficients
        }),
    );
    streams
}

/// Oracle: the assessment of the strategy matrix as any other matrix.
#[test]
fn assessments_match_those_of_the_strategy_matrix() {
    for (text, participation, form, buffers) in [
        ("prefix:40", "single", Form::Recurrence, 2),
        ("prefix:36", "epochs:3", Form::Recurrence, 2),
        ("prefix:40", "single", Form::Chains, 4),
        ("range:12", "single", Form::Chains, 4),
        ("prefix:36", "min-sep:9,4", Form::Truncated, 2),
    ] {
        let workload = Workload::parse(text).unwrap();
        let stream = fitted(text, participation, form, buffers);
        let matrix = stream.coefficients.strategy_matrix().unwrap();
        let factor = crate::StrategyFactor::from_queries(workload.shape(), matrix);
        let strategy = crate::Strategy::single("streamed", factor.unwrap());
        let queries = workload.count().as_f64();
        for objective in [Objective::Mean, Objective::Max] {
            let problem = Problem {
                workload: &workload,
                objective,
                participation: participation.parse().unwrap(),
            };
            let mut expected = problem.error(&strategy).unwrap();
            let found = if objective == Objective::Mean {
                expected /= queries;
                stream.assessment.mean_error
            } else {
                stream.assessment.max_error.unwrap()
            };
            assert_relative_eq!(found, expected, max_relative = 1e-9);
        }
        let assessment = stream.assessment;
        assert_relative_eq!(assessment.sensitivity.squared, 1.0, max_relative = 1e-9);
        assert_eq!(assessment.sensitivity.bound, None);
        assert!(stream.excess().unwrap() > 0.0, "{text}");
        let request = format!("optimal(participation={participation})");
        let optimum = Request::parse(&request).unwrap().select(&workload).unwrap();
        let bound = optimum.certificate.unwrap().lower_bound / queries;
        assert_relative_eq!(stream.lower_bound.unwrap(), bound, max_relative = 1e-6);
    }
}

/// The excess over the best banded strategy, on which the truncated exponentials are a restriction.
#[test]
fn truncated_exponentials_are_near_the_banded_optimum() {
    let stream = fitted("prefix:128", "min-sep:32,4", Form::Truncated, 3);
    // The banded optimum, known to the digits shown.
    let excess = stream.assessment.mean_error / 24.0431 - 1.0;
    assert!(excess > 0.0 && excess < 1e-3, "{excess}");
    assert_eq!(stream.coefficients.buffers(), 12);
    assert_eq!(stream.coefficients.draws_per_step(), 4);
}

#[test]
fn problems_that_a_form_does_not_support_are_refused() {
    let workload = Workload::parse("prefix:24").unwrap();
    let refused = |participation: &str, objective, form, buffers, part: &str| {
        let participation = participation.parse().unwrap();
        let problem = Problem { workload: &workload, objective, participation };
        let error = Stream::fit(&problem, form, buffers, &StreamOptions::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refused("single", Objective::Mean, Form::Chains, 0, "at least one buffer");
    refused("epochs:4", Objective::Mean, Form::Chains, 4, "single participation");
    refused("single", Objective::Mean, Form::Truncated, 4, "min-sep:B,K");
    refused("min-sep:6,4", Objective::Max, Form::Truncated, 4, "objective mean");
    refused("min-sep:9,4", Objective::Mean, Form::Truncated, 4, "9 * 4");
    assert!("tree".parse::<Form>().is_err());
}

/// The columns of a recurrence are orthogonal for the patterns of its epochs only. At 512 steps the
/// squared sensitivity under min-separation is at least 1.25 (an independent implementation).
#[test]
fn noise_for_fixed_epochs_costs_more_under_min_separation() {
    let workload = Workload::parse("prefix:512").unwrap();
    let problem = Problem { participation: Participation::Epochs(4), ..Problem::new(&workload) };
    let fit = Stream::fit(&problem, Form::Recurrence, 4, &StreamOptions::default()).unwrap();
    let coefficients = fit.coefficients;
    let fixed = coefficients.sensitivity(Participation::Epochs(4)).unwrap();
    assert_eq!(fixed.bound, None);
    assert_relative_eq!(fixed.squared, 1.0, max_relative = 1e-8);
    let separated = Participation::MinSeparation { separation: 128, count: 4 };
    let any = coefficients.sensitivity(separated).unwrap();
    assert_eq!(any.bound, Some("row-sum bound"));
    assert!(any.attained > 1.25 && any.squared >= any.attained, "{any:?}");
}

/// Returns the inverse of a lower triangular matrix by forward substitution.
fn inverse_of_lower(matrix: &Array2<f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let mut inverse = Array2::zeros((n, n));
    for column in 0..n {
        for row in column..n {
            let known: f64 = (column..row).map(|k| matrix[[row, k]] * inverse[[k, column]]).sum();
            let unit = f64::from(u8::from(row == column));
            inverse[[row, column]] = (unit - known) / matrix[[row, row]];
        }
    }
    inverse
}

/// Learning rates that start or end with zeros, or have some inside: the gradients of these steps
/// reach no query. Oracle: the strategy matrix of the coefficients, dense, with the workload's rows;
/// and the lower bound of `optimal` for the positive steps alone, which have the same queries.
#[test]
fn steps_without_a_learning_rate_cost_nothing() {
    let ramp = |zeros: &[usize]| -> Vec<f64> {
        let rate = |k: usize| if zeros.contains(&k) { 0.0 } else { (k as f64 / 8.0).min(1.0) };
        (0..24).map(rate).collect()
    };
    for (rates, participation) in [
        (ramp(&[0]), Participation::Single),
        (ramp(&[0, 1, 2, 3]), Participation::Epochs(3)),
        (ramp(&[0, 11, 12, 22, 23]), Participation::Epochs(2)),
        (ramp(&[0, 23]), Participation::MinSeparation { separation: 8, count: 3 }),
    ] {
        let workload =
            Workload::training(crate::workload::Training::new(rates.clone(), 0.0, 1.0).unwrap());
        let forms: &[Form] = match participation {
            Participation::Single | Participation::Epochs(_) | Participation::Random { .. } => {
                &[Form::Recurrence]
            }
            Participation::MinSeparation { .. } => &[Form::Truncated],
        };
        for &form in forms {
            for objective in [Objective::Mean, Objective::Max] {
                if form == Form::Truncated && objective == Objective::Max {
                    continue;
                }
                let problem = Problem { workload: &workload, objective, participation };
                let fit = Stream::fit(&problem, form, 4, &StreamOptions::default()).unwrap();
                let excess = fit.excess().unwrap();
                // Small fits for the largest error are less close.
                let is_mean = objective == Objective::Mean;
                let most = if form == Form::Recurrence && is_mean { 0.02 } else { 0.08 };
                assert!((-1e-9..most).contains(&excess), "{participation} {form:?}: {excess}");
                // The error with dense matrices.
                let strategy = fit.coefficients.strategy_matrix().unwrap();
                let noise = inverse_of_lower(&strategy);
                let rows: Vec<f64> = workload.rows().unwrap().flatten().collect();
                let rows = ndarray::Array2::from_shape_vec((24, 24), rows).unwrap();
                let of_queries: Vec<f64> =
                    rows.dot(&noise).rows().into_iter().map(|row| row.dot(&row)).collect();
                let mean = of_queries.iter().sum::<f64>() / 24.0;
                let max = of_queries.iter().copied().fold(0.0, f64::max);
                let stated = &fit.assessment;
                let expected = if objective == Objective::Mean { mean } else { max };
                assert_relative_eq!(
                    stated.error,
                    expected * stated.sensitivity.squared,
                    max_relative = 1e-9
                );
                if participation == Participation::Single && objective == Objective::Mean {
                    let kept: Vec<usize> = (0..24).filter(|&k| rates[k] > 0.0).collect();
                    let positive = rows.select(ndarray::Axis(1), &kept);
                    let gram = crate::workload::Gram::dense(
                        &[kept.len()],
                        matmech_linalg::gram_of(positive.view()),
                    );
                    let best = crate::Optimal::default().select(&gram.unwrap()).unwrap();
                    let bound = best.certificate.unwrap().lower_bound / 24.0;
                    assert_relative_eq!(fit.lower_bound.unwrap(), bound, max_relative = 1e-5);
                }
            }
        }
    }
}
