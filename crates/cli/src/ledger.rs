//! `matmech ledger`: creates the ledger of a table and shows its balance.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::budget::BudgetArguments;
use super::output;
use super::release::{UnitArguments, WaitingArguments};
use matmech::release::{Ledger, shortest};
use matmech_app::ledger::LedgerReport;

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

impl LedgerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let (ledger, delta, json) = match &self.action {
            Action::Create { ledger, budget, unit, json } => {
                let (rho, delta) = (budget.rho()?, budget.delta());
                (Ledger::create(ledger, rho, delta, unit.unit(), unit.person())?, None, json)
            }
            Action::Show { ledger, delta, waiting, json } => {
                (Ledger::open(ledger, waiting.waiting())?, *delta, json)
            }
        };
        let report = LedgerReport::of(&ledger, delta)?;
        output::write(&report, *json, |out: &mut dyn Write, report| {
            let [total, spent, left] =
                [report.total_rho, report.spent_rho, report.left_rho].map(shortest);
            let [epsilon, delta] = [report.spent_epsilon, report.delta].map(shortest);
            writeln!(out, "total     rho {total}")?;
            writeln!(
                out,
                "spent     rho {spent} in {} reservations: \
                 together epsilon {epsilon} at delta {delta}",
                report.reservations
            )?;
            if report.spent_new_delta > 0.0 {
                let delta = shortest(report.spent_new_delta);
                writeln!(out, "          delta' {delta} of delta for values that are not public")?;
            }
            writeln!(out, "left      rho {left}")?;
            match &report.person {
                None => writeln!(out, "protects  {}", report.unit)?,
                Some(column) => {
                    writeln!(out, "protects  {}, of a person by `{column}`", report.unit)?;
                }
            }
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
