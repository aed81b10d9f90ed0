//! The number of records that two sets of records share, the sets being bits.

/// Words of a bit set that are looked at together: 4 KiB, so that a few of them fit the first-level cache.
pub(super) const WORDS: usize = 512;

/// Words that go through the adders side by side: whole vector registers.
const LANES: usize = 4;

type Lanes = [u64; LANES];

/// |a ∩ b|.
///
/// A tree of carry-save adders (Harley and Seal) sums sixteen words bitwise into one word of sixteens before any bit is
/// counted. It needs bitwise operations only, which every processor has in vector form; counting instructions it may lack.
pub(super) fn shared(a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    let (mut ones, mut twos, mut fours, mut eights) = ([0; LANES], [0; LANES], [0; LANES], [0; LANES]);
    let mut sixteens = 0;
    for (a, b) in a.as_chunks::<{ 16 * LANES }>().0.iter().zip(b.as_chunks::<{ 16 * LANES }>().0) {
        let at = |k: usize| -> Lanes { std::array::from_fn(|i| a[k * LANES + i] & b[k * LANES + i]) };
        let mut eight = |k: usize, fours: Lanes| -> (Lanes, Lanes) {
            let t0 = add(&mut ones, at(k), at(k + 1));
            let t1 = add(&mut ones, at(k + 2), at(k + 3));
            let f0 = add(&mut twos, t0, t1);
            let t0 = add(&mut ones, at(k + 4), at(k + 5));
            let t1 = add(&mut ones, at(k + 6), at(k + 7));
            let f1 = add(&mut twos, t0, t1);
            let mut sum = fours;
            let carry = add(&mut sum, f0, f1);
            (sum, carry)
        };
        let (sum, e0) = eight(0, fours);
        let (sum, e1) = eight(8, sum);
        fours = sum;
        sixteens += count(add(&mut eights, e0, e1));
    }
    16 * sixteens + 8 * count(eights) + 4 * count(fours) + 2 * count(twos) + count(ones)
}

/// `sum + a + b` per bit: the new sum stays, the carry is returned.
#[inline(always)]
fn add(sum: &mut Lanes, a: Lanes, b: Lanes) -> Lanes {
    let mut carry = [0; LANES];
    for i in 0..LANES {
        let half = a[i] ^ b[i];
        carry[i] = (a[i] & b[i]) | (half & sum[i]);
        sum[i] ^= half;
    }
    carry
}

fn count(lanes: Lanes) -> u32 {
    lanes.iter().map(|word| word.count_ones()).sum()
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
            let expected: u32 = a.iter().zip(&b).map(|(a, b)| (a & b).count_ones()).sum();
            let (a, b): ([u64; WORDS], [u64; WORDS]) = (a.try_into().unwrap(), b.try_into().unwrap());
            prop_assert_eq!(shared(&a, &b), expected);
        }
    }

    #[test]
    fn full_sets_share_every_record() {
        assert_eq!(shared(&[u64::MAX; WORDS], &[u64::MAX; WORDS]), 64 * WORDS as u32);
    }
}
