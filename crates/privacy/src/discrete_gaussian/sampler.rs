//! The sampler.

use super::random_bits::{RandomBits, exponential, exponential_of_big, exponential_of_one};
use num_bigint::BigUint;
use rand::Rng;

use crate::rational_deviation::RationalDeviation;

/// Larger values are an error: sums with answers stay within 128 bits.
const MAX_VALUE: u128 = 1 << 125;

/// A discrete Gaussian distribution with a rational σ.
///
/// *Cost*: about 0.4 µs per value if γ fits 128 bits and a few µs otherwise, independent of σ.
#[derive(Debug, Clone)]
pub(crate) struct DiscreteGaussian {
    /// t = ⌊σ⌋ + 1.
    scale: u128,
    small: Option<Small>,
    large: Large,
}

/// The parts of γ in 128 bits.
#[derive(Debug, Clone, Copy)]
struct Small {
    /// t q².
    slope: u128,
    /// p².
    offset: u128,
    /// 2 p² q² t².
    denominator: u128,
}

/// The parts of γ in big integers.
#[derive(Debug, Clone)]
struct Large {
    slope: BigUint,
    offset: BigUint,
    denominator: BigUint,
}

impl DiscreteGaussian {
    /// Returns the distribution with the given σ.
    pub(crate) fn new(deviation: RationalDeviation) -> Self {
        let (mut p, mut q) = (deviation.numerator(), deviation.denominator());
        let common = gcd(p, q);
        (p, q) = (p / common, q / common);
        let scale = p / q + 1;
        let small = || -> Option<Small> {
            let (slope, offset) = (scale.checked_mul(q.checked_mul(q)?)?, p.checked_mul(p)?);
            let root = p.checked_mul(q)?.checked_mul(scale)?;
            let denominator = root.checked_mul(root)?.checked_mul(2)?;
            Some(Small { slope, offset, denominator })
        };
        let [p, q, t] = [p, q, scale].map(BigUint::from);
        let denominator = (&p * &q * &t).pow(2) * 2u32;
        let large = Large { slope: t * q.pow(2), offset: p.pow(2), denominator };
        DiscreteGaussian { scale, small: small(), large }
    }

    /// Returns one value; `None` beyond 125 bits, which has a probability below exp(−4,000).
    pub(crate) fn sample(&self, bits: &mut RandomBits<'_, impl Rng>) -> Option<i128> {
        loop {
            let (magnitude, negative) = self.laplace(bits)?;
            if self.accept(magnitude, bits) {
                let value = i128::try_from(magnitude).ok()?;
                return Some(if negative { -value } else { value });
            }
        }
    }

    /// Returns the magnitude and sign of Y, P(Y = y) ∝ exp(−|y|/t) (Alg. 2).
    ///
    /// |Y| = U + tV with U below t, P(U = u) ∝ exp(−u/t), and P(V = v) ∝ exp(−v). Negative zero is
    /// rejected.
    fn laplace(&self, bits: &mut RandomBits<'_, impl Rng>) -> Option<(u128, bool)> {
        loop {
            let low = bits.below(self.scale);
            if !exponential(low, self.scale, bits) {
                continue;
            }
            let mut high = 0u128;
            while exponential_of_one(bits) {
                high += 1;
            }
            let magnitude = self.scale.checked_mul(high)?.checked_add(low)?;
            if magnitude > MAX_VALUE {
                return None;
            }
            let negative = bits.take(1) == 1;
            if !(negative && magnitude == 0) {
                return Some((magnitude, negative));
            }
        }
    }

