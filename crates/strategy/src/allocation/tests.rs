use ndarray::{Array2, array};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::added;
use super::mixture::Mixture;
use super::outputs::{Outputs, Scaled, exponentials};
use super::tilted::Tilted;
use super::*;
use matmech_privacy::sampled::normal_below;

/// The first bands of the square root of the prefix sums.
fn banded(n: usize, bands: usize) -> Array2<f64> {
    let next = |(c, i): &(f64, f64)| Some((c * (i + 0.5) / (i + 1.0), i + 1.0));
    let c: Vec<f64> = std::iter::successors(Some((1.0, 0.0)), next).map(|x| x.0).take(n).collect();
    Array2::from_shape_fn((n, n), |(t, s)| match t.checked_sub(s) {
        Some(lag) if lag < bands => c[lag],
        _ => 0.0,
    })
}

/// The mean squared error per prefix sum.
fn error(c: &Array2<f64>) -> f64 {
    let inverse = matmech_linalg::inverse_of_lower(c.view());
    let mut sum = vec![0.0; c.nrows()];
    let mut total = 0.0;
    for row in inverse.rows() {
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += x;
            total += *sum * *sum;
        }
    }
    total / c.nrows() as f64
}

fn options(samples: usize) -> MonteCarloOptions {
    MonteCarloOptions {
        method: Method::MonteCarlo,
        samples: Some(samples),
        ..MonteCarloOptions::default()
    }
}

/// The error of a banded square root in a laboratory, which has about 1 % of noise.
#[test]
fn the_error_at_the_certified_noise_matches_the_laboratory() {
    let c = banded(64, 8);
    let bins = Bins::of_strategy(c.view(), 1).unwrap();
    let accountant = AllocationAccountant::new(&bins, options(200_000)).unwrap();
    let found = accountant.sigma(1.0, 1e-4).unwrap();
    let ratio = error(&c) * found.sigma.powi(2) / 9.04;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
    assert!(found.failure_probability <= 1e-6 && found.delta == 1e-4);
    assert_eq!(found, accountant.sigma(1.0, 1e-4).unwrap());
}

/// δ of two bins by integration over the two coordinates, in both directions.
fn delta_of_two(gram: &Array2<f64>, sigma: f64, epsilon: f64) -> [f64; 2] {
    let a = gram.mapv(|x| x / (sigma * sigma));
    let factor = matmech_linalg::cholesky(a.view()).unwrap();
    let grid = || (-800..=800).map(|i| f64::from(i) * 0.01);
    let (mut added, mut removed) = (0.0, 0.0);
    for x in grid() {
        for y in grid() {
            let v = [
                factor[[0, 0]] * x - 0.5 * a[[0, 0]],
                factor[[1, 0]] * x + factor[[1, 1]] * y - 0.5 * a[[1, 1]],
            ];
            let ratio = 0.5 * (v[0].exp() + v[1].exp());
            let mass = (-0.5 * (x * x + y * y)).exp() / (2.0 * std::f64::consts::PI) * 1e-4;
            added += mass * (ratio - epsilon.exp()).max(0.0);
            removed += mass * (1.0 - epsilon.exp() * ratio).max(0.0);
        }
    }
    [added, removed]
}

#[test]
fn bounds_of_two_bins_are_just_above_the_integral() {
    for (gram, sigma, epsilon) in [
        (array![[1.0, 0.4], [0.4, 0.7]], 1.0, 0.5),
        (array![[1.0, 0.9], [0.9, 1.0]], 0.8, 1.0),
        (array![[1.0, 0.0], [0.0, 0.2]], 0.5, 2.0),
    ] {
        let exact = delta_of_two(&gram, sigma, epsilon).into_iter().fold(0.0, f64::max);
        let bins = Bins::of_gram(gram).unwrap();
        let accountant = AllocationAccountant::new(&bins, options(400_000)).unwrap();
        let found = accountant.delta(sigma, epsilon).unwrap();
        assert!(found.delta >= exact && found.delta <= 1.08 * exact, "{found:?} {exact}");
        assert!((found.estimate.unwrap() / exact - 1.0).abs() < 0.015, "{found:?} {exact}");
        // More noise is needed by the bins that dominate.
        let options = MonteCarloOptions { method: Method::Deterministic, ..options(1000) };
        let dominating = AllocationAccountant::new(&bins, options).unwrap();
        assert!(dominating.delta(sigma, epsilon).unwrap().delta >= 0.999 * exact);
    }
}

