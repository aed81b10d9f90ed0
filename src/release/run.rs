//! The one way from private records to noisy integers.

use std::path::Path;

use super::integer_plan::IntegerPlan;
use super::ledger::Reservation;
use super::measurements::Measurements;
use crate::access::ReleaseTable;
use crate::data::{OutOfDomainRule, Records, read_private_csv};
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, OperatingSystemNoise};

/// Reads the records and measures the plan, paid from a reservation that the ledger has on the disk.
///
/// # Errors
/// A plan that costs more than was reserved or protects others, before the file is opened. A file that cannot be read to its end, or
/// without a column per attribute.
pub fn run(
    plan: &IntegerPlan,
    schema_text: &str,
    data: &Path,
    rule: OutOfDomainRule,
    reservation: &Reservation,
    progress: &mut dyn FnMut(usize),
) -> Result<Measurements> {
    check(plan, reservation)?;
    let records = read_private_csv(data, plan.plan().schema(), rule)?;
    measure(plan, schema_text, &records, reservation, OperatingSystemNoise::new(), progress)
}

fn check(plan: &IntegerPlan, reservation: &Reservation) -> Result<()> {
    let enough = ExactRho::of_rounded_down(reservation.rho()).minus(plan.cost()).is_some();
    if enough && plan.unit() == reservation.unit() {
        return Ok(());
    }
    Err(Error::bug(
        "release",
        format!("a plan of at most {} that protects {}", reservation.rho(), reservation.unit()),
        format!("{} and {}", plan.cost().to_f64_rounded_up(), plan.unit()),
    ))
}

/// Measures the plan on records, with whatever noise tests of this crate want.
pub(super) fn measure(
    plan: &IntegerPlan,
    schema_text: &str,
    records: &Records,
    reservation: &Reservation,
    noise: OperatingSystemNoise,
    progress: &mut dyn FnMut(usize),
) -> Result<Measurements> {
    check(plan, reservation)?;
    let mut table = ReleaseTable::open(records, reservation.rho(), reservation.unit(), noise)?;
    let mut list = Vec::with_capacity(plan.measurements().len());
    for (place, own) in plan.measurements().iter().enumerate() {
        list.push((own.clone(), table.measure(&own.question())?));
        progress(place + 1);
    }
    if table.spent() != plan.cost() {
        let found = table.spent().to_f64_rounded_up();
        return Err(Error::bug("release", format!("a cost of {}", plan.cost().to_f64_rounded_up()), found));
    }
    Ok(Measurements {
        schema: plan.plan().schema().clone(),
        schema_text: schema_text.to_owned(),
        weights: plan.weights().to_vec(),
        unit: plan.unit(),
        list,
    })
}
