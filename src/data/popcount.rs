//! The number of records that two sets of records share, the sets being bits.

use pulp::{Arch, Simd, WithSimd};

/// Words of a bit set that are looked at together: 4 KiB, so that a few of them fit the first-level
/// cache.
pub(super) const WORDS: usize = 512;

/// |a ∩ b|, in the widest vector registers that the processor has: the binary is built for any processor of its kind.
pub(super) fn shared(arch: Arch, a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    arch.dispatch(Intersection(a, b))
}

struct Intersection<'a>(&'a [u64; WORDS], &'a [u64; WORDS]);

impl WithSimd for Intersection<'_> {
    type Output = u32;

    /// Inlined into one function per kind of processor, so that the compiler uses its instructions
    /// for this loop.
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
        fn counts_are_those_of_single_words(
            a in prop::collection::vec(any::<u64>(), WORDS),
            b in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], WORDS),
        ) {
            let bits = |word: u64| (0..64).filter(|i| word >> i & 1 == 1).count();
            let expected: usize = a.iter().zip(&b).map(|(a, b)| bits(a & b)).sum();
            let (a, b): ([u64; WORDS], [u64; WORDS]) = (a.try_into().unwrap(), b.try_into().unwrap());
            prop_assert_eq!(shared(Arch::new(), &a, &b) as usize, expected);
        }
    }

    #[test]
    fn full_sets_share_every_record() {
        assert_eq!(shared(Arch::new(), &[u64::MAX; WORDS], &[u64::MAX; WORDS]), 64 * WORDS as u32);
    }
}
