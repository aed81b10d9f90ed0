use ndarray::Array2;

use super::*;

/// The square root of the prefix sums with some bands.
fn banded(n: usize, bands: usize) -> Array2<f64> {
    let c: Vec<f64> = std::iter::successors(Some((1.0, 0.0)), |(c, i): &(f64, f64)| Some((c * (i + 0.5) / (i + 1.0), i + 1.0))).map(|(c, _)| c).take(n).collect();
    Array2::from_shape_fn((n, n), |(t, s)| match t.checked_sub(s) {
        Some(lag) if lag < bands => c[lag],
        _ => 0.0,
    })
}

/// The mean squared error per prefix sum.
fn error(c: &Array2<f64>) -> f64 {
    let inverse = matmech_linalg::inverse_of_lower(c.view());
    let n = c.nrows();
    let mut sum = vec![0.0; n];
    let mut total = 0.0;
    for row in inverse.rows() {
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += x;
            total += *sum * *sum;
        }
    }
    total / n as f64
}

#[test]
fn errors_of_the_laboratory() {
    for (n, epochs, epsilon, bands, expected) in [
        (64, 1, 1.0, 8, 9.04),
        (64, 1, 4.0, 32, 1.647),
        (128, 4, 1.0, 8, 103.7),
        (128, 4, 4.0, 32, 12.99),
    ] {
        let c = banded(n, bands);
        let bins = Bins::of_strategy(c.view(), epochs).unwrap();
        for method in [Method::MonteCarlo, Method::Deterministic] {
            let started = std::time::Instant::now();
            let options = MonteCarloOptions { method, ..MonteCarloOptions::default() };
            let found = AllocationAccountant::new(&bins, options).unwrap().sigma(epsilon, 1e-4);
            println!("{n} {epochs} {epsilon} {method}: {:?} {:?}", started.elapsed(), found);
            if let Ok(found) = found {
                println!("  error {} expected {expected}", error(&c) * found.sigma.powi(2));
            }
        }
    }
}
