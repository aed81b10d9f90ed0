//! The settings of staged measurement.

use super::scouts::Shares;
use crate::error::{Error, Result};

/// Maximum number of stages.
pub(super) const MAX_STAGES: usize = 100;

/// The minimum share of a stage in the budget of all stages.
const MIN_STAGE_SHARE: f64 = 1e-9;

/// The maximum of other options.
const MAX_NUMBER: f64 = 1e9;

/// The mechanism `staged`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staged {
    /// The shares of the first measurements.
    pub(super) shares: Shares,
    /// The number of stages; their shares of the rest grow by the factor `ratio`.
    pub(super) stages: usize,
    /// The ratio of the budgets of consecutive stages.
    pub(super) ratio: f64,
    /// Maximum size of the model's cliques, in MB of 2²⁰ bytes; `None` for 1, and 0.25 above 30
    /// attributes. During the stages it is a quarter.
    pub(super) max_mb: Option<f64>,
    /// Unbiased answers are given if their expected error is at most this multiple of the predicted
    /// one; 0 for never.
    pub(super) switch: f64,
    /// The minimum evidence for a set to be used.
    pub(super) threshold: f64,
    /// The pseudo-observations of the prior of the widths.
    pub(super) pseudo_observations: f64,
}

impl Default for Staged {
    fn default() -> Self {
        Staged {
            shares: Shares { total: 0.005, singles: 0.1, pairs: 0.2, larger: 0.05 },
            stages: 3,
            ratio: 1.0,
            max_mb: None,
            switch: 1.3,
            threshold: 6.0,
            pseudo_observations: 5.0,
        }
    }
}

impl Staged {
    /// Returns the settings if they are within the limits of the options.
    ///
    /// # Errors
    /// Shares of the first measurements that leave nothing for the stages, a stage with a share
    /// below 10⁻⁹ of the others, or numbers beyond the limits of the options.
    pub(crate) fn checked(self) -> Result<Self> {
        let Shares { total, singles, pairs, larger } = self.shares;
        let refuse = |expected: String, found: String, remedy: &str| {
            Err(Error::bad_input("options of the mechanism `staged`", expected, found, remedy))
        };
        let shares = [total, singles, pairs, larger];
        let sum: f64 = shares.iter().sum();
        if shares.iter().any(|x| !(0.0..1.0).contains(x)) || sum >= 1.0 {
            return refuse(
                "shares total, singles, pairs and larger from 0 to 1 with a sum below 1".into(),
                format!("{total}, {singles}, {pairs} and {larger}"),
                "leave a share for the stages",
            );
        }
        let has_stages = (1..=MAX_STAGES).contains(&self.stages)
            && self.ratio > 0.0
            && self.smallest_share() >= MIN_STAGE_SHARE;
        if !has_stages {
            return refuse(
                format!(
                    "1 to {MAX_STAGES} stages and a ratio for which every stage has a share of at \
                     least {MIN_STAGE_SHARE:e}"
                ),
                format!("{} stages with ratio {}", self.stages, self.ratio),
                "use fewer stages or a ratio nearer to 1",
            );
        }
        let is_within = |x: f64, low: f64| x >= low && x <= MAX_NUMBER;
        let fits = is_within(self.pseudo_observations, f64::MIN_POSITIVE)
            && self.max_mb.is_none_or(|mb| is_within(mb, 0.0))
            && is_within(self.switch, 0.0)
            && is_within(self.threshold, -MAX_NUMBER);
        if !fits {
            return refuse(
                format!("numbers of at most {MAX_NUMBER:e}, not negative except threshold"),
                format!("{self:?}"),
                "use smaller numbers",
            );
        }
        Ok(self)
    }

    /// Returns numbers proportional to the budgets of the stages: the powers of `ratio`.
    pub(super) fn stage_weights(&self) -> Vec<f64> {
        (0..self.stages).map(|k| self.ratio.powi(k as i32)).collect()
    }

    /// Returns the smallest share of a stage in the budget of all stages; NaN if powers of `ratio`
    /// are not finite.
    pub(super) fn smallest_share(&self) -> f64 {
        let weights = self.stage_weights();
        weights.iter().copied().fold(f64::INFINITY, f64::min) / weights.iter().sum::<f64>()
    }
}
