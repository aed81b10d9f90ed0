//! The upper tail of the standard normal distribution by its Mills ratio, without underflow or
//! cancellation.
//!
//! With φ the density and Q(x) = 1 − Φ(x) the upper tail, the Mills ratio is m(x) = Q(x)/φ(x). It
//! is decreasing, satisfies m′(x) = x·m(x) − 1, and has Laplace's continued fraction m(x) = 1/(x +
//! K(x)), K(x) = 1/(x + 2/(x + 3/(x + …))).

use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

/// The continued fraction is used from here on; the complementary error function below.
const CONTINUED_FRACTION_FROM: f64 = 3.0;
/// Terms for machine precision at [`CONTINUED_FRACTION_FROM`] (relative error 2e-17; smaller
/// above).
const CONTINUED_FRACTION_TERMS: u32 = 60;
/// Largest interval over which differences of the Mills ratio are integrated, not subtracted.
const MAX_INTEGRATED_WIDTH: f64 = 0.5;
/// Nodes (symmetric) and weights of the 8-point Gauss–Legendre rule on [−1, 1].
const GAUSS_LEGENDRE: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// Returns ln φ(x) = −x²/2 − ln √(2π).
pub(super) fn ln_density(x: f64) -> f64 {
    -0.5 * x * x - 0.5 * (2.0 * PI).ln()
}

/// Returns K(x) = 1/(x + 2/(x + 3/(x + …))) for x >= [`CONTINUED_FRACTION_FROM`], evaluated
/// backwards.
fn continued_fraction_tail(x: f64) -> f64 {
    (1..=CONTINUED_FRACTION_TERMS).rev().fold(0.0, |tail, term| f64::from(term) / (x + tail))
}

/// Returns the Mills ratio m(x) = Q(x)/φ(x) for x >= −30 or so (it overflows below −37).
pub(super) fn mills_ratio(x: f64) -> f64 {
    if x >= CONTINUED_FRACTION_FROM {
        1.0 / (x + continued_fraction_tail(x))
    } else {
        FRAC_PI_2.sqrt() * (0.5 * x * x).exp() * libm::erfc(x / SQRT_2)
    }
}

/// Returns −m′(x) = 1 − x·m(x) > 0, without cancellation for large x, where it is `K/(x + K)`.
fn mills_ratio_descent(x: f64) -> f64 {
    if x >= CONTINUED_FRACTION_FROM {
        let tail = continued_fraction_tail(x);
        tail / (x + tail)
    } else {
        1.0 - x * mills_ratio(x)
    }
}

/// Returns m(a) − m(a + width) for a > −2 and width > 0, to nearly full relative precision even if
/// the two values are close.
pub(super) fn mills_ratio_drop(a: f64, width: f64) -> f64 {
    if width <= MAX_INTEGRATED_WIDTH {
        let half = 0.5 * width;
        let middle = a + half;
        let integral: f64 = GAUSS_LEGENDRE
            .iter()
            .map(|&(node, weight)| {
                weight
                    * (mills_ratio_descent(middle - half * node)
                        + mills_ratio_descent(middle + half * node))
            })
            .sum();
        half * integral
    } else if a >= CONTINUED_FRACTION_FROM {
        let b = a + width;
        let (tail_a, tail_b) = (continued_fraction_tail(a), continued_fraction_tail(b));
        (width - (tail_a - tail_b)) / ((a + tail_a) * (b + tail_b))
    } else {
        mills_ratio(a) - mills_ratio(a + width)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::{ln_density, mills_ratio, mills_ratio_drop};

    #[test]
    fn log_tail_matches_multiprecision_values() {
        // ln Q(x), computed with 60-digit arithmetic.
        let expected = [
            (0.0, -std::f64::consts::LN_2),
            (1.0, -1.841_021_645_009_263_5),
            (5.0, -15.064_998_393_988_726),
            (10.0, -53.231_285_150_512_47),
            (30.0, -454.321_243_956_343_2),
            (38.0, -726.557_216_018_820_1),
            (100.0, -5_005.524_208_694_205),
            (1e4, -50_000_010.129_278_91),
            (1e8, -5_000_000_000_000_019.34),
        ];
        for (x, ln_tail) in expected {
            assert_relative_eq!(
                ln_density(x) + mills_ratio(x).ln(),
                ln_tail,
                max_relative = 4e-16,
                epsilon = 1e-15
            );
        }
    }

    #[test]
    fn the_two_formulas_agree_at_the_switch() {
        let switch = super::CONTINUED_FRACTION_FROM;
        assert_relative_eq!(
            mills_ratio(switch),
            mills_ratio(switch.next_down()),
            max_relative = 4e-15
        );
    }

    #[test]
    fn integrated_drop_agrees_with_subtraction_where_both_are_accurate() {
        for a in [-1.0, 0.0, 0.7, 2.4, 2.9, 3.0, 4.5] {
            for width in [0.3, 0.5, 0.500_001, 0.9, 2.0, 7.0] {
                let subtracted = mills_ratio(a) - mills_ratio(a + width);
                assert_relative_eq!(mills_ratio_drop(a, width), subtracted, max_relative = 2e-14);
            }
        }
    }
}
