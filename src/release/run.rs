//! The only way from private records to noisy integers.

use super::integer_plan::{IntegerMeasurement, IntegerPlan};
use super::ledger::Reservation;
use super::measurements::{Header, Measurements, Sources};
use super::release_data::ReleaseData;
use super::statement::Statement;
use crate::access::{CountSource, IntegerQuestion, ReleaseNoise, ReleaseTable};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, PrivacyUnit};
use crate::schema::CellBox;

/// Reads the records and measures the plan, paid by a reservation that is in the ledger on disk.
///
/// # Errors
/// The plan costs more than was reserved, or is for another privacy unit: then no record is read.
/// The file cannot be read to its end.
pub fn run(
    plan: &IntegerPlan,
    statement: Statement,
    sources: Sources<'_>,
    data: ReleaseData,
    reservation: &Reservation,
) -> Result<Measurements> {
    check_plan(plan, reservation)?;
    check_persons(&data, reservation)?;
    let statement = statement.counted_from(&data);
    let schema = plan.plan().schema();
    let sets = plan.measurements().iter().map(|measurement| measurement.attributes);
    let public = schema.public_counts().iter().map(CellBox::attributes);
    let read = sets.chain(public).fold(AttributeSet::EMPTY, AttributeSet::union);
    let records = data.read(schema, read)?;
    measure(plan, statement, sources, records.as_ref(), reservation, ReleaseNoise::new())
}

fn check_plan(plan: &IntegerPlan, reservation: &Reservation) -> Result<()> {
    check(plan.cost(), plan.unit(), reservation)
}

/// Refuses a plan that costs more than was reserved, or is for another privacy unit.
pub(super) fn check(cost: &ExactRho, unit: PrivacyUnit, reservation: &Reservation) -> Result<()> {
    let is_enough = ExactRho::of_rounded_down(reservation.rho()).minus(cost).is_some();
    if is_enough && unit == reservation.unit() {
        return Ok(());
    }
    Err(Error::bug(
        "release",
        format!("a plan of at most {} that protects {}", reservation.rho(), reservation.unit()),
        format!("{} and {unit}", cost.to_f64_rounded_up()),
    ))
}

/// Refuses a table whose persons are not those of the reservation.
pub(super) fn check_persons(data: &ReleaseData, reservation: &Reservation) -> Result<()> {
    let limit = data.person();
    let column = limit.map(|limit| limit.column.as_str());
    // Without a limit, different values of an attribute are an assumption, as is their number.
    let distinct = limit.and_then(|limit| limit.distinct.as_deref());
    let is_same = limit.is_none() || distinct == reservation.distinct();
    if column == reservation.person() && is_same {
        return Ok(());
    }
    Err(Error::bug(
        "release",
        format!("persons by {:?} and {:?}", reservation.person(), reservation.distinct()),
        format!("persons by {limit:?}"),
    ))
}

/// Measures the plan on records; tests of this crate supply the noise.
pub(super) fn measure(
    plan: &IntegerPlan,
    statement: Statement,
    sources: Sources<'_>,
    records: &dyn CountSource,
    reservation: &Reservation,
    noise: ReleaseNoise,
) -> Result<Measurements> {
    check_plan(plan, reservation)?;
    let mut table = ReleaseTable::open(records, reservation.rho(), reservation.unit(), noise);
    let questions: Vec<IntegerQuestion<'_>> =
        plan.measurements().iter().map(IntegerMeasurement::question).collect();
    let answers = table.answer(&questions)?;
    let public_counts = table.public_counts(plan.plan().schema().public_counts())?;
    if table.spent() != plan.cost() {
        let found = table.spent().to_f64_rounded_up();
        return Err(Error::bug(
            "release",
            format!("a cost of {}", plan.cost().to_f64_rounded_up()),
            found,
        ));
    }
    Ok(Measurements {
        header: Header::new(plan.plan().schema(), statement, sources),
        weights: plan.weights().to_vec(),
        unit: plan.unit(),
        public_counts,
        list: plan.measurements().iter().cloned().zip(answers).collect(),
    })
}