/// The direction that removes a record, by Ehrhard's inequality, against the integral; and for many
/// bins, where Jensen's inequality gives nothing.
#[test]
fn removed_records_have_a_small_bound() {
    let gram = array![[1.0, 0.4], [0.4, 0.7]];
    let bins = Bins::of_gram(gram.clone()).unwrap();
    let bound = |bins: &Bins, sigma, epsilon| {
        let pilot = removed::ratios(&Outputs::new(bins, 20_000, 1), sigma);
        let levels = removed::Levels::new(&pilot, epsilon, 60_000, 1e-8).unwrap();
        let fresh = removed::ratios(&Outputs::new(bins, 60_000, 2), sigma);
        let found = levels.bound(&fresh, epsilon, 1e-8);
        assert!((0.3..3.0).contains(&(levels.predicted / found)), "{levels:?} {found}");
        found
    };
    for epsilon in [0.3, 0.5, 1.0] {
        let [_, exact] = delta_of_two(&gram, 1.0, epsilon);
        let found = bound(&bins, 1.0, epsilon);
        assert!(found >= exact && found <= 2.0 * exact, "{found} {exact}");
    }
    let many = Bins::of_strategy(banded(256, 16).view(), 1).unwrap();
    let norm = many.largest().0.sqrt();
    assert!(removed::jensen(&many, (0.9 * norm, 1.0)) > 1e-3);
    let found = bound(&many, 0.9 * norm, 1.0);
    assert!(found < 1e-5, "{found}");
}

/// E L^k of three bins by all k-tuples; the estimate is near it, and the bound above it.
#[test]
fn moments_of_the_ratio_are_estimated_and_bounded() {
    let gram = array![[1.0, 0.5, 0.1], [0.5, 0.8, 0.3], [0.1, 0.3, 0.9]];
    let scaled = Scaled::new(&Bins::of_gram(gram.clone()).unwrap(), 1.3);
    let mut random = ChaCha12Rng::seed_from_u64(4);
    let mut tilted = Tilted::new(&scaled, 0.7, &mut random);
    let power = tilted.power as u32;
    assert!((2..=9).contains(&power), "{power}");
    let tuples = 3usize.pow(power);
    let term = |tuple: usize| {
        let bins: Vec<usize> = (0..power).map(|a| tuple / 3usize.pow(a) % 3).collect();
        let pairs = (0..bins.len()).flat_map(|c| (0..c).map(move |a| (a, c)));
        pairs.map(|(a, c)| scaled.gram[[bins[a], bins[c]]]).sum::<f64>().exp()
    };
    let exact = ((0..tuples).map(term).sum::<f64>() / tuples as f64).ln();
    assert!((tilted.ln_moment - exact).abs() < 0.2, "{} {exact}", tilted.ln_moment);
    tilted.certify(100_000, 1e-6, &mut random);
    assert!((0.0..0.05).contains(&(tilted.ln_moment - exact)), "{} {exact}", tilted.ln_moment);
}

/// The mixture's weights reproduce means under Q, and stay below their bound.
#[test]
fn weights_of_the_mixture_are_bounded_and_unbiased() {
    let bins = Bins::of_strategy(banded(24, 6).view(), 2).unwrap();
    let sigma = 1.5 * bins.largest().0.sqrt();
    let samples = 200_000;
    let mixture = Mixture::new(&bins, (sigma, 1.0), 1).certified(samples, 1e-6, 2);
    let largest = mixture.ln_largest_weight(1.0).exp();
    // P(L > e^{-0.1}) by plain samples, and by the mixture.
    let plain = removed::ratios(&Outputs::new(&bins, samples, 3), sigma);
    let plain = plain.iter().filter(|x| **x > -0.1).count() as f64 / samples as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    mixture.sample(
        &Outputs::new(&bins, samples, 4),
        |ln_ratio| ln_ratio > -0.1,
        |sample| {
            let weight = sample.ln_weight.exp();
            assert!(weight * (sample.ln_ratio.exp() - 1f64.exp()).max(0.0) <= largest);
            sum += weight;
            squares += weight * weight;
        },
    );
    let mean = sum / samples as f64;
    let error = ((squares / samples as f64 + plain) / samples as f64).sqrt();
    assert!((mean - plain).abs() < 4.0 * error, "{mean} {plain} {error}");
}

