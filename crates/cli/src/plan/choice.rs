//! What is planned for: a budget, the smallest budget for a target, or several to compare.

use clap::{ArgGroup, Args};

use crate::budget::BudgetArguments;
use matmech::privacy::PrivacyBudget;
use matmech_app::budget::Budget;
use matmech_app::comparison::Axes;
use matmech_app::error_target::{Limit, Target};
use matmech_app::release::DELTA;

/// The budget, or how it is found.
#[derive(Debug, Args)]
#[command(
    mut_group("BudgetArguments", |group| group.required(false)),
    group = ArgGroup::new("choice").required(true).multiple(true).args([
        "privacy_cost", "epsilon", "rho", "mu", "target_rmse", "target_interval", "compare",
    ]),
    group = ArgGroup::new("target").args(["target_rmse", "target_interval"])
        .conflicts_with_all(["BudgetArguments", "compare"])
)]
pub(super) struct ChoiceArguments {
    #[command(flatten)]
    budget: BudgetArguments,
    /// Find the smallest budget whose RMSE is at most X
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    target_rmse: Option<f64>,
    /// Find the smallest budget whose 95 % intervals are at most ± X in the group of queries with
    /// the largest RMSE
    ///
    /// X is 1.96 times that RMSE: the half-length of the interval of a query with this error.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    target_interval: Option<f64>,
    /// Compare the expected errors of all combinations, e.g. epsilon=0.5,1,2 unit-rows=1,2,3
    ///
    /// The keys are epsilon, delta, rho, unit-rows (maximum records per person) and planner. What is
    /// not compared is given by the other options.
    #[arg(long, value_name = "KEY=VALUE,…", num_args = 1..)]
    compare: Option<Vec<String>>,
    /// δ for which ε is stated, with --target-* and --compare [default: 1e-9]
    #[arg(
        long,
        value_name = "DELTA",
        allow_negative_numbers = true,
        conflicts_with = "BudgetArguments"
    )]
    at_delta: Option<f64>,
    /// Maximum records per person, with --target-* [default: 1]
    #[arg(
        long,
        value_name = "K",
        requires = "target",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    unit_rows: Option<u32>,
}

/// What to plan for.
pub(super) enum Choice {
    /// One budget.
    Budget(PrivacyBudget),
    /// The smallest budget for a target.
    Target(Target),
    /// The values to compare, with the budget of the other options.
    Compare(Axes, Budget),
}

impl ChoiceArguments {
    /// Returns what to plan for.
    ///
    /// # Errors
    /// An invalid budget, or values that cannot be compared.
    pub(super) fn choice(&self) -> matmech::Result<Choice> {
        let limit = self.target_rmse.map(Limit::Rmse);
        if let Some(limit) = limit.or(self.target_interval.map(Limit::Interval)) {
            let (delta, unit_rows) = (self.delta(), self.unit_rows.unwrap_or(1));
            return Ok(Choice::Target(Target { limit, delta, unit_rows }));
        }
        if let Some(texts) = &self.compare {
            return Ok(Choice::Compare(Axes::parse(texts)?, self.budget.given()?));
        }
        let budget = self.budget.budget()?;
        // An invalid budget is found before a file is read.
        budget.privacy_cost()?;
        Ok(Choice::Budget(budget))
    }

    /// Returns δ for an ε without one.
    pub(super) fn delta(&self) -> f64 {
        self.at_delta.unwrap_or(DELTA)
    }
}
