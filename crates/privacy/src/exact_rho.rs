//! Exact ρ, for costs recomputed from integers.

use num_bigint::{BigInt, BigUint};
use num_traits::{ToPrimitive, Zero};

use super::error::PrivacyError;
use super::rational_deviation::RationalDeviation;
use super::zcdp::Rho;
use crate::decimal::Decimal;

/// Bits after the binary point: a cost is rounded up to a multiple of 2⁻²⁵⁶.
const FRACTION_BITS: u32 = 256;

/// A sum of costs Δ²/(2σ²).
///
/// Every cost is rounded up to a multiple of 2⁻²⁵⁶; the sum is exact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ExactRho(BigUint);

impl ExactRho {
    /// Returns ρ = 0.
    pub fn zero() -> Self {
        Self::default()
    }

    /// Returns k²Δ²/(2σ²): the cost of discrete Gaussian noise on integer answers.
    ///
    /// Δ² bounds the squared L2 distance of the answers between neighbouring tables; `unit_rows` =
    /// k is the number of records of a privacy unit (Canonne, Kamath & Steinke 2020, Thm 14; group
    /// privacy of zCDP, Bun & Steinke 2016, Prop. 27).
    ///
    /// # Errors
    /// σ = 0 with Δ > 0: no ρ is large enough.
    pub fn of_discrete_gaussian(
        squared_sensitivity: &BigUint,
        deviation: RationalDeviation,
        unit_rows: u32,
    ) -> Result<Self, PrivacyError> {
        if squared_sensitivity.is_zero() {
            return Ok(Self::zero());
        }
        if deviation == RationalDeviation::ZERO {
            let found = "0 for answers that depend on a record".into();
            return Err(PrivacyError::InvalidDeviation { found });
        }
        let (square, divisor) = deviation.squared();
        let squared_rows = BigUint::from(unit_rows).pow(2);
        let numerator = (squared_sensitivity * divisor * squared_rows) << FRACTION_BITS;
        let denominator = square << 1u32;
        Ok(ExactRho((numerator + &denominator - 1u32) / denominator))
    }

    /// Returns the number of bits of ρ/2⁻²⁵⁶.
    pub fn bits(&self) -> u64 {
        self.0.bits()
    }

    /// Returns ρ/2^(shift − 256), rounded up; ρ must have at most 127 bits above the shift.
    pub fn shifted_up(&self, shift: u64) -> u128 {
        let down = &self.0 >> shift;
        let is_exact = (&down << shift) == self.0;
        down.to_u128().unwrap_or(u128::MAX).saturating_add(u128::from(!is_exact))
    }

    /// Returns the ρ that [`ExactRho::shifted_up`] maps to `number`.
    pub fn of_shifted(number: u128, shift: u64) -> Self {
        ExactRho(BigUint::from(number) << shift)
    }

    /// Rounds the decimal number ρ down to a multiple of 2⁻²⁵⁶.
    pub fn of_rounded_down(rho: Rho) -> Self {
        let (digits, scale) = rho.decimal().scaled();
        ExactRho((digits.magnitude() << FRACTION_BITS) / BigUint::from(10u32).pow(scale))
    }

    /// Returns whether ρ is at most a decimal number.
    pub fn is_at_most(&self, limit: &Decimal) -> bool {
        let (digits, scale) = limit.scaled();
        BigInt::from(&self.0 * BigUint::from(10u32).pow(scale)) <= digits << FRACTION_BITS
    }

