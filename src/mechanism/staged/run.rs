//! The mechanism: its options, and its run.

use super::level_queries::LevelQueries;
use super::scouts::Shares;
use super::settings::{MAX_STAGES, Staged};
use super::stages::{StagedEstimates, Stages};
use crate::access::{PaidAccess, Question};
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::soft_ipf::SetEvidence;
use crate::estimation::{FittedModel, MarginalEstimates};
use crate::mechanism::aim_pgm::max_mb;
use crate::mechanism::{Mechanism, RunReport};
use crate::privacy::NoiseStream;
use crate::schema::LevelSchema;
use crate::workload::GroupedWorkload;

/// The name of the mechanism.
const NAME: &str = "staged";

impl Mechanism for Staged {
    fn name(&self) -> &str {
        NAME
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
        sets_of(workload, &LevelSchema::without_levels(workload.schema())).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        run(*self, None, workload, access, answers)
    }
}

/// Runs the mechanism with some settings; with the evidence of [`KnownWidths`](super::KnownWidths), if
/// given.
///
/// # Errors
/// As [`Mechanism::run`].
pub(super) fn run(
    settings: Staged,
    evidence: Option<&[SetEvidence]>,
    workload: &GroupedWorkload,
    access: &mut dyn PaidAccess,
    answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
) -> Result<RunReport> {
    // Levels are measured if the table counts them, as attributes after the others.
    let domain = match access.sizes().len() > workload.schema().attributes().len() {
        true => LevelSchema::new(workload.schema())?,
        false => LevelSchema::without_levels(workload.schema()),
    };
    let sets = sets_of(workload, &domain)?;
    let rho = access.total();
    let mut stages = Stages::new(settings, &domain, &sets, rho.get())?;
    if let Some(evidence) = evidence {
        stages = stages.with_evidence(evidence);
    }
    let mut measurements = 0;
    let mut outcome = None;
    access.reserved(NAME, rho, &mut |access| {
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
    let mut known: Vec<(AttributeSet, Vec<f64>)> = Vec::new();
    for (index, group) in workload.groups().iter().enumerate() {
        let queries = LevelQueries::of(group, &domain);
        if !queries.sets().eq(known.iter().map(|(set, _)| *set)) {
            let marginal = |set| Ok((set, estimates.marginal(set)?));
            known = queries.sets().map(marginal).collect::<Result<_>>()?;
        }
        let marginals: Vec<&[f64]> = known.iter().map(|(_, cells)| cells.as_slice()).collect();
        let found = queries.answers(group, &domain, &marginals)?;
        answers(index, &found.into_iter().map(|(answer, _)| answer).collect::<Vec<f64>>())?;
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

/// Returns the sets of attributes and levels of every group of a workload.
///
/// A set occurs once per group, so a residual has the number of groups that contain it as weight.
///
/// # Errors
/// A group of a weight other than 1.
pub(crate) fn sets_of(
    workload: &GroupedWorkload,
    domain: &LevelSchema,
) -> Result<Vec<AttributeSet>> {
    let mut sets = Vec::with_capacity(workload.groups().len());
    for (k, group) in workload.groups().iter().enumerate() {
        if group.weight() != 1.0 {
            let names = workload.schema().names(group.attributes());
            return Err(Error::bad_input(
                format!("mechanism `staged`, group {} ({} on {names})", k + 1, group.family()),
                "a group of weight 1",
                format!("weight {}", group.weight()),
                "omit the weight: this mechanism weights all groups equally",
            ));
        }
        sets.extend(LevelQueries::of(group, domain).sets());
    }
    Ok(sets)
}
