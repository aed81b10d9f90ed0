//! Bernoulli variables of probability exp(−γ) for a rational γ.
//!
//! Canonne, Kamath & Steinke 2020, Alg. 1. For γ ≤ 1 let A_k be independent events with P(A_k) =
//! γ/k, and K the first k for which A_k does not occur. P(K > k) = γ^k/k!, so K is odd with
//! probability Σ (−γ)^k/k! = exp(−γ). The event of probability γ/k is drawn as two independent
//! events of probabilities 1/k and γ. For γ > 1, exp(−γ) = exp(−1) · exp(−(γ − 1)).

use num_bigint::BigUint;
use rand::Rng;

use super::random_bits::RandomBits;

/// Returns true with probability exp(−numerator/denominator).
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
