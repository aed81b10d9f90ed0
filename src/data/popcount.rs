//! Sizes of intersections of bit sets.

use pulp::{Arch, Simd, WithSimd};

/// Words of a block: 4 KiB, so that a few blocks fit the first-level cache.
pub(super) const WORDS: usize = 512;

/// Returns |a ∩ b|, by the widest vector instructions of the processor at run time.
pub(super) fn intersection_size(arch: Arch, a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    arch.dispatch(Intersection(a, b))
}

struct Intersection<'a>(&'a [u64; WORDS], &'a [u64; WORDS]);

impl WithSimd for Intersection<'_> {
    type Output = u32;

    /// Inlined into one function per instruction set, so that the compiler vectorises this loop for
    /// it.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> u32 {
        self.0.iter().zip(self.1).map(|(a, b)| (a & b).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sizes_match_bit_by_bit_counts(
            a in prop::collection::vec(any::<u64>(), WORDS),
            b in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], WORDS),
        ) {
            let bits = |word: u64| (0..64).filter(|i| word >> i & 1 == 1).count();
            let expected: usize = a.iter().zip(&b).map(|(a, b)| bits(a & b)).sum();
            let a: [u64; WORDS] = a.try_into().unwrap();
            let b: [u64; WORDS] = b.try_into().unwrap();
            prop_assert_eq!(intersection_size(Arch::new(), &a, &b) as usize, expected);
        }
    }

    #[test]
    fn full_sets_intersect_in_every_record() {
        assert_eq!(
            intersection_size(Arch::new(), &[u64::MAX; WORDS], &[u64::MAX; WORDS]),
            64 * WORDS as u32
        );
    }
}
