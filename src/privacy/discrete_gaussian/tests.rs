//! The distribution of the noise, and where it comes from.

use super::*;

fn deviation(numerator: u128, denominator: u128) -> RationalDeviation {
    RationalDeviation::new(numerator, denominator).unwrap()
}

fn sample(count: usize, deviation: RationalDeviation, mut noise: OperatingSystemNoise) -> Vec<i128> {
    let mut values = vec![0; count];
    noise.add(&mut values, deviation).unwrap();
    values
}

/// P(Z = z) ∝ exp(−z²/(2σ²)), summed directly.
fn probability(z: i128, sigma: f64) -> f64 {
    let weight = |z: i128| (-(z as f64).powi(2) / (2.0 * sigma * sigma)).exp();
    let reach = (40.0 * sigma).ceil() as i128 + 1;
    weight(z) / (-reach..=reach).map(weight).sum::<f64>()
}

/// The chi-square statistic of a sample against exact probabilities of classes of values, and its degrees of freedom. Classes are
/// joined until each expects at least 25.
fn chi_square(sample: &[i128], sigma: f64) -> (f64, usize) {
    let reach = (8.0 * sigma).ceil() as i128;
    let (mut statistic, mut classes) = (0.0, 0usize);
    let (mut expected, mut observed, mut rest) = (0.0, 0.0, (sample.len() as f64, sample.len() as f64));
    for z in -reach..=reach {
        expected += sample.len() as f64 * probability(z, sigma);
        observed += sample.iter().filter(|x| **x == z).count() as f64;
        if expected >= 25.0 && rest.0 - expected >= 25.0 {
            statistic += (observed - expected).powi(2) / expected;
            classes += 1;
            rest = (rest.0 - expected, rest.1 - observed);
            (expected, observed) = (0.0, 0.0);
        }
    }
    statistic += (rest.1 - rest.0).powi(2) / rest.0;
    (statistic, classes)
}

/// The value that a chi-square variable exceeds with probability 1e-6 (Wilson and Hilferty's cube; within 1 % from 3 degrees on).
fn critical(degrees: usize) -> f64 {
    let share = 2.0 / (9.0 * degrees as f64);
    degrees as f64 * (1.0 - share + 4.753_424 * share.sqrt()).powi(3)
}

/// Level 1e-6. The negative controls fail at the same level: σ wrong by 5 %, and a Gaussian rounded to whole numbers.
#[test]
fn the_noise_has_its_exact_probabilities() {
    for (numerator, denominator) in [(1, 2), (3, 2), (12, 1), (37, 5)] {
        let sigma = deviation(numerator, denominator);
        let drawn = sample(60_000, sigma, OperatingSystemNoise::of_counter(5));
        let (found, degrees) = chi_square(&drawn, sigma.to_f64());
        assert!(found < critical(degrees), "{sigma}: {found} on {degrees}");
        for wrong in [0.95, 1.05] {
            let (found, degrees) = chi_square(&drawn, wrong * sigma.to_f64());
            assert!(found > critical(degrees), "{sigma}, {wrong}: {found} on {degrees}");
        }
    }
    use rand::SeedableRng;
    use rand_distr::StandardNormal;
    let mut generator = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    let rounded: Vec<i128> = (0..60_000)
        .map(|_| {
            let z: f64 = StandardNormal.sample(&mut generator);
            (z / 2.0).round() as i128
        })
        .collect();
    let (found, degrees) = chi_square(&rounded, 0.5);
    assert!(found > critical(degrees), "{found} on {degrees}");
}

/// The operating system's noise, which no test can repeat: mean and variance within 6 standard errors, which fails once in 10⁸
/// runs; and no block of it comes twice.
#[test]
fn the_operating_systems_noise_is_fresh_and_has_its_variance() {
    let sigma = deviation(1 << 20, 1);
    let (one, other) =
        (sample(4000, sigma, OperatingSystemNoise::new()), sample(4000, sigma, OperatingSystemNoise::new()));
    assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 10);
    let all: Vec<f64> = one.iter().chain(&other).map(|z| *z as f64 / sigma.to_f64()).collect();
    let count = all.len() as f64;
    let (mean, variance) = (all.iter().sum::<f64>() / count, all.iter().map(|z| z * z).sum::<f64>() / count);
    assert!(mean.abs() < 6.0 / count.sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 6.0 * (2.0 / count).sqrt(), "{variance}");
    let mut halves = [one[..2000].to_vec(), one[2000..].to_vec()];
    halves.iter_mut().for_each(|half| half.truncate(100));
    assert_ne!(halves[0], halves[1]);
}

#[test]
fn deviations_are_rounded_up_and_written_back() {
    for x in [1e-6, 0.3, 1.0, 12.5, 1e9 + 0.5, 3.7e15, 1e30] {
        let found = RationalDeviation::rounded_up(x).unwrap();
        assert!(found.to_f64() >= x && found.to_f64() <= x * (1.0 + 6e-8), "{x}: {found}");
        assert_eq!(found.to_string().parse::<RationalDeviation>().unwrap(), found);
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e40, 1e-30] {
        assert!(RationalDeviation::rounded_up(bad).is_err());
    }
    for bad in ["", "1", "0/1", "1/0", "a/b", "-1/2", "1/99999999999999999999999"] {
        assert!(bad.parse::<RationalDeviation>().is_err(), "{bad}");
    }
}

#[test]
fn bytes_that_are_missing_are_reported_after_the_drawing_ended() {
    let stream = OperatingSystemStream { failure: Some(getrandom::Error::UNSUPPORTED), ..Default::default() };
    assert!(matches!(stream.sound(), Err(PrivacyError::NoRandomness { .. })));
    assert!(OperatingSystemStream::default().sound().is_ok());
}
