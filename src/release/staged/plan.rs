//! The plan of a staged release, from schema, workload and budget only.

use super::certificate::{CertificateNoise, MIN_BITS, in_units};
use super::residuals::IntegerResiduals;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::mechanism::{Staged, StagedEstimates, Stages, sets_of};
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, Rho};
use crate::release::integer_plan::IntegerMeasurement;
use crate::schema::{LevelSchema, Schema};
use crate::workload::GroupedWorkload;

/// The share of the budget for the certificate of the error.
pub const DEFAULT_CERTIFICATE_SHARE: f64 = 0.03;

/// The minimum budget of a stage. The noise of smaller ones could exceed 128 bits.
const MIN_STAGE_RHO: f64 = 1e-20;

/// The plan of a staged release.
#[derive(Debug)]
pub struct StagedPlan {
    settings: Staged,
    schema: Schema,
    /// The schema with the levels of its attributes.
    domain: LevelSchema,
    /// The distinct sets of attributes and levels of the workload's groups, in their order.
    marginals: Vec<AttributeSet>,
    rho: Rho,
    unit: PrivacyUnit,
    stages: Stages,
    /// The cost of a stage for the unit, per cost for one added or removed record.
    unit_factor: f64,
    certificate_share: f64,
    certificate: Option<CertificateNoise>,
}

impl StagedPlan {
    /// Plans the first stage and the certificate.
    ///
    /// A share of ρ pays for the certificate; with share 0 there is none.
    ///
    /// # Errors
    /// An invalid share; a schema with public counts; a workload that the mechanism refuses; a
    /// budget that is too large for fine noise; only a public number of records.
    pub fn of(
        settings: Staged,
        workload: &GroupedWorkload,
        rho: Rho,
        unit: PrivacyUnit,
        certificate_share: f64,
    ) -> Result<Self> {
        if !(0.0..=0.5).contains(&certificate_share) {
            return Err(Error::bad_input(
                "share of the certificate",
                "a number from 0 to 0.5",
                certificate_share.to_string(),
                "omit it for a share of 0.03, or use 0 for no certificate",
            ));
        }
        let settings = settings.checked()?;
        let schema = workload.schema().clone();
        if !schema.public_counts().is_empty() {
            return Err(Error::bad_input(
                "[[public]] tables of the schema",
                "a release of unbiased answers",
                "a staged release",
                "omit --mechanism, or remove the tables",
            ));
        }
        let domain = LevelSchema::new(&schema)?;
        let sets = sets_of(workload, &domain)?;
        let mut marginals: Vec<AttributeSet> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        marginals.extend(sets.iter().filter(|set| seen.insert(**set)));
        let stages_rho = rho.get() * (1.0 - certificate_share);
        let mut plan = StagedPlan {
            settings,
            marginals,
            rho,
            unit,
            stages: Stages::new(settings, &domain, &sets, stages_rho)?,
            unit_factor: f64::from(unit.rows).powi(2),
            certificate_share,
            certificate: None,
            schema,
            domain,
        };
        if unit.neighbours != Neighbours::AddOrRemoveOneRecord || unit.distinct.is_some() {
            let first = plan.stages.first();
            let cost = plan.residuals().cost(first)?.to_f64_rounded_up();
            plan.unit_factor = cost / plan.stages.cost(first);
        }
        if plan.unit_factor.is_nan() || plan.unit_factor <= 0.0 {
            return Err(Error::bad_input(
                "release",
                "queries that depend on the records",
                "none: the number of records is public here",
                "add queries to the workload",
            ));
        }
        // Precisions are planned for the budget in terms of one added or removed record.
        let planned_rho = stages_rho / plan.unit_factor;
        plan.stages = Stages::new(settings, &plan.domain, &sets, planned_rho)?;
        let smallest = plan.stages.smallest_budget() * plan.unit_factor;
        if smallest < MIN_STAGE_RHO {
            return Err(Error::bad_input(
                "budget of the smallest stage",
                format!("a rho of at least {MIN_STAGE_RHO:e}"),
                format!("{smallest:e}"),
                "use a larger budget, fewer stages or a ratio nearer to 1",
            ));
        }
        if certificate_share > 0.0 {
            let rho = Rho::new(rho.get() * certificate_share)?;
            plan.certificate = Some(CertificateNoise::of(plan.marginals.len(), rho, unit)?);
        }
        Ok(plan)
    }

