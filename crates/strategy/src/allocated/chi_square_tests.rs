//! Tests of the chi-square divergence and its certificate against independent computations.

use approx::assert_relative_eq;
use ndarray::{Array2, array};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use super::chi_square::{order_two_divergence, variance_of};
use super::*;
use crate::allocation::Bins;
use crate::workload::{Family, Workload};
use crate::{
    Identity, Optimal, Participation, PrivacyTarget, Problem, Request, Status, StrategySelector,
};

fn prefix(n: usize) -> Array2<f64> {
    Workload::family(Family::PREFIX, &[n]).unwrap().gram().unwrap().to_dense().unwrap()
}

/// Returns M of the absolute values, from its definition.
fn inner_products(strategy: &Array2<f64>, epochs: usize) -> Array2<f64> {
    let n = strategy.nrows();
    let bins = n / epochs;
    let sum = |t: usize, j: usize| -> f64 {
        (0..epochs).map(|k| strategy[[t, j + k * bins]].abs()).sum()
    };
    Array2::from_shape_fn((bins, bins), |(i, j)| (0..n).map(|t| sum(t, i) * sum(t, j)).sum())
}

/// Returns the total squared error with the noise of a divergence, by bisection, and by the solution
/// of `Cᵀy = w` for the rows w of the prefix workload.
fn error_at(strategy: &Array2<f64>, epochs: usize, divergence: f64) -> f64 {
    let n = strategy.nrows();
    if (0..n).any(|t| strategy[[t, t]] == 0.0) {
        return f64::INFINITY;
    }
    let m = inner_products(strategy, epochs);
    let mean = |t: f64| m.iter().map(|x| (t * x).exp()).sum::<f64>() / m.len() as f64;
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if mean(middle) > divergence.exp() {
            high = middle;
        } else {
            low = middle;
        }
    }
    let mut total = 0.0;
    for query in 0..n {
        let mut y = vec![0.0; n];
        for t in (0..n).rev() {
            let known: f64 = (t + 1..n).map(|r| strategy[[r, t]] * y[r]).sum();
            y[t] = (f64::from(u8::from(t <= query)) - known) / strategy[[t, t]];
        }
        total += y.iter().map(|y| y * y).sum::<f64>();
    }
    total / low
}

/// Minimises [`error_at`] over lower triangular matrices of any sign by a pattern search.
fn searched(n: usize, epochs: usize, divergence: f64, random: &mut ChaCha12Rng) -> f64 {
    let positions: Vec<(usize, usize)> =
        (0..n).flat_map(|t| (0..=t).map(move |s| (t, s))).collect();
    let mut strategy = Array2::zeros((n, n));
    for &(t, s) in &positions {
        strategy[[t, s]] = if t == s { 1.0 } else { random.random_range(-0.3..0.8) };
    }
    let (mut best, mut step) = (error_at(&strategy, epochs, divergence), 0.2);
    while step > 1e-5 {
        let mut improved = false;
        for _ in 0..20 * positions.len() {
            let mut moved = strategy.clone();
            positions.iter().for_each(|&position| {
                moved[position] += step * random.sample::<f64, _>(StandardNormal);
            });
            // A single entry is also set to zero: a minimum may be there.
            let zeroed = random.random_range(0..3 * positions.len());
            if let Some(&(t, s)) = positions.get(zeroed).filter(|(t, s)| t != s) {
                moved[[t, s]] = 0.0;
            }
            let error = error_at(&moved, epochs, divergence);
            if error < best {
                (best, strategy, improved) = (error, moved, true);
            }
        }
        if !improved {
            step *= 0.5;
        }
    }
    best
}

/// Oracle: the mean of L² under Q, of strategies with negative entries and repeated participation.
#[test]
fn the_divergence_is_the_second_moment_of_the_ratio() {
    let strategies = [
        (array![[1.0f64, 0.0, 0.0], [0.5, 0.8, 0.0], [0.2, 0.4, 1.1]], 1),
        (
            array![
                [0.7f64, 0.0, 0.0, 0.0],
                [-0.3, 0.6, 0.0, 0.0],
                [0.1, -0.2, 0.5, 0.0],
                [0.0, 0.1, 0.2, 0.6]
            ],
            2,
        ),
    ];
    let mut random = ChaCha12Rng::seed_from_u64(11);
    for (strategy, epochs) in strategies {
        let (n, sigma) = (strategy.nrows(), 1.6f64);
        let count = n / epochs;
        let contribution = |t: usize, j: usize| -> f64 {
            (0..epochs).map(|k| strategy[[t, j + k * count]].abs()).sum()
        };
        let (mut sum, mut squares, samples) = (0.0, 0.0, 400_000);
        for _ in 0..samples {
            let x: Vec<f64> =
                (0..n).map(|_| sigma * random.sample::<f64, _>(StandardNormal)).collect();
            let ratio = |j: usize| {
                let exponent: f64 =
                    (0..n).map(|t| contribution(t, j) * (x[t] - 0.5 * contribution(t, j))).sum();
                (exponent / (sigma * sigma)).exp()
            };
            let squared = ((0..count).map(ratio).sum::<f64>() / count as f64).powi(2);
            sum += squared;
            squares += squared * squared;
        }
        let mean = sum / f64::from(samples);
        let deviation = ((squares / f64::from(samples) - mean * mean) / f64::from(samples)).sqrt();
        let bins = Bins::of_strategy(strategy.view(), epochs).unwrap();
        let found = order_two_divergence(bins.gram(), sigma * sigma).exp();
        assert!((found - mean).abs() < 4.0 * deviation, "{found} {mean} {deviation}");
        assert!(deviation < 0.01 * (mean - 1.0), "{mean} {deviation}");
    }
}

