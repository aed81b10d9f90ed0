use ndarray::Array2;

use super::cost::Cost;
use super::loss::{Loss, total_error};
use super::*;
use crate::PrivacyTarget;
use crate::allocation::{AllocationAccountant, Bins, Method, MonteCarloOptions};
use crate::workload::{Family, Workload};
use matmech_linalg::SmoothFunction;

fn prefix(n: usize) -> Array2<f64> {
    Workload::family(Family::PREFIX, &[n]).unwrap().gram().unwrap().to_dense().unwrap()
}

/// Returns the mean squared error at the noise that the accountant requires.
fn certified(gram: &Array2<f64>, fit: &AllocatedFit, epochs: usize, target: PrivacyTarget) -> f64 {
    let bins = Bins::of_strategy(fit.strategy.view(), epochs).unwrap();
    let options = MonteCarloOptions {
        method: Method::MonteCarlo,
        samples: Some(200_000),
        ..MonteCarloOptions::default()
    };
    let accountant = AllocationAccountant::new(&bins, options).unwrap();
    let sigma = accountant.sigma(target.epsilon, target.delta).unwrap().sigma;
    sigma * sigma * total_error(gram.view(), fit.strategy.view()) / gram.nrows() as f64
}

/// Finite differences of the loss.
#[test]
fn derivatives_match_differences() {
    let gram = prefix(6);
    let posterior = Array2::from_shape_fn((3, 3), |(i, j)| 1.0 / (1.0 + i.abs_diff(j) as f64));
    let forms: [&dyn AllocatedForm; 4] = [
        &Banded { steps: 6, bands: 4 },
        &Toeplitz { steps: 6, bands: 5 },
        &Recurrent { steps: 6, buffers: 2, memory: 6 },
        &InverseToeplitz { steps: 6, bands: 3 },
    ];
    let costs = [Cost::linear(posterior), Cost::Variance(0.8)];
    for (form, cost) in forms.iter().flat_map(|form| costs.iter().map(move |cost| (*form, cost))) {
        let loss = Loss { form, gram: gram.view(), cost, bins: 3 };
        let mut x = form.start(6);
        x.iter_mut().enumerate().for_each(|(i, x)| *x *= 1.0 + 0.05 * (i as f64).sin());
        let (_, gradient) = loss.evaluate(&x).unwrap();
        for i in 0..x.len() {
            let at = |h: f64| {
                let mut moved = x.clone();
                moved[i] += h;
                loss.evaluate(&moved).unwrap().0
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[i]).abs() < 1e-7, "{i}: {difference} {}", gradient[i]);
        }
    }
}

/// The fitted strategies against the square root with its best bands.
#[test]
fn fits_are_better_than_banded_square_roots() {
    let (gram, target) = (prefix(24), PrivacyTarget { epsilon: 1.0, delta: 1e-2 });
    let limit = PrivacyLimit::HockeyStick(target);
    let limits = FitLimits::default();
    let none = FitLimits { rounds: Some(0), ..FitLimits::default() };
    let bands = [3, 6, 12].map(|bands| {
        let form = Toeplitz { steps: 24, bands };
        let start = fit(&form, gram.view(), 1, limit, None, &none).unwrap();
        certified(&gram, &start, 1, target)
    });
    let banded = bands.into_iter().fold(f64::INFINITY, f64::min);
    let form = Banded { steps: 24, bands: 24 };
    let free = fit(&form, gram.view(), 1, limit, None, &limits).unwrap();
    assert!(free.strategy.iter().all(|x| *x >= 0.0));
    let form = Recurrent { steps: 24, buffers: 3, memory: 24 };
    let streamed = fit(&form, gram.view(), 1, limit, None, &limits).unwrap();
    let [free, streamed] = [free, streamed].map(|fit| certified(&gram, &fit, 1, target));
    assert!(free < 0.97 * banded && streamed < 1.02 * free, "{banded} {free} {streamed}");
}

/// C⁻¹ has the bands and coefficients of the variables; the start is the banded inverse square root.
#[test]
fn inverse_toeplitz_strategies_have_banded_inverses() {
    let form = InverseToeplitz { steps: 9, bands: 4 };
    let a = [0.6, 0.2, 0.1];
    let strategy = form.matrix(&a);
    let inverse = matmech_linalg::inverse_of_lower(strategy.view());
    for ((t, s), x) in inverse.indexed_iter() {
        let expected = match t.checked_sub(s) {
            Some(0) => 1.0,
            Some(lag @ 1..4) => -a[lag - 1],
            _ => 0.0,
        };
        assert!((x - expected).abs() < 1e-12, "{t} {s}: {x}");
        assert!(strategy[[t, s]] >= 0.0);
    }
    assert_eq!(form.start(9), [0.5, 0.125, 0.0625]);
    let (gram, target) = (prefix(24), PrivacyTarget { epsilon: 1.0, delta: 1e-2 });
    let form = InverseToeplitz { steps: 24, bands: 2 };
    let error = |x: Option<Vec<f64>>, rounds: Option<usize>| {
        let limits = FitLimits { rounds, ..FitLimits::default() };
        let limit = PrivacyLimit::HockeyStick(target);
        let fit = fit(&form, gram.view(), 2, limit, x, &limits).unwrap();
        certified(&gram, &fit, 2, target)
    };
    // A grid of λ is never better than the fit beyond the accuracy of the accountant.
    let fitted = error(None, None);
    let grid = (1..10).map(|i| error(Some(vec![0.1 * f64::from(i)]), Some(0)));
    assert!(fitted < 1.02 * grid.fold(f64::INFINITY, f64::min));
}
