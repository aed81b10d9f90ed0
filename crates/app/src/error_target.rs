//! The smallest budget whose expected error is at most a target.

use serde::Serialize;

use matmech::Decimal;
use matmech::error::{Error, Result};
use matmech::planner::{GroupError, Plan};
use matmech::privacy::{PrivacyCost, Rho, fine_noise};

/// The 97.5 % quantile of the normal distribution: a 95 % interval is ± this many deviations.
pub const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// Significant digits of the budgets that are found.
const DIGITS: i32 = 6;

/// The share by which a release in integers may exceed the planned variance.
const ROUNDING_OF_RELEASES: f64 = 1e-6;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The root mean square error of all queries, as the plan reports it.
    Rmse(f64),
    /// The half-length of a 95 % interval for a query with the root mean square error of the group
    /// where that is largest.
    Interval(f64),
}

/// A target of the expected error, and the unit and δ of the budget.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The limit of the error.
    pub limit: Limit,
    /// δ for which ε is stated.
    pub delta: f64,
    /// Maximum records per person.
    pub unit_rows: u32,
}

/// The budget that meets a target.
#[derive(Debug, Serialize)]
pub struct FoundBudget {
    /// The target.
    pub target: Limit,
    /// ρ for a person, rounded up to 6 digits.
    pub rho: f64,
    /// ε for a person, rounded up to 6 digits: with it the target is met too; null if δ alone
    /// allows ρ.
    pub epsilon: Option<f64>,
    /// δ for which ε is stated.
    pub delta: f64,
    /// Maximum records per person.
    pub unit_rows: u32,
    /// The largest root mean square error of a group.
    pub largest_group_rmse: f64,
    /// The half-length of a 95 % interval for a query with that error.
    pub largest_interval: f64,
    /// The attributes of the group with the largest error.
    pub largest_group: Vec<String>,
    /// The family of that group.
    pub largest_family: &'static str,
}

impl Limit {
    fn at_most(self) -> f64 {
        match self {
            Limit::Rmse(at_most) | Limit::Interval(at_most) => at_most,
        }
    }

    /// Returns the error of a plan that is limited.
    fn error(self, plan: &Plan) -> f64 {
        match self {
            Limit::Rmse(_) => plan.rmse(),
            Limit::Interval(_) => {
                NORMAL_QUANTILE * largest_group(plan).map_or(0.0, GroupError::rmse)
            }
        }
    }
}

impl Target {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A limit that is not positive and finite, a δ that is not between 0 and 1, or no record.
    pub(crate) fn check(&self) -> Result<()> {
        let limit = self.limit.at_most();
        let refuse = |what: &str, expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input(what, expected, found, remedy))
        };
        if !(limit.is_finite() && limit > 0.0) {
            let remedy = "give an error in records, e.g. 10";
            return refuse("target", "a positive number", limit.to_string(), remedy);
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let remedy = "give a small failure probability, e.g. 1e-9";
            let expected = "a number strictly between 0 and 1";
            return refuse("delta of the target", expected, self.delta.to_string(), remedy);
        }
        if self.unit_rows == 0 {
            let remedy = "give the maximum number of records of a person";
            return refuse("records per person", "at least 1", "0".to_owned(), remedy);
        }
        Ok(())
    }

    /// Returns a plan, scaled to the smallest budget that meets the target, and the budget.
    ///
    /// # Errors
    /// A plan without errors, or a budget outside the range of ρ.
    pub(crate) fn scaled(&self, plan: Plan) -> Result<(Plan, FoundBudget)> {
        let (limit, most) = (self.limit, self.limit.at_most());
        let rows = f64::from(self.unit_rows).powi(2);
        let needed = (limit.error(&plan) / most).powi(2) * plan.privacy_cost().get();
        let rho = Rho::new(rounded_up(0.5 * rows * needed * (1.0 + ROUNDING_OF_RELEASES)))?;
        let plan = plan.at_privacy_cost(PrivacyCost::new(rho.privacy_cost().get() / rows)?)?;
        let found = limit.error(&plan);
        if found > most {
            return Err(Error::bug("budget of a target", format!("an error of {most}"), found));
        }
        let largest = largest_group(&plan)
            .ok_or_else(|| Error::bug("budget of a target", "a group of queries", "none"))?;
        let attributes = plan.schema().attributes();
        let found = FoundBudget {
            target: limit,
            rho: rho.get(),
            epsilon: self.epsilon(rho)?,
            delta: self.delta,
            unit_rows: self.unit_rows,
            largest_group_rmse: largest.rmse(),
            largest_interval: NORMAL_QUANTILE * largest.rmse(),
            largest_group: (largest.attributes.positions())
                .map(|position| attributes[position].name.clone())
                .collect(),
            largest_family: largest.family,
        };
        Ok((plan, found))
    }

    /// Returns an ε whose ρ is at least the given one, also in releases.
    fn epsilon(&self, rho: Rho) -> Result<Option<f64>> {
        let smallest = fine_noise::epsilon_rounded_up(rho, self.delta)?;
        let mut epsilon = rounded_up(smallest);
        if epsilon == 0.0 {
            return Ok(None);
        }
        // The curve is evaluated with rounding errors in both directions.
        while fine_noise::rho_of_approximate_rounded_down(epsilon, self.delta)? < rho {
            epsilon = rounded_up(epsilon * (1.0 + 1e-9));
        }
        Ok(Some(epsilon))
    }
}

/// Returns the group with the largest root mean square error.
pub(crate) fn largest_group(plan: &Plan) -> Option<&GroupError> {
    plan.groups().iter().max_by(|a, b| a.rmse().total_cmp(&b.rmse()))
}

/// Returns a number with few digits that is at least the given one.
fn rounded_up(number: f64) -> f64 {
    let decimals = (f64::from(DIGITS) - 1.0 - number.log10().floor()).clamp(0.0, 400.0);
    Decimal::shortest(number).map_or(number, |exact| exact.ceiling(decimals as u32).rounded_up())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_rounded_up_to_six_digits() {
        for (number, expected) in [
            (0.123_456_1, 0.123_457),
            (0.000_123_456, 0.000_123_456),
            (9.999_999_1, 10.0),
            (123_456.7, 123_457.0),
            (12_345_678.5, 12_345_679.0),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded_up(number), expected, "{number}");
        }
    }
}