    /// Returns whether ρ = 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Self) -> Self {
        ExactRho(&self.0 + &other.0)
    }

    /// Returns the product with a number.
    pub fn times(&self, factor: u64) -> Self {
        ExactRho(&self.0 * factor)
    }

    /// Returns a lower bound on the sum of `terms` costs before they were rounded up.
    pub fn before_rounding(&self, terms: usize) -> Self {
        let terms = BigUint::from(terms);
        ExactRho(if terms < self.0 { &self.0 - terms } else { BigUint::ZERO })
    }

    /// Returns `self` − `spent`; `None` if it is negative.
    pub fn minus(&self, spent: &Self) -> Option<Self> {
        (spent.0 <= self.0).then(|| ExactRho(&self.0 - &spent.0))
    }

    /// Returns the smallest double whose shortest decimal is at least ρ.
    ///
    /// # Errors
    /// ρ is outside the range of [`Rho`], such as 0.
    pub fn rounded_up(&self) -> Result<Rho, PrivacyError> {
        Rho::new(self.to_f64_rounded_up())
    }

    /// Returns the smallest double whose shortest decimal is at least ρ; 0 for ρ = 0.
    pub fn to_f64_rounded_up(&self) -> f64 {
        let cut = self.0.bits().saturating_sub(53);
        let mut top = &self.0 >> cut;
        if (&top << cut) < self.0 {
            top += 1u32;
        }
        // At most 53 bits (or 2⁵³), so the conversion is exact, as is the shift of the double.
        let scale = (cut as f64 - f64::from(FRACTION_BITS)).exp2();
        let mut double = top.to_f64().unwrap_or(f64::INFINITY) * scale;
        if !self.is_zero() {
            // The shortest decimal of a double can be above it.
            double = double.next_down();
        }
        while Decimal::shortest(double).is_some_and(|decimal| !self.is_at_most(&decimal)) {
            double = double.next_up();
        }
        double
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::rho;

    fn deviation(numerator: u128, denominator: u128) -> RationalDeviation {
        RationalDeviation::new(numerator, denominator).unwrap()
    }

    #[test]
    fn costs_match_the_formula_rounded_up() {
        let half =
            ExactRho::of_discrete_gaussian(&BigUint::from(9u32), deviation(3, 1), 1).unwrap();
        assert_eq!(half.rounded_up().unwrap().get(), 0.5);
        let twice =
            ExactRho::of_discrete_gaussian(&BigUint::from(9u32), deviation(3, 1), 2).unwrap();
        assert_eq!(twice.rounded_up().unwrap().get(), 2.0);
        let third =
            ExactRho::of_discrete_gaussian(&BigUint::from(2u32), deviation(3, 1), 3).unwrap();
        assert_eq!(third.rounded_up().unwrap().get(), 1.0);
        let unreduced =
            ExactRho::of_discrete_gaussian(&BigUint::from(2u32), deviation(9, 3), 3).unwrap();
        assert_eq!(unreduced, third);
        // 1/3 is not a double: it is rounded up to the next one, and three of them exceed 1.
        let third =
            ExactRho::of_discrete_gaussian(&BigUint::from(6u32), deviation(3, 1), 1).unwrap();
        let found = third.rounded_up().unwrap().get();
        assert!(found * 3.0 >= 1.0 && found.next_down() <= 1.0 / 3.0, "{found}");
        assert!(third.plus(&third).plus(&third) > ExactRho::of_rounded_down(rho(1.0)));
    }

    #[test]
    fn printed_numbers_are_bounds() {
        for (square, numerator) in [(2u32, 7u128), (3, 11), (1, 1000), (5, 99_999), (1, 10)] {
            let cost = ExactRho::of_discrete_gaussian(&square.into(), deviation(numerator, 3), 1);
            let cost = cost.unwrap();
            let printed = cost.to_f64_rounded_up().to_string();
            assert!(cost.is_at_most(&Decimal::parse(&printed).unwrap()), "{printed}");
        }
        // One tenth as typed, which is below the double 0.1.
        let tenth = ExactRho::of_rounded_down(rho(0.1));
        let three = tenth.plus(&tenth).plus(&tenth);
        assert!(three <= ExactRho::of_rounded_down(rho(0.3)));
        assert_eq!(tenth.to_f64_rounded_up(), 0.1);
    }

    #[test]
    fn doubles_round_trip() {
        for x in [1.0, 0.1, 1e-60, 3e-77, 12345.678, 1e20] {
            let rho = rho(x);
            let found = ExactRho::of_rounded_down(rho).to_f64_rounded_up();
            assert!(found <= x && found >= x * (1.0 - 1e-12) || x < 1e-76, "{x} {found}");
        }
        assert!(ExactRho::of_rounded_down(rho(1e-200)).is_zero());
        let exact = |x| ExactRho::of_rounded_down(rho(x));
        assert_eq!(exact(2.0).minus(&exact(1.0)), Some(exact(1.0)));
        assert_eq!(exact(1.0).minus(&exact(2.0)), None);
    }
}