/// Kept outputs and those drawn at every visit are the same, with the same choices, and have the
/// covariance M.
#[test]
fn outputs_are_the_same_if_they_are_kept() {
    let bins = Bins::of_strategy(banded(12, 5).view(), 2).unwrap();
    let (samples, seed) = (30_000, 9);
    let drawn = |outputs: Outputs<'_>| {
        let mut all = Vec::new();
        outputs.for_each(|random, v| all.push((random.random::<u64>(), v.to_vec())));
        all
    };
    let fresh = drawn(Outputs::new(&bins, samples, seed));
    assert_eq!(fresh.len(), samples);
    assert_eq!(fresh, drawn(Outputs::kept(&bins, samples, seed)));
    assert_ne!(fresh[0], drawn(Outputs::new(&bins, 1, seed + 1))[0]);
    for ((i, j), expected) in bins.gram().indexed_iter() {
        let sum: f64 = fresh.iter().map(|(_, v)| v[i] * v[j]).sum();
        // Five standard deviations of a mean of products.
        let error = 5.0 * (2.0 / samples as f64).sqrt() * bins.largest().0;
        assert!((sum / samples as f64 - expected).abs() < error, "{i} {j}");
    }
}

#[test]
fn monte_carlo_agrees_with_the_deterministic_bound_of_exchangeable_bins() {
    let gram = Array2::from_shape_fn((32, 32), |(i, j)| if i == j { 1.0 } else { 0.5 });
    let bins = Bins::of_gram(gram).unwrap();
    assert!(bins.is_exchangeable());
    let auto = AllocationAccountant::new(&bins, MonteCarloOptions::default()).unwrap();
    let deterministic = auto.sigma(2.0, 1e-5).unwrap();
    assert_eq!(deterministic.method, Method::Deterministic);
    assert!((deterministic.sigma / 1.435 - 1.0).abs() < 2e-3, "{deterministic:?}");
    let sampled = AllocationAccountant::new(&bins, options(60_000)).unwrap();
    let ratio = sampled.sigma(2.0, 1e-5).unwrap().sigma / deterministic.sigma;
    assert!((1.0..1.03).contains(&ratio), "{ratio}");
    let back = sampled.epsilon(deterministic.sigma, 1e-5).unwrap();
    assert!((2.0..2.1).contains(&back.epsilon), "{back:?}");
}

/// With 256 bins of which none is near another and a small ε, many bins share an output with
/// L = e^ε. Oracle: δ of exchangeable bins.
#[test]
fn outputs_far_from_every_bin_are_sampled() {
    let bins = Bins::of_gram(Array2::eye(256)).unwrap();
    let (epsilon, delta, samples) = (0.2, 1e-6, 40_000);
    let exact = AllocationAccountant::new(&bins, MonteCarloOptions::default()).unwrap();
    let sigma = exact.sigma(epsilon, delta).unwrap().sigma;
    let mixture = Mixture::new(&bins, (sigma, epsilon), 1);
    let found = added::weights(&mixture, epsilon, &Outputs::new(&bins, samples, 2));
    let (mean, error) = (found.mean(), found.standard_error());
    assert!((mean - delta).abs() < 4.0 * error + 1e-3 * delta, "{mean} {error}");
    assert!(error < 0.15 * mean, "{mean} {error}");
}

/// A likelihood ratio test of the tightest pair: its ε is at most the stated one, and near it.
#[test]
fn attacks_reach_most_of_the_stated_epsilon_and_no_more() {
    let (epsilon, delta, runs) = (1.0, 1e-2, 1_000_000);
    let bins = Bins::of_strategy(banded(32, 8).view(), 1).unwrap();
    let accountant = AllocationAccountant::new(&bins, options(60_000)).unwrap();
    let sigma = accountant.sigma(epsilon, delta).unwrap().sigma;
    let scaled = Scaled::new(&bins, sigma);
    let ratios = |seed: u64, takes_part: bool| {
        let mut ratios = Vec::new();
        Outputs::new(&bins, runs, seed).for_each(|random, v| {
            let bin = random.random_range(0..v.len());
            for ((v, half), shift) in
                v.iter_mut().zip(&scaled.half_diagonal).zip(scaled.gram.row(bin))
            {
                *v = *v / sigma - half + if takes_part { *shift } else { 0.0 };
            }
            ratios.push(exponentials(v));
        });
        ratios
    };
    let (with, without) = (ratios(5, true), ratios(6, false));
    let share = |ratios: &[f64], above: f64| {
        ratios.iter().filter(|x| **x > above).count() as f64 / runs as f64
    };
    // Rates with 99.9 % confidence intervals of the binomial.
    let attack = |t: f64| {
        let (hits, alarms) = (share(&with, t), share(&without, t));
        let error = |p: f64| 3.3 * (p * (1.0 - p) / runs as f64).sqrt();
        let low = ((hits - error(hits) - delta) / (alarms + error(alarms))).ln();
        (low, ((hits - delta) / alarms).ln())
    };
    let thresholds = (2..=40).map(|k| 0.05 * f64::from(k));
    let found: Vec<(f64, f64)> = thresholds.map(attack).filter(|x| x.0.is_finite()).collect();
    let certain = found.iter().map(|x| x.0).fold(f64::NEG_INFINITY, f64::max);
    let estimate = found.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
    assert!(certain <= epsilon && estimate >= 0.8 * epsilon, "{certain} {estimate}");
}

