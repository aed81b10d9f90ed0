//! Rational standard deviations of discrete Gaussian noise.

use std::fmt;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::error::PrivacyError;

/// A standard deviation σ as a quotient of integers.
///
/// The σ of the drawn noise and the σ of the accounting are the same number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RationalDeviation {
    numerator: u128,
    denominator: u128,
}

impl fmt::Display for RationalDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl fmt::Debug for RationalDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl RationalDeviation {
    /// The largest numerator: sums of counts and noise stay far below 128 bits.
    const MAX_NUMERATOR: u128 = 1 << 112;

    /// No noise: for answers on which neighbours agree, such as a public number of records.
    pub const ZERO: Self = RationalDeviation { numerator: 0, denominator: 1 };

    /// Returns σ = numerator/denominator.
    ///
    /// # Errors
    /// A part is 0, the numerator exceeds 2¹¹², or the denominator exceeds 2⁶⁴.
    pub fn new(numerator: u128, denominator: u128) -> Result<Self, PrivacyError> {
        if numerator == 0
            || denominator == 0
            || numerator > Self::MAX_NUMERATOR
            || denominator > 1 << 64
        {
            return Err(PrivacyError::InvalidDeviation {
                found: format!("{numerator}/{denominator}"),
            });
        }
        Ok(RationalDeviation { numerator, denominator })
    }

    /// Returns the smallest σ ≥ `deviation` with 25 significant bits.
    ///
    /// It is an integer from 2²⁴ on; long fractions make sampling slow. The variance grows by a
    /// factor of at most 1 + 1.2·10⁻⁷.
    ///
    /// # Errors
    /// `deviation` is not finite and positive, or too large or too small.
    pub fn rounded_up(deviation: f64) -> Result<Self, PrivacyError> {
        const BITS: i32 = 24;
        let found = || PrivacyError::InvalidDeviation { found: deviation.to_string() };
        if !(deviation.is_finite() && deviation > 0.0) {
            return Err(found());
        }
        let exponent = deviation.log2().floor() as i32 - BITS;
        // A power of two times a double is exact.
        let whole = (deviation * f64::from(-exponent).exp2()).ceil();
        let whole = whole.to_u128().ok_or_else(found)?;
        let shift = exponent.unsigned_abs();
        match exponent {
            0.. if shift <= 87 => Self::new(whole << shift, 1),
            ..0 if shift <= 64 => Self::new(whole, 1 << shift),
            _ => Err(found()),
        }
    }

    /// Returns whether the noise is fine: σ ≥ 2¹⁶.
    ///
    /// Fine noise is almost as private as Gaussian noise ([`fine_noise`](super::fine_noise)), and
    /// its variance is σ² to all digits of a double.
    pub fn is_fine(self) -> bool {
        self.numerator >> 16 >= self.denominator
    }

    /// Returns σ · 2^power, exactly.
    ///
    /// # Errors
    /// The result is too large.
    pub fn times_power_of_two(self, power: u32) -> Result<Self, PrivacyError> {
        let cancelled = self.denominator.trailing_zeros().min(power);
        let found = || PrivacyError::InvalidDeviation { found: format!("{self} times 2^{power}") };
        let left = power - cancelled;
        if self.numerator.leading_zeros() <= left {
            return Err(found());
        }
        Self::new(self.numerator << left, self.denominator >> cancelled)
    }

    /// Returns the numerator.
    pub fn numerator(self) -> u128 {
        self.numerator
    }

    /// Returns the denominator.
    pub fn denominator(self) -> u128 {
        self.denominator
    }

    /// Returns the double nearest to σ.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Returns the variance of the discrete Gaussian with this σ.
    ///
    /// It is σ² up to a relative difference of about e^(−2π²σ²), which is negligible from σ = 2 on;
    /// below that the variance is summed.
    pub fn variance(self) -> f64 {
        let square = self.to_f64().powi(2);
        if square >= 4.0 || square == 0.0 {
            return square;
        }
        // Terms beyond 80 = 40σ are below the precision of a double.
        let (mut weights, mut squares) = (1.0, 0.0);
        for z in (1..=80).map(f64::from) {
            let weight = 2.0 * (-z * z / (2.0 * square)).exp();
            weights += weight;
            squares += z * z * weight;
        }
        squares / weights
    }

    /// Returns σ² as numerator and denominator.
    pub fn squared(self) -> (BigUint, BigUint) {
        (BigUint::from(self.numerator).pow(2), BigUint::from(self.denominator).pow(2))
    }
}

impl std::str::FromStr for RationalDeviation {
    type Err = PrivacyError;

    /// Parses `numerator/denominator`; `0/1` is no noise.
    fn from_str(text: &str) -> Result<Self, PrivacyError> {
        let parts = text.split_once('/').and_then(|(a, b)| a.parse().ok().zip(b.parse().ok()));
        match parts {
            Some((0, 1)) => Ok(Self::ZERO),
            Some((numerator, denominator)) => Self::new(numerator, denominator),
            None => Err(PrivacyError::InvalidDeviation { found: format!("`{text}`") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_rounded_up_and_round_trip() {
        for x in [1e-6, 0.3, 1.0, 12.5, 1e9 + 0.5, 3.7e15, 1e30] {
            let found = RationalDeviation::rounded_up(x).unwrap();
            assert!(found.to_f64() >= x && found.to_f64() <= x * (1.0 + 6e-8), "{x}: {found}");
            assert_eq!(found.to_string().parse::<RationalDeviation>().unwrap(), found);
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e40, 1e-30] {
            assert!(RationalDeviation::rounded_up(bad).is_err());
        }
        let sigma = RationalDeviation::new(3, 8).unwrap();
        assert_eq!(sigma.times_power_of_two(2).unwrap(), RationalDeviation::new(3, 2).unwrap());
        assert_eq!(sigma.times_power_of_two(5).unwrap(), RationalDeviation::new(12, 1).unwrap());
        assert!(sigma.times_power_of_two(120).is_err());
        assert!(
            !sigma.times_power_of_two(17).unwrap().is_fine()
                && sigma.times_power_of_two(18).unwrap().is_fine()
        );
        for bad in ["", "1", "0/2", "1/0", "a/b", "-1/2", "1/99999999999999999999999"] {
            assert!(bad.parse::<RationalDeviation>().is_err(), "{bad}");
        }
    }
}
