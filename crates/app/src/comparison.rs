//! The expected errors of combinations of budgets, units and planners.

use serde::Serialize;

use super::budget::Budget;
use super::error_target::{NORMAL_QUANTILE, largest_group};
use matmech::call::nearest;
use matmech::error::{Error, Result};
use matmech::planner::{GroupError, Plan, Planner};
use matmech::privacy::PrivacyCost;
use matmech::workload::{GroupedWorkload, QueryCount};

/// The values to compare; a list may be empty.
#[derive(Debug, Default)]
pub struct Axes {
    /// ε of (ε, δ)-differential privacy.
    pub epsilon: Vec<f64>,
    /// δ of (ε, δ)-differential privacy.
    pub delta: Vec<f64>,
    /// ρ of zero-concentrated differential privacy.
    pub rho: Vec<f64>,
    /// Maximum records per person.
    pub unit_rows: Vec<u32>,
    /// Planners, with their options.
    pub planners: Vec<String>,
}

/// The output of `plan --compare --json`.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The number of queries.
    pub queries: QueryCount,
    /// The combinations, in the order of the values.
    pub combinations: Vec<Combination>,
}

/// The expected errors of a combination.
#[derive(Debug, Serialize)]
pub struct Combination {
    /// The planner, as written.
    pub planner: String,
    /// The budget of a person.
    pub budget: Budget,
    /// Maximum records per person.
    pub unit_rows: u32,
    /// The root mean square error √(Σ weight · variance / queries).
    pub rmse: f64,
    /// The largest root mean square error of a group.
    pub largest_group_rmse: f64,
    /// The half-length of a 95 % interval for a query with that error.
    pub largest_interval: f64,
    /// The attributes of the group with the largest error.
    pub largest_group: String,
}

/// The keys of [`Axes::parse`].
const KEYS: [&str; 5] = ["epsilon", "delta", "rho", "unit-rows", "planner"];

const REMEDY: &str = "write e.g. --compare epsilon=0.5,1,2 unit-rows=1,2,3";

impl Axes {
    /// Parses texts of the form `KEY=VALUE,VALUE,…`.
    ///
    /// # Errors
    /// An unknown or repeated key, or a value that is no number of its kind.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self> {
        let mut axes = Axes::default();
        let mut seen = Vec::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let refuse = |expected: String, found: String| {
                Err(Error::bad_input("option --compare", expected, found, REMEDY))
            };
            let Some((key, values)) = text.split_once('=') else {
                return refuse("KEY=VALUE,VALUE,…".into(), format!("`{text}`"));
            };
            let key = key.trim();
            if !KEYS.contains(&key) {
                let near = nearest(key, &KEYS).map(|near| format!("; did you mean `{near}`?"));
                let found = format!("`{key}`{}", near.unwrap_or_default());
                return refuse(format!("a key among {}", KEYS.join(", ")), found);
            }
            if seen.contains(&key) {
                return refuse("each key once".into(), format!("`{key}` twice"));
            }
            seen.push(key);
            match key {
                "epsilon" => axes.epsilon = numbers(key, values)?,
                "delta" => axes.delta = numbers(key, values)?,
                "rho" => axes.rho = numbers(key, values)?,
                "unit-rows" => axes.unit_rows = numbers(key, values)?,
                _ => axes.planners = items(values).into_iter().map(str::to_owned).collect(),
            }
        }
        Ok(axes)
    }

    /// Returns the planners, or the given one if there are none.
    ///
    /// # Errors
    /// An unknown planner or option.
    pub fn planners(
        &self,
        otherwise: &str,
        flags: &[(&str, Option<&str>)],
    ) -> Result<Vec<(String, Box<dyn Planner>)>> {
        let named = |text: &str| Ok((text.to_owned(), matmech::planner::with_flags(text, flags)?));
        match self.planners.as_slice() {
            [] => Ok(vec![named(otherwise)?]),
            texts => texts.iter().map(|text| named(text)).collect(),
        }
    }

    /// Returns the budgets: those of the values, or the given one if there are none.
    ///
    /// ε without δ has the given δ.
    ///
    /// # Errors
    /// A combination that is not a budget in exactly one notion, or an invalid number.
    pub fn budgets(&self, base: Budget, delta: f64) -> Result<Vec<(Budget, PrivacyCost)>> {
        let mut budgets = vec![base];
        let mut vary = |values: &[f64], set: fn(&mut Budget, f64)| {
            if values.is_empty() {
                return;
            }
            let varied = |budget: &Budget| {
                let budget = *budget;
                values.iter().map(move |value| {
                    let mut budget = budget;
                    set(&mut budget, *value);
                    budget
                })
            };
            budgets = budgets.iter().flat_map(varied).collect();
        };
        vary(&self.rho, |budget, rho| budget.rho = Some(rho));
        vary(&self.epsilon, |budget, epsilon| budget.epsilon = Some(epsilon));
        vary(&self.delta, |budget, delta| budget.delta = Some(delta));
        let complete = |mut budget: Budget| {
            if budget.epsilon.is_some() {
                budget.delta = budget.delta.or(Some(delta));
            }
            Ok((budget, budget.budget()?.privacy_cost()?))
        };
        budgets.into_iter().map(complete).collect()
    }
}

