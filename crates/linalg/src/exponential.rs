//! Vectorised exponentials.

use crate::simd::{Loops, Wide};

/// ln 2 in two parts: the product of the first with an integer up to 2¹⁰ is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// 1.5 · 2⁵²: adding it rounds to an integer, which is then in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Minimum exponent: smaller ones are raised to it, so that no result is subnormal.
const MIN_EXPONENT: f64 = -700.0;

/// 1/k! for k = 13, …, 0: the error at |r| ≤ ln 2/2 is below 10⁻¹⁷.
const TAYLOR: [f64; 14] = [
    1.0 / 6_227_020_800.0,
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

/// Replaces every x ≤ 700 by e^max(x, −700), to a relative 2 · 10⁻¹⁶.
///
/// The result has the same bits on every processor. It takes a fraction of the time of calls of
/// [`f64::exp`].
pub fn exponentials(values: &mut [f64]) {
    Wide::detect().run(Exponentials(values));
}

struct Exponentials<'a>(&'a mut [f64]);

impl Loops for Exponentials<'_> {
    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().for_each(|x| *x = exponential(*x));
    }
}

/// Returns 2^k e^r with x = k ln 2 + r.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    let x = if x < MIN_EXPONENT { MIN_EXPONENT } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let series = TAYLOR.iter().fold(0.0, |sum, c| sum * r + c);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_agree_with_the_standard_library() {
        let xs: Vec<f64> = (-700_000..=700_000).step_by(137).map(|k| f64::from(k) * 1e-3).collect();
        let mut found = xs.clone();
        exponentials(&mut found);
        for (x, y) in xs.iter().zip(&found) {
            assert!((y / x.exp() - 1.0).abs() < 5e-16, "{x}: {y} against {}", x.exp());
        }
        let mut ends = [f64::NEG_INFINITY, -1e300, 0.0];
        exponentials(&mut ends);
        assert!(ends[0] > 0.0 && ends[0] < 1e-303 && ends[1] == ends[0] && ends[2] == 1.0);
    }
}
