//! `staged`: adaptive measurement of residuals without private selection.
//!
//! ```text
//! measure the total and all residuals of the closure W↓ coarsely (25.5 % of ρ)
//! for share in (1, 3, 9)/13 of the rest:
//!     fit a small model with learned widths to everything measured
//!     plan precisions that minimise the predicted error; measure the residuals again
//! fit the model, and answer
//! ```
//!
//! Every look at the data is a noisy residual. What is measured next is a function of released
//! values. The fit is [`LearnedFit`].
//!
//! *Privacy*: a residual with precision λ costs p_τ λ/2. If every question is a function of earlier
//! answers and the costs never exceed ρ, the transcript is ρ-zCDP (Feldman and Zrnic 2021; a proof
//! is in `docs/staged.md`). *Source*: ours.

mod plan;
mod scouts;
mod stages;
mod unbiased;

use self::scouts::Shares;
pub(crate) use self::stages::{Answers, StageAnswers, StagedEstimates, Stages};
use super::aim_pgm::max_mb;
use super::{Mechanism, RunReport};
use crate::access::{PaidAccess, Question};
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::{FittedModel, MarginalEstimates};
use crate::privacy::NoiseStream;
use crate::workload::GroupedWorkload;

/// Maximum number of stages.
const MAX_STAGES: usize = 100;

/// The minimum share of a stage in the budget of all stages.
const MIN_STAGE_SHARE: f64 = 1e-9;

/// The maximum of other options.
const MAX_NUMBER: f64 = 1e9;

/// The mechanism `staged`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staged {
    /// The shares of the first measurements.
    shares: Shares,
    /// The number of stages; their shares of the rest grow by the factor `ratio`.
    stages: usize,
    /// The ratio of the budgets of consecutive stages.
    ratio: f64,
    /// Maximum size of the model's cliques, in MB of 2²⁰ bytes; `None` for 1, and 0.25 above 30
    /// attributes. During the stages it is a quarter.
    max_mb: Option<f64>,
    /// Unbiased answers are given if their expected error is at most this multiple of the predicted
    /// one; 0 for never.
    switch: f64,
    /// The minimum evidence for a set to be used.
    threshold: f64,
    /// The pseudo-observations of the prior of the widths.
    pseudo_observations: f64,
}

impl Default for Staged {
    fn default() -> Self {
        Staged {
            shares: Shares { total: 0.005, singles: 0.1, pairs: 0.1, larger: 0.05 },
            stages: 3,
            ratio: 3.0,
            max_mb: None,
            switch: 1.5,
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
    fn stage_weights(&self) -> Vec<f64> {
        (0..self.stages).map(|k| self.ratio.powi(k as i32)).collect()
    }

    /// Returns the smallest share of a stage in the budget of all stages; NaN if powers of `ratio`
    /// are not finite.
    fn smallest_share(&self) -> f64 {
        let weights = self.stage_weights();
        weights.iter().copied().fold(f64::INFINITY, f64::min) / weights.iter().sum::<f64>()
    }
}

impl Mechanism for Staged {
    fn name(&self) -> &str {
        "staged"
    }

    fn summary(&self) -> &str {
        "adaptive residuals without private selection, learned widths; biased"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn ends_with_model(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [&'static str] {
        &[
            "total",
            "singles",
            "pairs",
            "larger",
            "stages",
            "ratio",
            "max-mb",
            "switch",
            "threshold",
            "pseudo-observations",
        ]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        let share = |key, default| {
            call.number(key, default, "a share of the budget", |x| (0.0..1.0).contains(&x))
        };
        let shares = Shares {
            total: share("total", self.shares.total)?,
            singles: share("singles", self.shares.singles)?,
            pairs: share("pairs", self.shares.pairs)?,
            larger: share("larger", self.shares.larger)?,
        };
        let positive = |key, default| call.number(key, default, "a positive number", |x| x > 0.0);
        let is_count = |x: f64| (1.0..=MAX_STAGES as f64).contains(&x) && x.fract() == 0.0;
        let stages =
            call.number("stages", self.stages as f64, "an integer from 1 to 100", is_count)?;
        let max_mb = match call.written("max-mb") {
            Some(_) => Some(max_mb(call, 1.0)?),
            None => self.max_mb,
        };
        let configured = Staged {
            shares,
            stages: stages as usize,
            ratio: positive("ratio", self.ratio)?,
            max_mb,
            switch: call.number("switch", self.switch, "a number of at least 0", |x| x >= 0.0)?,
            threshold: call.number("threshold", self.threshold, "a number", |_| true)?,
            pseudo_observations: positive("pseudo-observations", self.pseudo_observations)?,
        };
        Ok(Box::new(configured.checked()?))
    }

    fn as_staged(&self) -> Option<Staged> {
        Some(*self)
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        sets_of(workload).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let sets = sets_of(workload)?;
        let rho = access.total();
        let stages = Stages::new(*self, workload.schema(), &sets, rho.get())?;
        let mut measurements = 0;
        let mut outcome = None;
        access.reserved(self.name(), rho, &mut |access| {
            let mut measure = |round: u64, list: &[(_, f64)]| {
                measurements += list.len();
                (list.iter())
                    .map(|&(attributes, precision)| {
                        let variance = precision.recip();
                        let question = Question::Residual { attributes, variance };
                        let stream = NoiseStream::Separate { round };
                        Ok((access.measure(&question, stream)?, variance))
                    })
                    .collect()
            };
            outcome = Some(stages.run(&mut measure)?);
            Ok(())
        })?;
        let Some(estimates) = outcome else {
            return Err(Error::bug("staged measurement", "an outcome", "none"));
        };
        let mut known: Option<(AttributeSet, Vec<f64>)> = None;
        for (index, group) in workload.groups().iter().enumerate() {
            let set = group.attributes();
            let marginal = match known.take() {
                Some((of, marginal)) if of == set => marginal,
                _ => estimates.marginal(set)?,
            };
            answers(index, &group.answers(&marginal)?)?;
            known = Some((set, marginal));
        }
        let StagedEstimates { fit: fitted, is_linear: switched } = estimates;
        let details = vec![
            ("measurements", f64::from(measurements as u32)),
            ("model_mb", fitted.tree().megabytes()),
            ("beside_model", fitted.outside() as f64),
            ("residual_planner", f64::from(u8::from(switched))),
        ];
        Ok(RunReport { details, model: Some(FittedModel::Soft(fitted)) })
    }
}

/// Returns the set of attributes of every group of a workload.
///
/// A set occurs once per group, so a residual has the number of groups that contain it as weight.
///
/// # Errors
/// A group of a weight other than 1.
pub(crate) fn sets_of(workload: &GroupedWorkload) -> Result<Vec<AttributeSet>> {
    let set = |(k, group): (usize, &crate::workload::QueryGroup)| {
        if group.weight() == 1.0 {
            return Ok(group.attributes());
        }
        let names = workload.schema().names(group.attributes());
        Err(Error::bad_input(
            format!("mechanism `staged`, group {} ({} on {names})", k + 1, group.family()),
            "a group of weight 1",
            format!("weight {}", group.weight()),
            "omit the weight: this mechanism weights all groups equally",
        ))
    };
    workload.groups().iter().enumerate().map(set).collect()
}

#[cfg(test)]
mod tests;
