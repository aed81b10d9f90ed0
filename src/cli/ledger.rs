//! `matmech ledger`: creates the ledger of a table and shows its balance.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::budget::BudgetArguments;
use super::output;
use super::release::{DELTA, UnitArguments, WaitingArguments};
use matmech::privacy::{PrivacyUnit, Rho, fine_noise};
use matmech::release::{Ledger, as_in_json};

/// Arguments of `matmech ledger`.
#[derive(Debug, Args)]
pub(super) struct LedgerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a ledger with the total budget for all releases of one table
    Create {
        /// Ledger to create; must not exist
        #[arg(value_name = "FILE")]
        ledger: PathBuf,
        #[command(flatten)]
        budget: BudgetArguments,
        #[command(flatten)]
        unit: UnitArguments,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show the spent and the remaining budget
    Show {
        /// Ledger to read
        #[arg(value_name = "FILE")]
        ledger: PathBuf,
        /// δ at which the spent ε is shown [default: the δ of the budget, or 1e-9]
        #[arg(long)]
        delta: Option<f64>,
        #[command(flatten)]
        waiting: WaitingArguments,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Serialize)]
struct Report {
    total_rho: f64,
    spent_rho: f64,
    /// ε of all reservations together, rounded up.
    spent_epsilon: f64,
    delta: f64,
    left_rho: f64,
    unit: PrivacyUnit,
    reservations: usize,
    unsettled: usize,
}

impl LedgerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let (ledger, delta, json) = match &self.action {
            Action::Create { ledger, budget, unit, json } => {
                (Ledger::create(ledger, budget.rho()?, budget.delta(), unit.unit())?, None, json)
            }
            Action::Show { ledger, delta, waiting, json } => {
                (Ledger::open(ledger, waiting.waiting())?, *delta, json)
            }
        };
        let balance = ledger.balance()?;
        let delta = delta.or(balance.delta).unwrap_or(DELTA);
        // `Rho` must be positive: nothing spent means ε = 0.
        let spent_epsilon = match Rho::new(balance.spent) {
            Ok(spent) => fine_noise::epsilon_rounded_up(spent, delta)?,
            Err(_) => 0.0,
        };
        let report = Report {
            total_rho: balance.total.get(),
            spent_rho: balance.spent,
            spent_epsilon,
            delta,
            left_rho: balance.left,
            unit: balance.unit,
            reservations: balance.reservations,
            unsettled: balance.unsettled,
        };
        output::write(&report, *json, |out: &mut dyn Write, report| {
            let [total, spent, left] =
                [report.total_rho, report.spent_rho, report.left_rho].map(as_in_json);
            let [epsilon, delta] = [report.spent_epsilon, report.delta].map(as_in_json);
            writeln!(out, "total     rho {total}")?;
            writeln!(
                out,
                "spent     rho {spent} in {} reservations: \
                 together epsilon {epsilon} at delta {delta}",
                report.reservations
            )?;
            writeln!(out, "left      rho {left}")?;
            writeln!(out, "protects  {}", report.unit)?;
            match report.unsettled {
                0 => Ok(()),
                runs => {
                    writeln!(
                        out,
                        "unsettled {runs} interrupted runs; their reservations count as spent"
                    )
                }
            }
        })
    }
}
