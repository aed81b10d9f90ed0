//! Range checks of privacy parameters.

use super::error::PrivacyError;

/// Returns `value` if it is finite and greater than 0.
pub(super) fn positive(
    quantity: &'static str,
    value: f64,
    remedy: &'static str,
) -> Result<f64, PrivacyError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(PrivacyError::InvalidParameter {
        quantity,
        expected: "a finite number greater than 0",
        found: value,
        remedy,
    })
}

/// Returns `value` if its square, half and double neither overflow nor lose digits.
pub(super) fn ordinary(
    quantity: &'static str,
    value: f64,
    remedy: &'static str,
) -> Result<f64, PrivacyError> {
    if (1e-300..=1e300).contains(&value) {
        return Ok(value);
    }
    let expected = "a number greater than 0, from 1e-300 to 1e300";
    Err(PrivacyError::InvalidParameter { quantity, expected, found: value, remedy })
}

/// Returns `value` if it is finite and at least 0.
pub(super) fn non_negative(
    quantity: &'static str,
    value: f64,
    remedy: &'static str,
) -> Result<f64, PrivacyError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(PrivacyError::InvalidParameter {
        quantity,
        expected: "a finite number of at least 0",
        found: value,
        remedy,
    })
}

/// Checks an epsilon for calibration: finite and greater than 0.
pub(super) fn budget_epsilon(epsilon: f64) -> Result<f64, PrivacyError> {
    positive("epsilon", epsilon, "give the privacy-loss bound as a positive number, e.g. 1.0")
}

/// Checks an epsilon for evaluating a privacy curve: finite and at least 0.
pub(super) fn curve_epsilon(epsilon: f64) -> Result<f64, PrivacyError> {
    non_negative(
        "epsilon",
        epsilon,
        "give the privacy-loss bound as a number of at least 0, e.g. 1.0",
    )
}

/// Checks that delta is strictly between 0 and 1.
pub(super) fn budget_delta(delta: f64) -> Result<f64, PrivacyError> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(delta);
    }
    Err(PrivacyError::InvalidParameter {
        quantity: "delta",
        expected: "a number strictly between 0 and 1",
        found: delta,
        remedy: "give a small failure probability, e.g. 1e-9; Gaussian noise cannot provide \
                 delta = 0",
    })
}

/// Checks an L1 or L2 sensitivity: finite and greater than 0.
pub(super) fn sensitivity(sensitivity: f64) -> Result<f64, PrivacyError> {
    positive(
        "sensitivity",
        sensitivity,
        "remove queries that no record influences: they need no noise",
    )
}

/// Checks a noise standard deviation: finite and greater than 0.
pub(super) fn noise_scale(sigma: f64) -> Result<f64, PrivacyError> {
    positive(
        "noise standard deviation",
        sigma,
        "an answer without noise has no finite privacy cost",
    )
}