#[test]
fn variances_have_their_divergence() {
    let m = array![[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 3.0]];
    for divergence in [1e-10, 1e-3, 0.5, 5.0, 500.0] {
        let variance = variance_of(m.view(), divergence);
        let found = order_two_divergence(m.view(), variance);
        assert_relative_eq!(found, divergence, max_relative = 1e-11);
    }
    // One bin: 1 + χ² = exp(M/σ²).
    assert_relative_eq!(variance_of(array![[3.0]].view(), 1.5), 2.0, max_relative = 1e-14);
}

/// Oracle: for two steps, all X on a grid that is refined around its best point.
#[test]
fn bounds_enclose_the_optimum_of_two_steps() {
    for divergence in [0.05f64, 0.7, 4.0] {
        let total = 4.0 * divergence.exp();
        let error = |a: f64, d: f64, share: f64| {
            let rest = 0.5 * (total - a.exp() - d.exp());
            if rest < 1.0 {
                return f64::INFINITY;
            }
            let r = share * rest.ln();
            let determinant = a * d - r * r;
            if determinant > 0.0 { (2.0 * d - 2.0 * r + a) / determinant } else { f64::INFINITY }
        };
        let mut best = (f64::INFINITY, [0.5 * total.ln(), 0.5 * total.ln(), 0.0]);
        let mut width = [0.5 * total.ln(), 0.5 * total.ln(), 1.0];
        for _ in 0..150 {
            let centre = best.1;
            let at = |axis: usize, k: i32| centre[axis] + width[axis] * f64::from(k) / 10.0;
            for (i, j, k) in (-10..=10)
                .flat_map(|i| (-10..=10).map(move |j| (i, j)))
                .flat_map(|(i, j)| (-10..=10).map(move |k| (i, j, k)))
            {
                let point = [at(0, i).max(0.0), at(1, j).max(0.0), at(2, k).clamp(-1.0, 1.0)];
                let found = error(point[0], point[1], point[2]);
                if found < best.0 {
                    best = (found, point);
                }
            }
            width.iter_mut().for_each(|w| *w *= 0.9);
        }
        let bounds = ChiSquareBounds::at(prefix(2).view(), 1, divergence, None).unwrap();
        assert!(bounds.lower_bound <= best.0 * (1.0 + 1e-9), "{bounds:?} {best:?}");
        assert!(bounds.upper_bound >= best.0 * (1.0 - 1e-6), "{bounds:?} {best:?}");
        assert!(bounds.upper_bound <= bounds.lower_bound * (1.0 + 1e-4), "{bounds:?}");
    }
}

/// Oracle: a search over matrices of any sign, for one and for two epochs.
#[test]
fn bounds_enclose_searched_optima() {
    let mut random = ChaCha12Rng::seed_from_u64(5);
    for (n, epochs, gap) in [(3, 1, 1e-4), (4, 2, 1e-3), (6, 2, 3e-3)] {
        for divergence in [0.1, 1.0, 3.0] {
            let bounds = ChiSquareBounds::at(prefix(n).view(), epochs, divergence, None).unwrap();
            let starts = (0..4).map(|_| searched(n, epochs, divergence, &mut random));
            let best = starts.fold(f64::INFINITY, f64::min);
            assert!(bounds.lower_bound <= best, "{n} {epochs}: {best} {bounds:?}");
            assert!(bounds.upper_bound <= best * (1.0 + 1e-3), "{n} {epochs}: {best} {bounds:?}");
            assert!(best <= bounds.lower_bound * (1.0 + gap), "{n} {epochs}: {best} {bounds:?}");
        }
    }
}

