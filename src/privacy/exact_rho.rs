//! ρ as an exact number, for costs that are recomputed from integers.

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use super::error::PrivacyError;
use super::rational_deviation::RationalDeviation;
use super::zcdp::Rho;

/// Bits behind the binary point: a cost is rounded up to a multiple of 2⁻²⁵⁶.
const PLACES: u32 = 256;

/// A sum of costs Δ²/(2σ²), every one rounded up to a multiple of 2⁻²⁵⁶; the sum itself is exact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ExactRho(BigUint);

impl ExactRho {
    /// Nothing spent.
    pub fn zero() -> Self {
        Self::default()
    }

    /// The smallest cost there is, 2⁻²⁵⁶.
    pub fn smallest() -> Self {
        ExactRho(BigUint::from(1u32))
    }

    /// k²Δ²/(2σ²): discrete Gaussian noise on integer answers whose squared L2 distance between
    /// neighbouring tables is at most Δ², for units of k records (Canonne, Kamath & Steinke 2020,
    /// Thm 14; group privacy of zCDP, Bun & Steinke 2016, Prop. 27).
    ///
    /// # Errors
    /// No noise for answers that neighbours change: no ρ is large enough.
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
        let numerator = (squared_sensitivity * divisor * BigUint::from(unit_rows).pow(2)) << PLACES;
        let denominator = square << 1u32;
        Ok(ExactRho((numerator + &denominator - 1u32) / denominator))
    }

    /// The number of bits of ρ/2⁻²⁵⁶.
    pub(crate) fn bits(&self) -> u64 {
        self.0.bits()
    }

    /// ρ/2^(shift − 256), rounded up; ρ must have at most 127 bits above the shift.
    pub(crate) fn shifted_up(&self, shift: u64) -> u128 {
        let down = &self.0 >> shift;
        let is_exact = (&down << shift) == self.0;
        down.to_u128().unwrap_or(u128::MAX).saturating_add(u128::from(!is_exact))
    }

    /// The ρ that [`ExactRho::shifted_up`] turns into `number`.
    pub(crate) fn of_shifted(number: u128, shift: u64) -> Self {
        ExactRho(BigUint::from(number) << shift)
    }

    /// A ρ rounded down to a multiple of 2⁻²⁵⁶.
    pub fn of_rounded_down(rho: Rho) -> Self {
        let bits = rho.get().to_bits();
        // Ordinary numbers only: from 1e-300 on nothing is subnormal.
        let mantissa = BigUint::from(bits & ((1 << 52) - 1) | 1 << 52);
        let exponent = (bits >> 52 & 0x7ff) as i64 - 1075 + i64::from(PLACES);
        ExactRho(if exponent >= 0 {
            mantissa << exponent as u64
        } else {
            mantissa >> exponent.unsigned_abs()
        })
    }

    /// Whether nothing is spent.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        ExactRho(&self.0 + &other.0)
    }

    /// What is left of `self` after `spent`; `None` if that is more.
    pub fn minus(&self, spent: &Self) -> Option<Self> {
        (spent.0 <= self.0).then(|| ExactRho(&self.0 - &spent.0))
    }

    /// The smallest double that is at least this, as ρ.
    ///
    /// # Errors
    /// A number outside the range of [`Rho`], such as 0.
    pub fn rounded_up(&self) -> Result<Rho, PrivacyError> {
        Rho::new(self.to_f64_rounded_up())
    }

    /// The same as a number, 0 if nothing is spent.
    pub fn to_f64_rounded_up(&self) -> f64 {
        let cut = self.0.bits().saturating_sub(53);
        let mut top = &self.0 >> cut;
        if (&top << cut) < self.0 {
            top += 1u32;
        }
        // At most 53 bits (or 2⁵³), so exact; the shift of a double is exact too.
        top.to_f64().unwrap_or(f64::INFINITY) * (cut as f64 - f64::from(PLACES)).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(numerator: u128, denominator: u128) -> RationalDeviation {
        RationalDeviation::new(numerator, denominator).unwrap()
    }

    #[test]
    fn costs_are_those_of_the_formula_rounded_up() {
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
        // 1/3 is no double: the next one above it, and three of them exceed 1.
        let third =
            ExactRho::of_discrete_gaussian(&BigUint::from(6u32), deviation(3, 1), 1).unwrap();
        let found = third.rounded_up().unwrap().get();
        assert!(found * 3.0 >= 1.0 && found.next_down() <= 1.0 / 3.0, "{found}");
        assert!(
            third.plus(&third).plus(&third) > ExactRho::of_rounded_down(Rho::new(1.0).unwrap())
        );
    }

    #[test]
    fn doubles_come_and_go_unchanged() {
        for x in [1.0, 0.1, 1e-60, 3e-77, 12345.678, 1e20] {
            let rho = Rho::new(x).unwrap();
            let found = ExactRho::of_rounded_down(rho).to_f64_rounded_up();
            assert!(found <= x && found >= x * (1.0 - 1e-12) || x < 1e-76, "{x} {found}");
        }
        assert!(ExactRho::of_rounded_down(Rho::new(1e-200).unwrap()).is_zero());
        let (one, two) = (1.0, 2.0);
        let exact = |x| ExactRho::of_rounded_down(Rho::new(x).unwrap());
        assert_eq!(exact(two).minus(&exact(one)), Some(exact(one)));
        assert_eq!(exact(one).minus(&exact(two)), None);
    }
}