#[test]
fn strategies_and_budgets_that_cannot_be_accounted_are_refused() {
    let message = |matrix: Array2<f64>, epochs| {
        Bins::of_strategy(matrix.view(), epochs).unwrap_err().to_string()
    };
    assert!(message(array![[1.0, 0.5], [0.0, 1.0]], 1).contains("lower triangular"));
    assert!(message(Array2::eye(4), 3).contains("multiple of the epochs"));
    assert!(message(Array2::eye(4), 8).contains("multiple of the epochs"));
    assert!(message(Array2::zeros((4, 4)), 1).contains("nonzero"));
    assert!(message(Array2::ones((2, 3)), 1).contains("square"));
    let bins = Bins::of_strategy(banded(16, 4).view(), 1).unwrap();
    let few = AllocationAccountant::new(&bins, options(1000)).unwrap();
    let refused = few.sigma(1.0, 1e-12).unwrap_err().to_string();
    assert!(refused.contains("reach") && refused.contains("deterministic"), "{refused}");
    for (epsilon, delta) in [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (f64::NAN, 1e-5)] {
        assert!(few.sigma(epsilon, delta).is_err(), "{epsilon} {delta}");
    }
    assert!(AllocationAccountant::new(&bins, options(10)).is_err());
}

/// The tilt reaches a small δ, with a bound not far above the estimate.
#[test]
fn small_deltas_are_reached() {
    let bins = Bins::of_strategy(banded(12, 4).view(), 2).unwrap();
    let accountant = AllocationAccountant::new(&bins, options(400_000)).unwrap();
    let found = accountant.sigma(1.0, 1e-6).unwrap();
    assert!(found.estimate.unwrap() > 0.6e-6, "{found:?}");
}

/// Noise far above and far below what a budget needs.
#[test]
fn extreme_noise_has_valid_bounds() {
    let bins = Bins::of_strategy(banded(16, 4).view(), 1).unwrap();
    let accountant = AllocationAccountant::new(&bins, options(20_000)).unwrap();
    assert!(accountant.epsilon(1e6, 1e-3).unwrap().epsilon < 1e-3);
    for sigma in [1e-6, 1e-3, 0.03] {
        let found = accountant.delta(sigma, 1.0).unwrap();
        assert!((0.99..=1.0).contains(&found.delta), "{found:?}");
    }
}

/// Negative entries cost as much as positive ones: an attacker chooses the signs.
#[test]
fn signs_do_not_matter() {
    let c = banded(8, 3);
    let mut signs = c.clone();
    signs.iter_mut().step_by(3).for_each(|x| *x = -*x);
    let [a, b] = [&c, &signs].map(|c| Bins::of_strategy(c.view(), 2).unwrap());
    assert_eq!(a.gram(), b.gram());
}

/// With one bin, random allocation is a Gaussian mechanism.
#[test]
fn one_bin_is_a_gaussian_mechanism() {
    let bins = Bins::of_strategy(banded(4, 2).view(), 4).unwrap();
    let mu = bins.largest().0.sqrt() / 2.0;
    let expected =
        normal_below(mu / 2.0 - 1.0 / mu) - 1f64.exp() * normal_below(-mu / 2.0 - 1.0 / mu);
    let accountant = AllocationAccountant::new(&bins, MonteCarloOptions::default()).unwrap();
    let found = accountant.delta(2.0, 1.0).unwrap();
    assert!((found.delta / expected - 1.0).abs() < 2e-3, "{found:?} {expected}");
}
