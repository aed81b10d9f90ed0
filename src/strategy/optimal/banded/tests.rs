//! Tests against published optima and other solvers.

use super::*;
use crate::strategy::{Request, StrategySelector};
use crate::workload::Workload;
use approx::assert_relative_eq;

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
    use super::quasi_newton::SmoothFunction as _;
    let gram = Workload::parse("range:9").unwrap().gram().unwrap().to_dense().unwrap();
    for free in [false, true] {
        let form = BandedFactor::new(gram.clone(), 3, 4, 2, free);
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