    /// Returns whether a magnitude is accepted: true with probability exp(−γ).
    fn accept(&self, magnitude: u128, bits: &mut RandomBits<'_, impl Rng>) -> bool {
        let small = self.small.and_then(|Small { slope, offset, denominator }| {
            let distance = magnitude.checked_mul(slope)?.abs_diff(offset);
            Some((distance.checked_mul(distance)?, denominator))
        });
        if let Some((numerator, denominator)) = small {
            return exponential(numerator, denominator, bits);
        }
        let Large { slope, offset, denominator } = &self.large;
        let scaled = slope * magnitude;
        let distance = if scaled > *offset { scaled - offset } else { offset - scaled };
        exponential_of_big(distance.pow(2), denominator, bits)
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use prio::dp::Rational;
    use prio::dp::distributions::DiscreteGaussian as Reference;
    use rand::{RngExt, TryRng};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::test_support::rng;

    fn deviation(numerator: u128, denominator: u128) -> RationalDeviation {
        RationalDeviation::new(numerator, denominator).unwrap()
    }

    fn sample(count: usize, deviation: RationalDeviation, seed: u64) -> Vec<i128> {
        let mut generator = rng(seed);
        let mut bits = RandomBits::new(&mut generator);
        let gaussian = DiscreteGaussian::new(deviation);
        (0..count).map(|_| gaussian.sample(&mut bits).unwrap()).collect()
    }

    /// Returns P(Z = z) ∝ exp(−z²/(2σ²)), summed directly.
    fn probability(z: i128, sigma: f64) -> f64 {
        let weight = |z: i128| (-(z as f64).powi(2) / (2.0 * sigma * sigma)).exp();
        let reach = (40.0 * sigma).ceil() as i128 + 1;
        weight(z) / (-reach..=reach).map(weight).sum::<f64>()
    }

    /// Returns the chi-square statistic of a sample against the exact probabilities of its values, and
    /// its degrees of freedom. Neighbouring values are merged until each class expects at least 25.
    fn chi_square(sample: &[i128], sigma: f64) -> (f64, usize) {
        let reach = (8.0 * sigma).ceil() as i128;
        let (mut statistic, mut classes) = (0.0, 0usize);
        let (mut expected, mut observed, mut rest) =
            (0.0, 0.0, (sample.len() as f64, sample.len() as f64));
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

    /// Returns the value that a chi-square variable exceeds with probability 1e-6, by the
    /// Wilson–Hilferty approximation (within 1 % from 3 degrees of freedom on).
    fn critical(degrees: usize) -> f64 {
        let share = 2.0 / (9.0 * degrees as f64);
        degrees as f64 * (1.0 - share + 4.753_424 * share.sqrt()).powi(3)
    }

    /// Chi-square test against exact probabilities at level 1e-6. Negative controls must fail at the
    /// same level: σ wrong by 5 %, and a continuous Gaussian rounded to integers.
    #[test]
    fn the_noise_has_exact_probabilities() {
        for (numerator, denominator) in
            [(1, 2), (3, 2), (12, 1), (37, 5), (1, 1), (1 << 30, 3 << 27)]
        {
            let sigma = deviation(numerator, denominator);
            let drawn = sample(200_000, sigma, 5);
            let (found, degrees) = chi_square(&drawn, sigma.to_f64());
            assert!(found < critical(degrees), "{sigma}: {found} on {degrees}");
            for wrong in [0.95, 1.05] {
                let (found, degrees) = chi_square(&drawn, wrong * sigma.to_f64());
                assert!(found > critical(degrees), "{sigma}, {wrong}: {found} on {degrees}");
            }
        }
        let mut generator = rng(1);
        let rounded: Vec<i128> = (0..60_000)
            .map(|_| {
                let z: f64 = StandardNormal.sample(&mut generator);
                (z / 2.0).round() as i128
            })
            .collect();
        let (found, degrees) = chi_square(&rounded, 0.5);
        assert!(found > critical(degrees), "{found} on {degrees}");
    }

    /// Two samples of 30,000 values of the same σ, ours and one of the library `prio`: chi-square test
    /// over 40 classes of about equal frequency, at level 1e-6. It must fail for σ wrong by 10 %.
    #[test]
    fn the_distribution_matches_prio() {
        const CLASSES: usize = 40;
        let statistic = |a: &[i128], b: &[i128]| -> f64 {
            let mut all: Vec<i128> = a.iter().chain(b).copied().collect();
            all.sort_unstable();
            let edges: Vec<i128> = (1..CLASSES).map(|k| all[k * all.len() / CLASSES]).collect();
            let count = |sample: &[i128]| -> [f64; CLASSES] {
                let mut counts = [0.0; CLASSES];
                sample.iter().for_each(|x| counts[edges.partition_point(|edge| edge <= x)] += 1.0);
                counts
            };
            let pairs = count(a).into_iter().zip(count(b)).filter(|(x, y)| x + y > 0.0);
            pairs.map(|(x, y)| (x - y).powi(2) / (x + y)).sum()
        };
        for sigma in [77.7, 9.9e5, 2e9, 7e18] {
            let rational_of = |sigma: f64| RationalDeviation::rounded_up(sigma).unwrap();
            let deviation = rational_of(sigma);
            let rational =
                Rational::from_unsigned(deviation.numerator(), deviation.denominator()).unwrap();
            let reference = Reference::new(rational).unwrap();
            let mut generator = rng(7);
            let expected: Vec<i128> = (0..30_000)
                .map(|_| i128::try_from(reference.sample(&mut generator)).unwrap())
                .collect();
            let found = statistic(&sample(30_000, deviation, 3), &expected);
            assert!(found < critical(CLASSES - 1), "{sigma}: {found}");
            let wrong = statistic(&sample(30_000, rational_of(1.1 * sigma), 3), &expected);
            assert!(wrong > critical(CLASSES - 1), "{sigma}: {wrong}");
        }
    }

    /// Without the 128-bit parts the same random bits give the same values, so both paths have the same
    /// distribution. Beyond σ = 2²⁴ only the second exists.
    #[test]
    fn both_paths_make_the_same_decisions() {
        let mut random = rng(2);
        for k in 0..200 {
            let sigma =
                RationalDeviation::rounded_up(2f64.powf(random.random_range(-4.0..24.0))).unwrap();
            let small = DiscreteGaussian::new(sigma);
            assert!(small.small.is_some(), "{sigma}");
            let big = DiscreteGaussian { small: None, ..small.clone() };
            let [mut a, mut b] = [rng(k), rng(k)];
            let [mut a, mut b] = [RandomBits::new(&mut a), RandomBits::new(&mut b)];
            for _ in 0..50 {
                assert_eq!(small.sample(&mut a), big.sample(&mut b), "{sigma}");
            }
        }
        assert!(
            DiscreteGaussian::new(RationalDeviation::rounded_up(1e12).unwrap()).small.is_none()
        );
    }

    /// A generator without bits.
    struct Exhausted;

    impl TryRng for Exhausted {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            std::panic::resume_unwind(Box::new(()))
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            std::panic::resume_unwind(Box::new(()))
        }

        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            std::panic::resume_unwind(Box::new(()))
        }
    }

