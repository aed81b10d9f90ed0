//! The only way from private records to the noisy integers of a staged release.

use std::path::Path;

use super::certificate::DistanceCertificate;
use super::marginals::StagedMarginals;
use super::measurements::{StagedMeasurements, answers_of};
use super::plan::StagedPlan;
use super::statement::StagedStatement;
use crate::access::{CountSource, IntegerQuestion, LevelCounts, ReleaseNoise, ReleaseTable};
use crate::error::{Error, Result};
use crate::privacy::ExactRho;
use crate::release::integer_plan::IntegerMeasurement;
use crate::release::ledger::Reservation;
use crate::release::measurements::{Header, Sources};
use crate::release::release_data::ReleaseData;
use crate::release::run::{check, check_persons};

/// Reads the records and measures all stages, paid by a reservation that is in the ledger on disk.
///
/// The noisy integers of every stage are in `folder`, on the disk, before the next stage is
/// planned.
///
/// # Errors
/// The plan is for another budget or privacy unit than the reservation: then no record is read. The
/// file cannot be read to its end, or `folder` cannot be written.
pub fn run(
    plan: &StagedPlan,
    statement: StagedStatement,
    sources: Sources<'_>,
    data: ReleaseData,
    reservation: &Reservation,
    folder: &Path,
) -> Result<StagedMarginals> {
    check(&ExactRho::of_rounded_down(plan.rho()), plan.unit(), reservation)?;
    check_persons(&data, reservation)?;
    let statement = statement.counted_from(&data);
    let mut measured = empty(plan, statement, sources);
    measured.write_terms(folder)?;
    let records = data.read(plan.schema(), plan.attributes())?;
    let noise = ReleaseNoise::new();
    measure(plan, &mut measured, records.as_ref(), reservation, noise, &mut |measured| {
        match measured.certificate {
            None => measured.write_last_stage(folder),
            Some(_) => measured.write_certificate(folder),
        }
    })?;
    drop(records);
    StagedMarginals::of(measured)
}

/// Returns measurements without stages.
pub(super) fn empty(
    plan: &StagedPlan,
    statement: StagedStatement,
    sources: Sources<'_>,
) -> StagedMeasurements {
    let header = Header::new(plan.schema(), statement, sources);
    let domain = plan.domain().clone();
    StagedMeasurements { header, domain, stages: Vec::new(), certificate: None }
}

/// Measures all stages and the certificate; tests of this crate supply the noise.
///
/// `finished` is called after every stage, and after the certificate.
pub(super) fn measure(
    plan: &StagedPlan,
    measured: &mut StagedMeasurements,
    records: &dyn CountSource,
    reservation: &Reservation,
    noise: ReleaseNoise,
    finished: &mut dyn FnMut(&StagedMeasurements) -> Result<()>,
) -> Result<()> {
    check(&ExactRho::of_rounded_down(plan.rho()), plan.unit(), reservation)?;
    let records = LevelCounts::new(records, plan.domain());
    let mut table = ReleaseTable::open(&records, plan.rho(), plan.unit(), noise);
    let mut residuals = plan.residuals();
    let mut left = plan.budget_of_stages()?;
    let estimates = plan.stages().run(&mut |_, list| {
        let share = plan.share_of(list, &left)?;
        let measurements = residuals.measurements(list, &share)?;
        let questions: Vec<IntegerQuestion<'_>> =
            measurements.iter().map(IntegerMeasurement::question).collect();
        let before = table.spent().clone();
        let answers = table.answer(&questions)?;
        let paid = table.spent().minus(&before).unwrap_or_default();
        left = left.minus(&paid).ok_or_else(|| {
            let expected = format!("a stage of at most {}", share.to_f64_rounded_up());
            Error::bug("staged release", expected, paid.to_f64_rounded_up())
        })?;
        measured.stages.push(measurements.into_iter().zip(answers).collect());
        finished(measured)?;
        Ok(measured.stages.last().map(answers_of).unwrap_or_default())
    })?;
    let Some(&noise) = plan.certificate() else { return Ok(()) };
    let marginals = plan.published(&estimates)?;
    let (distances, sum_of_distances) = table.distances(&noise.question(&marginals))?;
    let certificate = DistanceCertificate { noise, marginals, distances, sum_of_distances };
    measured.certificate = Some(certificate);
    finished(measured)
}
