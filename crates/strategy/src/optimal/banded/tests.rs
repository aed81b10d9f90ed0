//! Tests against published optima and other solvers.

use super::*;
use crate::workload::Workload;
use crate::{Optimal, Request, Selection, Status, StrategySelector};
use approx::assert_relative_eq;
use matmech_linalg::SmoothFunction;

fn solved(workload: &str, request: &str) -> (Selection, f64, f64) {
    let workload = Workload::parse(workload).unwrap();
    let request = Request::parse(request).unwrap();
    let selection = request.select(&workload).unwrap();
    let problem = request.problem(&workload);
    // The error, with an exact sensitivity, does not depend on the solver.
    let sensitivity = problem.sensitivity(&selection.strategy).unwrap();
    assert_eq!(sensitivity.bound, None);
    assert!(sensitivity.squared <= 1.0 + 1e-12, "{sensitivity:?}");
    let error = problem.error(&selection.strategy).unwrap();
    assert!(error <= selection.error * (1.0 + 1e-9), "{error} {selection:?}");
    let queries = workload.count().as_f64();
    let lower = selection.details.iter().find(|(name, _)| *name == "banded_lower_bound").unwrap().1;
    let certificate = selection.certificate.unwrap();
    assert!(certificate.lower_bound <= lower && lower <= selection.error);
    (selection.clone(), selection.error / queries, lower / queries)
}

/// Known optima, to the digits shown.
#[test]
fn norms_match_the_published_optima() {
    for (n, options, expected) in [
        (48, "participation=min-sep:12,4, norms=equal", 19.5117),
        (48, "participation=min-sep:12,4", 18.6316),
        (128, "participation=min-sep:8,16", 170.551),
    ] {
        let request = format!("optimal(tolerance=1e-6, {options})");
        let (selection, error, lower) = solved(&format!("prefix:{n}"), &request);
        assert_relative_eq!(error, expected, max_relative = 5e-6);
        assert_relative_eq!(lower, expected, max_relative = 5e-6);
        assert_eq!(selection.certificate.unwrap().status, Status::Converged);
    }
    let (selection, _, _) = solved("prefix:48", "optimal(participation=min-sep:12,4)");
    assert!(selection.certificate.unwrap().lower_bound / 48.0 <= 18.5291 * (1.0 + 1e-5));
}

/// With one participation and all bands, every strategy is in the class.
#[test]
fn all_bands_are_no_restriction() {
    let (selection, _, lower) = solved("prefix:20", "optimal(participation=min-sep:20,1)");
    let gram = Workload::parse("prefix:20").unwrap().gram().unwrap();
    let optimum = Optimal::default().select(&gram).unwrap().certificate.unwrap();
    assert_relative_eq!(selection.error, optimum.upper_bound, max_relative = 1e-6);
    assert_relative_eq!(20.0 * lower, optimum.lower_bound, max_relative = 1e-6);
}