/// Random strategies, and small changes of the optimum, of any sign.
#[test]
fn no_strategy_is_below_the_bound() {
    let mut random = ChaCha12Rng::seed_from_u64(7);
    for (n, epochs, divergence) in [(8, 1, 0.02), (8, 1, 2.0), (8, 2, 0.3), (12, 3, 4.0)] {
        let gram = prefix(n);
        let limit = PrivacyLimit::ChiSquare(divergence);
        let form = Banded { steps: n, bands: n };
        let limits = FitLimits::of(limit);
        let fitted = fit(&form, gram.view(), epochs, limit, None, &limits).unwrap().strategy;
        let start = Some(&fitted);
        let bounds = ChiSquareBounds::at(gram.view(), epochs, divergence, start).unwrap();
        assert_relative_eq!(
            bounds.upper_bound,
            error_at(&fitted, epochs, divergence),
            max_relative = 1e-4
        );
        for trial in 0..500 {
            let mut other = Array2::zeros((n, n));
            let size = 10f64.powf(random.random_range(-3.0..0.0));
            for (t, s) in (0..n).flat_map(|t| (0..=t).map(move |s| (t, s))) {
                let near = if trial % 2 == 0 { fitted[[t, s]] } else { 0.5 / (1 + t - s) as f64 };
                let normal: f64 = random.sample(StandardNormal);
                other[[t, s]] = near + size * normal;
            }
            let error = error_at(&other, epochs, divergence);
            assert!(error >= bounds.lower_bound, "{n} {epochs} {trial}: {error} {bounds:?}");
        }
    }
}

fn problem<'a>(workload: &'a Workload, epochs: usize) -> Problem<'a> {
    let target = Some(PrivacyTarget { epsilon: 2.0, delta: 1e-2 });
    Problem { participation: Participation::Random { epochs, target }, ..Problem::new(workload) }
}

#[test]
fn fitted_strategies_have_a_certificate() {
    let workload = Workload::parse("prefix:16").unwrap();
    let options = "participation=random:1, epsilon=2, delta=1e-2";
    let select = |text: &str| {
        Request::parse(&format!("optimal({text}{options})")).unwrap().select(&workload).unwrap()
    };
    let found = select("divergence=chi-square, ");
    let certificate = found.certificate.unwrap();
    assert_eq!(certificate.status, Status::Converged);
    assert!(certificate.lower_bound <= found.error && certificate.gap() <= 1e-3, "{certificate:?}");
    // The Toeplitz optimum has the same bound, at its own divergence, and a larger gap.
    let toeplitz = select("divergence=chi-square, form=toeplitz, ").certificate.unwrap();
    assert!(toeplitz.gap() > 1.1 * certificate.gap() && toeplitz.gap() < 0.2, "{toeplitz:?}");
    // The fit to (ε, δ) itself is better there, and has no certificate.
    let direct = select("");
    assert!(direct.certificate.is_none());
    assert!(direct.error <= found.error * 1.01 && found.error <= 1.1 * direct.error);
}

#[test]
fn any_strategy_is_compared_at_its_divergence() {
    let workload = Workload::parse("prefix:16").unwrap();
    let gram = workload.gram().unwrap();
    for epochs in [1, 2] {
        let problem = problem(&workload, epochs);
        let identity = Identity.select(&gram).unwrap().strategy;
        let found = Optimal::default().assess(&identity, &problem).unwrap();
        assert!(found.dual.is_none() && found.svd_bound.is_none());
        assert!(found.chi_square.unwrap() > 0.0);
        assert!(found.lower_bound <= found.upper_bound, "{found:?}");
        assert!(found.min_excess() > 0.5 && found.max_excess() < 10.0, "{found:?}");
        assert!(found.certificate.gap() < 0.02, "{found:?}");
    }
}

#[test]
fn chi_square_needs_random_allocation() {
    let workload = Workload::parse("prefix:12").unwrap();
    for participation in ["single", "epochs:2", "min-sep:3,2"] {
        let text = format!("optimal(divergence=chi-square, participation={participation})");
        let error = Request::parse(&text).unwrap().select(&workload).unwrap_err().to_string();
        assert!(error.contains("random:K"), "{error}");
    }
    assert!(Request::parse("optimal(divergence=kl)").is_err());
    let gram = workload.gram().unwrap();
    let identity = Identity.select(&gram).unwrap().strategy;
    let problem = problem(&workload, 2);
    let without = Participation::Random { epochs: 2, target: None };
    let problems = [
        (Problem { participation: without, ..problem }, "epsilon and delta"),
        (Problem { objective: crate::Objective::Max, ..problem }, "the objective mean"),
    ];
    for (problem, expected) in problems {
        let error = Optimal::default().assess(&identity, &problem).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
