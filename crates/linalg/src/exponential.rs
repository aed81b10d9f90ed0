//! The exponential of many numbers.

use crate::simd::{Loops, Wide};

/// Smaller arguments count as this: `e^−708` is the smallest normal number, nearly.
const LOWEST: f64 = -708.0;

/// 1.5 · 2⁵²: a sum with it has the nearest integer in its lowest bits.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts, the first with zeros at the end.
const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

/// 1/j! for j = 12 … 0.
const TAYLOR: [f64; 13] = [
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Replaces every number x up to 700 by `e^x`, to a relative error of 1e-15. Numbers below −708
/// count as −708.
///
/// x = k ln 2 + r with an integer k and |r| ≤ ½ ln 2; `e^r` is a Taylor sum. It takes a fraction of the
/// time of calls of [`f64::exp`].
pub fn exp_in_place(values: &mut [f64]) {
    struct Exp<'a>(&'a mut [f64]);
    impl Loops for Exp<'_> {
        #[inline(always)]
        fn run(self) {
            for value in self.0 {
                let x = if *value < LOWEST { LOWEST } else { *value };
                let shifted = x * std::f64::consts::LOG2_E + ROUNDING;
                let k = shifted - ROUNDING;
                let r = (x - k * LN_2.0) - k * LN_2.1;
                let mut sum = TAYLOR[0];
                for coefficient in &TAYLOR[1..] {
                    sum = sum * r + coefficient;
                }
                // The lowest bits of `shifted` are k, in two's complement.
                *value = sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
            }
        }
    }
    Wide::detect().run(Exp(values));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_match_those_of_the_standard_library() {
        let arguments: Vec<f64> = (-70_000..=70_000).map(|i| f64::from(i) * 0.009_999).collect();
        let mut found = arguments.clone();
        exp_in_place(&mut found);
        for (x, y) in arguments.iter().zip(&found) {
            assert!((y / x.exp() - 1.0).abs() < 1e-15, "{x}: {y} {}", x.exp());
        }
        let mut ends = [0.0, f64::NEG_INFINITY, -709.0];
        exp_in_place(&mut ends);
        assert_eq!(ends[0], 1.0);
        assert!(ends[1] == ends[2] && ends[1] < 1e-307);
    }
}
