//! Integer measurements.

use crate::access::IntegerQuestion;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::privacy::{PrivacyCost, RationalDeviation};
use crate::strategy::IntegerStrategy;

/// An integer measurement: `B x_A` with discrete Gaussian noise.
#[derive(Debug, Clone)]
pub struct IntegerMeasurement {
    /// The attributes A.
    pub attributes: AttributeSet,
    /// The strategy B.
    pub strategy: IntegerStrategy,
    /// The standard deviation σ.
    pub deviation: RationalDeviation,
}

impl IntegerMeasurement {
    /// Returns the measurement as a question to the data.
    pub fn question(&self) -> IntegerQuestion<'_> {
        IntegerQuestion {
            attributes: self.attributes,
            strategy: &self.strategy,
            deviation: self.deviation,
        }
    }

    /// Returns c_A = Δ²/Var, the privacy cost of the measurement when one record is added or
    /// removed; `None` without noise.
    pub(super) fn worth(&self) -> Result<Option<PrivacyCost>> {
        if self.deviation == RationalDeviation::ZERO {
            return Ok(None);
        }
        Ok(Some(PrivacyCost::new(
            self.strategy.squared_sensitivity_f64() / self.deviation.variance(),
        )?))
    }
}