/// Returns the expected errors of all combinations. Every planner plans once.
///
/// # Errors
/// As [`Planner::plan`], or records per person that are not positive.
pub fn compare(
    workload: &GroupedWorkload,
    axes: &Axes,
    planners: &[(String, Box<dyn Planner>)],
    budgets: &[(Budget, PrivacyCost)],
) -> Result<Comparison> {
    let rows = if axes.unit_rows.is_empty() { &[1][..] } else { &axes.unit_rows };
    if rows.contains(&0) {
        return Err(Error::bad_input("unit-rows of --compare", "at least 1", "0", REMEDY));
    }
    let mut combinations = Vec::new();
    for (name, planner) in planners {
        let unit = planner.plan(workload, PrivacyCost::UNIT)?;
        for (budget, cost) in budgets {
            for &unit_rows in rows {
                let cost = PrivacyCost::new(cost.get() / f64::from(unit_rows).powi(2))?;
                let plan = unit.clone().at_privacy_cost(cost)?;
                combinations.push(combination(name, *budget, unit_rows, &plan));
            }
        }
    }
    Ok(Comparison { queries: workload.count(), combinations })
}

fn combination(planner: &str, budget: Budget, unit_rows: u32, plan: &Plan) -> Combination {
    let largest = largest_group(plan);
    let largest_group_rmse = largest.map_or(0.0, GroupError::rmse);
    Combination {
        planner: planner.to_owned(),
        budget,
        unit_rows,
        rmse: plan.rmse(),
        largest_group_rmse,
        largest_interval: NORMAL_QUANTILE * largest_group_rmse,
        largest_group: largest.map_or(String::new(), |group| plan.schema().names(group.attributes)),
    }
}

/// Returns the numbers of a list.
fn numbers<T: std::str::FromStr>(key: &str, values: &str) -> Result<Vec<T>> {
    let number = |text: &str| {
        text.parse().map_err(|_| {
            let expected = if key == "unit-rows" { "whole numbers" } else { "numbers" };
            Error::bad_input(
                format!("{key} of --compare"),
                format!("{expected}, separated by commas"),
                format!("`{text}`"),
                REMEDY,
            )
        })
    };
    items(values).into_iter().map(number).collect()
}

/// Returns the items of a list, which are separated by commas outside parentheses.
fn items(values: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let separates = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    values.split(separates).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_lists_of_values() {
        let axes = Axes::parse(&["planner=anova(measure=uniform, objective=max),hdmm"]).unwrap();
        assert_eq!(axes.planners, ["anova(measure=uniform, objective=max)", "hdmm"]);
        let axes = Axes::parse(&["epsilon=0.5,1", "delta=1e-9,1e-6"]).unwrap();
        let budgets = axes.budgets(Budget::default(), 1e-3).unwrap();
        let pairs: Vec<_> = budgets.iter().map(|(b, _)| (b.epsilon, b.delta)).collect();
        assert_eq!(pairs[1], (Some(0.5), Some(1e-6)));
        assert_eq!(pairs.len(), 4);
        let given = Budget { rho: Some(0.5), ..Budget::default() };
        assert_eq!(Axes::default().budgets(given, 1e-9).unwrap()[0].1.get(), 1.0);
        assert!(axes.budgets(given, 1e-9).is_err());
        assert!(Axes::default().budgets(Budget::default(), 1e-9).is_err());
    }

    #[test]
    fn unknown_keys_and_values_are_refused() {
        for (text, part) in [
            ("epsilom=1", "did you mean `epsilon`?"),
            ("epsilon", "KEY=VALUE"),
            ("epsilon=1,x", "`x`"),
            ("unit-rows=1.5", "whole numbers"),
        ] {
            let message = Axes::parse(&[text]).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(Axes::parse(&["rho=1", "rho=2"]).is_err());
    }
}
