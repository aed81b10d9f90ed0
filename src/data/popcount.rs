//! Sizes of intersections of bit sets.

use matmech_linalg::{Loops, Wide};

/// Words of a block: 4 KiB, so that a few blocks fit the first-level cache.
pub(super) const WORDS: usize = 512;

/// Returns |a ∩ b|, by the widest vector instructions of the processor at run time.
pub(super) fn intersection_size(wide: Wide, a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    let mut size = 0;
    wide.run(Intersection { a, b, size: &mut size });
    size
}

struct Intersection<'a> {
    a: &'a [u64; WORDS],
    b: &'a [u64; WORDS],
    size: &'a mut u32,
}

impl Loops for Intersection<'_> {
    #[inline(always)]
    fn run(self) {
        *self.size = self.a.iter().zip(self.b).map(|(a, b)| (a & b).count_ones()).sum();
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
            prop_assert_eq!(intersection_size(Wide::detect(), &a, &b) as usize, expected);
        }
    }

    #[test]
    fn full_sets_intersect_in_every_record() {
        assert_eq!(
            intersection_size(Wide::detect(), &[u64::MAX; WORDS], &[u64::MAX; WORDS]),
            64 * WORDS as u32
        );
    }
}
