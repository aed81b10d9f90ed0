use ndarray::Array2;

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
        samples: Some(400_000),
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
    let forms: [&dyn AllocatedForm; 3] = [
        &Banded { steps: 6, bands: 4 },
        &Toeplitz { steps: 6, bands: 5 },
        &Recurrent { steps: 6, buffers: 2, horizon: 3 },
    ];
    for form in forms {
        let loss = Loss { form, gram: gram.view(), posterior: &posterior };
        let mut x = form.start();
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

/// Against the free optimum of a laboratory (7.6), and the best Toeplitz strategy (8.05 to 8.15).
#[test]
fn fits_reach_the_errors_of_the_laboratory() {
    let (gram, target) = (prefix(64), PrivacyTarget { epsilon: 1.0, delta: 1e-4 });
    let free = fit_banded(gram.view(), 64, 1, target).unwrap();
    let error = certified(&gram, &free, 1, target);
    assert!(error <= 7.8, "{error}");
    assert!(free.residual < 0.05 && free.strategy.iter().all(|x| *x >= 0.0));
    let form = Recurrent { steps: 64, buffers: 4, horizon: 64 };
    let streamed = fit(&form, gram.view(), 1, target, None, &FitLimits::default()).unwrap();
    let excess = certified(&gram, &streamed, 1, target) / error - 1.0;
    assert!(excess <= 0.02, "{excess}");
}

/// At a larger ε the posterior depends more on the strategy, and the fixed point moves slowly.
#[test]
fn several_epochs_at_a_larger_epsilon() {
    let (gram, target) = (prefix(32), PrivacyTarget { epsilon: 4.0, delta: 1e-4 });
    let free = fit_banded(gram.view(), 32, 4, target).unwrap();
    let start = Banded { steps: 32, bands: 8 };
    let limits = FitLimits { rounds: Some(0), ..FitLimits::default() };
    let banded = fit(&start, gram.view(), 4, target, None, &limits).unwrap();
    let [free, banded] = [free, banded].map(|fit| certified(&gram, &fit, 4, target));
    assert!(free < 0.9 * banded, "{free} {banded}");
}
