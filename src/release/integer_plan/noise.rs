//! Fine noise, within a budget.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::privacy::{ExactRho, RationalDeviation};
use crate::strategy::{IntegerFactor, IntegerStrategy, JointCost};

/// Multiplies a strategy and its deviation by the smallest power of two that makes the noise fine.
///
/// The cost and the error do not change. One more factor of two keeps σ away from the limit.
pub(in crate::release) fn with_fine_noise(
    strategy: &IntegerStrategy,
    deviation: RationalDeviation,
    scalars: &mut HashMap<u32, Arc<IntegerFactor>>,
) -> Result<(IntegerStrategy, RationalDeviation)> {
    let is_fine =
        |power: u32| -> Result<bool> { Ok(deviation.times_power_of_two(power)?.is_fine()) };
    let mut power = 0;
    while deviation != RationalDeviation::ZERO && !is_fine(power)? {
        power += 1;
    }
    if power == 0 {
        return Ok((strategy.clone(), deviation));
    }
    power += 1;
    let number = 1i64.checked_shl(power).filter(|number| *number > 0).ok_or_else(|| {
        let remedy = "use a smaller budget: at this budget the noise is less than one record";
        Error::too_large("integer answers with fine noise", "bits", 62.0, power.into(), remedy)
    })?;
    let scalar = match scalars.get(&power) {
        Some(scalar) => scalar.clone(),
        None => scalars.entry(power).or_insert(Arc::new(IntegerFactor::scalar(number)?)).clone(),
    };
    let factors = std::iter::once(scalar).chain(strategy.factors().iter().cloned());
    Ok((IntegerStrategy::new(factors.collect())?, deviation.times_power_of_two(power)?))
}

/// Returns `deviations(s)` for the smallest s whose cost is at most a budget.
pub(in crate::release) fn paid(
    budget: &ExactRho,
    deviations: &dyn Fn(f64) -> Result<Vec<RationalDeviation>>,
    cost: &dyn Fn(&[RationalDeviation]) -> Result<JointCost>,
) -> Result<Vec<RationalDeviation>> {
    // The cost is inversely proportional to s, except for rounding, which is on the safe side.
    let total = budget.to_f64_rounded_up();
    let mut s = cost(&deviations(1.0)?)?.rho.to_f64_rounded_up() / total;
    if s <= 0.0 {
        let (expected, remedy) =
            ("queries that depend on the records", "add queries to the workload");
        return Err(Error::bad_input(
            "release",
            expected,
            "none: the number of records is public here",
            remedy,
        ));
    }
    for _ in 0..60 {
        let chosen = deviations(s)?;
        let spent = cost(&chosen)?;
        if budget.minus(&spent.rho).is_some() {
            return Ok(chosen);
        }
        s *= (spent.rho.to_f64_rounded_up() / total).max(1.0 + 1e-8);
    }
    Err(Error::bug("integer plan", "a cost of at most the budget", format!("more than {total}")))
}