    /// Returns the settings of the mechanism.
    pub fn settings(&self) -> Staged {
        self.settings
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the schema with the levels of its attributes, which published marginals have too.
    pub fn domain(&self) -> &LevelSchema {
        &self.domain
    }

    /// Returns the marginals that are published: the distinct sets of attributes and levels of the
    /// workload.
    pub fn marginals(&self) -> &[AttributeSet] {
        &self.marginals
    }

    /// Returns the budget.
    pub fn rho(&self) -> Rho {
        self.rho
    }

    /// Returns the budget of the stages, in terms of one added or removed record.
    ///
    /// # Errors
    /// A budget outside the range of ρ.
    pub fn rho_of_stages(&self) -> Result<Rho> {
        Ok(Rho::new(self.rho.get() * (1.0 - self.certificate_share) / self.unit_factor)?)
    }

    /// Returns the privacy unit.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns the share of the budget for the certificate.
    pub fn certificate_share(&self) -> f64 {
        self.certificate_share
    }

    /// Returns the attributes of the workload, without levels.
    pub fn attributes(&self) -> AttributeSet {
        self.domain.leaves_of(self.estimated())
    }

    /// Returns the attributes and levels that are estimated: those of the workload, and levels that
    /// are coarser. An attribute that is only asked by level is not estimated.
    pub fn estimated(&self) -> AttributeSet {
        self.stages.attributes()
    }

    /// Returns the maximum number of questions for residuals and of their noisy integers.
    pub fn max_measured(&self) -> (usize, f64) {
        self.stages.max_measured()
    }

    /// Returns the maximum size of the model's cliques in MB of 2²⁰ bytes.
    ///
    /// It includes the pairs of neighbouring levels.
    pub fn model_mb(&self) -> f64 {
        self.stages.model_mb() + self.stages.level_mb()
    }

    /// Returns the number of cells of the published marginals.
    pub fn published_cells(&self) -> f64 {
        let sizes = self.domain.schema().sizes();
        let cells =
            |set: &AttributeSet| set.select(&sizes).iter().map(|&n| n as f64).product::<f64>();
        self.marginals.iter().map(cells).sum()
    }

    /// Returns the bits after the binary point of the published marginals.
    pub fn bits(&self) -> u32 {
        self.certificate.map_or(MIN_BITS, |certificate| certificate.bits)
    }

    /// Returns the measurements of the first stage.
    ///
    /// # Errors
    /// Integers that are too large.
    pub fn first_stage(&self) -> Result<Vec<IntegerMeasurement>> {
        let first = self.stages.first();
        self.residuals().measurements(first, &self.share_of(first, &self.budget_of_stages()?)?)
    }

    pub(super) fn certificate(&self) -> Option<&CertificateNoise> {
        self.certificate.as_ref()
    }

    pub(super) fn stages(&self) -> &Stages {
        &self.stages
    }

    pub(super) fn residuals(&self) -> IntegerResiduals {
        IntegerResiduals::new(self.domain.schema().sizes(), self.unit)
    }

    /// Returns the budget of all stages: ρ without the exact cost of the certificate.
    pub(super) fn budget_of_stages(&self) -> Result<ExactRho> {
        let total = ExactRho::of_rounded_down(self.rho);
        let certificate = match &self.certificate {
            Some(certificate) => certificate.cost(self.marginals.len(), self.unit)?,
            None => ExactRho::zero(),
        };
        total.minus(&certificate).ok_or_else(|| {
            Error::bug("staged release", "a certificate within the budget", self.rho)
        })
    }

    /// Returns the budget of a stage: its planned cost for the unit, at most `left`.
    pub(super) fn share_of(
        &self,
        list: &[(AttributeSet, f64)],
        left: &ExactRho,
    ) -> Result<ExactRho> {
        if list.is_empty() {
            return Ok(ExactRho::zero());
        }
        let planned = Rho::new(self.stages.cost(list) * self.unit_factor)?;
        Ok(ExactRho::of_rounded_down(planned).min(left.clone()))
    }

    /// Returns the published marginals of estimates, in units of 2^−bits.
    pub(super) fn published(
        &self,
        estimates: &StagedEstimates,
    ) -> Result<Vec<(AttributeSet, Vec<i64>)>> {
        use crate::estimation::{MarginalEstimates, impossible};
        let rounded = |set: &AttributeSet| {
            let mut marginal = estimates.marginal(*set)?;
            impossible::clear(self.domain.schema(), *set, &mut marginal);
            Ok((*set, in_units(&marginal, self.bits())))
        };
        self.marginals.iter().map(rounded).collect()
    }
}