    /// Returns the shares of all strings of 16 bits for which `event` holds, and for which it needs
    /// more bits.
    fn enumerated(event: impl Fn(&mut RandomBits<'_, Exhausted>) -> bool) -> (f64, f64) {
        const BITS: u32 = 16;
        let (mut holds, mut open) = (0u32, 0u32);
        for string in 0..1u64 << BITS {
            let run = || event(&mut RandomBits::of_string(string, BITS, &mut Exhausted));
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                Ok(held) => holds += u32::from(held),
                Err(_) => open += 1,
            }
        }
        let all = f64::from(1u32 << BITS);
        (f64::from(holds) / all, f64::from(open) / all)
    }

    /// Over every string of 16 random bits, the exact probability lies between the share of strings for
    /// which the event holds and that share plus the undecided ones.
    #[test]
    fn probabilities_are_exact_over_all_bit_strings() {
        for (numerator, denominator) in [(0, 1), (1, 4), (3, 8), (1, 1), (5, 4), (2, 1), (9, 16)] {
            let exact = (-(numerator as f64) / denominator as f64).exp();
            let (low, open) = enumerated(|bits| exponential(numerator, denominator, bits));
            assert!(
                low <= exact && exact <= low + open && open < 0.05,
                "{numerator}/{denominator}: {low} {open}"
            );
            let (n, d) = (BigUint::from(numerator), BigUint::from(denominator));
            assert_eq!(enumerated(|bits| exponential_of_big(n.clone(), &d, bits)), (low, open));
        }
        for end in [1u128, 2, 3, 5, 8, 13] {
            for value in 0..end {
                let (low, open) = enumerated(|bits| bits.below(end) == value);
                let exact = 1.0 / end as f64;
                assert!(
                    low <= exact && exact <= low + open && open < 0.02,
                    "{value} below {end}: {low} {open}"
                );
            }
        }
        // A small discrete Gaussian. Most values are decided within 16 bits.
        let sigma = deviation(1, 2);
        let gaussian = DiscreteGaussian::new(sigma);
        for z in -1i128..=1 {
            let (low, open) = enumerated(|bits| gaussian.sample(bits) == Some(z));
            let exact = probability(z, sigma.to_f64());
            assert!(low <= exact && exact <= low + open && open < 0.5, "{z}: {low} {exact} {open}");
        }
    }

    /// Bits are taken across word boundaries without loss or repetition.
    #[test]
    fn bits_are_taken_in_order() {
        let mut words = rng(4);
        let mut expected = Vec::new();
        for _ in 0..200 {
            let word = words.next_u64();
            expected.extend((0..64).map(|k| word >> k & 1));
        }
        let mut generator = rng(4);
        let mut bits = RandomBits::new(&mut generator);
        let mut random = rng(5);
        let mut found = Vec::new();
        while found.len() < 12_000 {
            let count = random.random_range(0..=64);
            let number = bits.take(count);
            found.extend((0..count).map(|k| number >> k & 1));
        }
        assert_eq!(found[..12_000], expected[..12_000]);
    }
}
