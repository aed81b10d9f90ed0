//! Uniform integers, and Bernoulli variables of probability exp(−γ), from random bits.

use num_bigint::BigUint;
use rand::Rng;

/// The random bits of a generator, taken from a buffer of one word.
#[derive(Debug)]
pub(crate) struct RandomBits<'a, R> {
    generator: &'a mut R,
    word: u64,
    left: u32,
}

impl<'a, R: Rng> RandomBits<'a, R> {
    pub(crate) fn new(generator: &'a mut R) -> Self {
        RandomBits { generator, word: 0, left: 0 }
    }

    /// Returns the bits of a string, lowest first, followed by those of a generator.
    #[cfg(test)]
    pub(super) fn of_string(word: u64, left: u32, generator: &'a mut R) -> Self {
        RandomBits { generator, word, left }
    }

    /// Returns the next bits as a number below 2^count, for a count of at most 64.
    pub(super) fn take(&mut self, count: u32) -> u64 {
        if count == 0 {
            return 0;
        }
        let mask = u64::MAX >> (64 - count);
        if count <= self.left {
            let taken = self.word & mask;
            self.word >>= count;
            self.left -= count;
            return taken;
        }
        let missing = count - self.left;
        let next = self.generator.next_u64();
        // At most 63 bits are left between calls.
        let taken = (self.word | next << self.left) & mask;
        self.word = if missing == 64 { 0 } else { next >> missing };
        self.left = 64 - missing;
        taken
    }

    /// Returns a uniform number below `end` by rejection; `end` is at least 1.
    pub(super) fn below(&mut self, end: u128) -> u128 {
        let count = 128 - (end - 1).leading_zeros();
        loop {
            let low = u128::from(self.take(count.min(64)));
            let high = if count > 64 { u128::from(self.take(count - 64)) } else { 0 };
            let number = low | high << 64;
            if number < end {
                return number;
            }
        }
    }

    /// Computes the same as [`RandomBits::below`] for big integers, from the same bits.
    pub(super) fn below_big(&mut self, end: &BigUint) -> BigUint {
        let count = (end - 1u32).bits();
        let words = count.div_ceil(64);
        loop {
            let digit = |k: u64| (count - 64 * k).min(64) as u32;
            let digits: Vec<u64> = (0..words).map(|k| self.take(digit(k))).collect();
            let halves = digits.iter().flat_map(|x| [*x as u32, (*x >> 32) as u32]);
            let number = BigUint::new(halves.collect());
            if number < *end {
                return number;
            }
        }
    }
}

/// Returns true with probability exp(−γ) for γ = numerator/denominator.
///
/// Canonne, Kamath & Steinke 2020, Alg. 1. For γ ≤ 1 let A_k be independent events with P(A_k) =
/// γ/k, and K the first k for which A_k does not occur. P(K > k) = γ^k/k!, so K is odd with
/// probability Σ (−γ)^k/k! = exp(−γ). The event of probability γ/k is drawn as two independent
/// events of probabilities 1/k and γ. For γ > 1, exp(−γ) = exp(−1) · exp(−(γ − 1)).
pub(super) fn exponential(
    mut numerator: u128,
    denominator: u128,
    bits: &mut RandomBits<'_, impl Rng>,
) -> bool {
    while numerator > denominator {
        if !exponential_of_one(bits) {
            return false;
        }
        numerator -= denominator;
    }
    is_odd(bits, |bits| bits.below(denominator) < numerator)
}

/// Computes the same as [`exponential`] for big integers, from the same bits.
pub(super) fn exponential_of_big(
    mut numerator: BigUint,
    denominator: &BigUint,
    bits: &mut RandomBits<'_, impl Rng>,
) -> bool {
    while numerator > *denominator {
        if !exponential_of_one(bits) {
            return false;
        }
        numerator -= denominator;
    }
    is_odd(bits, |bits| bits.below_big(denominator) < numerator)
}

/// Returns true with probability exp(−1).
pub(super) fn exponential_of_one(bits: &mut RandomBits<'_, impl Rng>) -> bool {
    is_odd(bits, |_| true)
}

/// Returns whether K is odd, where `event` has probability γ.
fn is_odd<'a, R: Rng>(
    bits: &mut RandomBits<'a, R>,
    event: impl Fn(&mut RandomBits<'a, R>) -> bool,
) -> bool {
    let mut k = 1u128;
    while bits.below(k) == 0 && event(bits) {
        k += 1;
    }
    k % 2 == 1
}