/// Oracle: central differences.
#[test]
fn the_derivative_matches_central_differences() {
    for (workload, free) in [("range:9", false), ("range:9", true), ("momentum(rate=0.5):9", true)]
    {
        let workload = Workload::parse(workload).unwrap();
        let form = BandedFactor::new(&workload, 3, 4, 2, free).unwrap();
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
}

/// The two kernels agree, for windows of several blocks and at the last steps.
#[test]
fn recurrences_have_the_error_and_derivative_of_their_gram_matrix() {
    for (workload, bands) in
        [("prefix:150", 70), ("range:40", 3), ("decay(rate=0.9):33", 1), ("cdf:20", 20)]
    {
        let workload = Workload::parse(workload).unwrap();
        let n = workload.cells();
        let entry = |i: usize, j: usize| 1.0 / (1.0 + i as f64) + 0.1 * ((i + 3 * j) as f64).sin();
        let columns: Vec<Vec<f64>> =
            (0..n).map(|j| (0..bands.min(n - j)).map(|i| entry(i, j)).collect()).collect();
        let gram = workload.gram().unwrap().to_dense().unwrap();
        let (expected, by_entries) = dense_error::evaluate(&gram, &columns);
        let (error, derivative) =
            recurrence_error::evaluate(&workload.recurrence().unwrap(), &columns);
        assert_relative_eq!(error, expected, max_relative = 1e-11);
        let scale = by_entries.iter().flatten().fold(0.0, |m, x| f64::max(m, x.abs()));
        for (x, y) in derivative.iter().flatten().zip(by_entries.iter().flatten()) {
            assert!((x - y).abs() < 1e-10 * scale, "{x} {y}");
        }
        assert!(derivative.iter().zip(&columns).all(|(a, b)| a.len() == b.len()));
    }
}

/// The metric inverts `Tᵀ diag(1/d) T` on the free multipliers, with T from its definition.
#[test]
fn the_metric_inverts_the_curvature_by_the_free_multipliers() {
    let (n, bands, separation, count) = (9, 3, 4, 2);
    let workload = Workload::parse("prefix:9").unwrap();
    let form = BandedFactor::new(&workload, bands, separation, count, true).unwrap();
    let x: Vec<f64> = form.start().iter().enumerate().map(|(i, x)| x * (1.0 + i as f64)).collect();
    let windows = n - separation + 1;
    let (entries, multipliers) = x.split_at(form.entries());
    let contains = |i: usize, w: usize| (w == windows || (w..w + separation).contains(&i)) as u8;
    let t = ndarray::Array2::from_shape_fn((n, windows + 1), |(i, w)| f64::from(contains(i, w)));
    let d = t.dot(&ndarray::Array1::from(multipliers.to_vec()));
    let curvature = t.t().dot(&(&t / &d.view().insert_axis(ndarray::Axis(1))));
    let free: Vec<bool> = (0..x.len()).map(|i| i < entries.len() || i % 3 != 0).collect();
    let vector: Vec<f64> = free.iter().map(|&free| if free { 1.5 } else { 0.0 }).collect();
    let mut image = vector.clone();
    form.metric(&x, &free).unwrap()(&mut image).unwrap();
    // Entries of column 0 are multiplied by its squared norm divided by d.
    let norm: f64 = entries[..bands].iter().map(|a| a * a).sum();
    assert_relative_eq!(image[1], 1.5 * norm / d[0], max_relative = 1e-12);
    let image = ndarray::Array1::from(image[entries.len()..].to_vec());
    let free = &free[entries.len()..];
    let diagonals = free.iter().zip(curvature.diag()).filter(|(free, _)| **free);
    let diagonals: Vec<f64> = diagonals.map(|(_, x)| *x).collect();
    let ridge = 1e-4 * diagonals.iter().sum::<f64>() / diagonals.len() as f64;
    for (i, product) in (curvature.dot(&image) + ridge * &image).iter().enumerate() {
        if free[i] {
            assert_relative_eq!(*product, 1.5, max_relative = 1e-9);
        } else {
            assert_eq!(image[i], 0.0);
        }
    }
}

#[test]
fn invalid_bands_and_objectives_are_refused() {
    let workload = Workload::parse("prefix:12").unwrap();
    for (text, part) in [
        ("optimal(participation=min-sep:4,2, bands=5)", "5 bands"),
        ("optimal(participation=min-sep:4,2, bands=0)", "0 bands"),
        ("optimal(participation=min-sep:4,2, objective=max)", "objective mean"),
        ("optimal(participation=min-sep:4,4)", "4 * 4"),
        ("optimal(bands=3)", "min-sep"),
        ("optimal(norms=equal)", "min-sep"),
    ] {
        let message = Request::parse(text).unwrap().select(&workload).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("remedy"), "{text}: {message}");
    }
    assert!(Request::parse("optimal(norms=large)").is_err());
}
