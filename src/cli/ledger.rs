//! `matmech ledger`: creates the ledger of a table, and shows what is left.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::budget::BudgetArguments;
use super::output;
use super::release::UnitArguments;
use crate::privacy::PrivacyUnit;
use crate::release::Ledger;

/// Arguments of `matmech ledger`.
#[derive(Debug, Args)]
pub(super) struct LedgerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a ledger with the total budget that all releases of one table may spend together
    Create {
        /// The ledger, which must not exist
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
    /// Show what is left
    Show {
        /// The ledger
        #[arg(value_name = "FILE")]
        ledger: PathBuf,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Serialize)]
struct Report {
    total_rho: f64,
    spent_rho: f64,
    left_rho: f64,
    unit: PrivacyUnit,
    reservations: usize,
    unsettled: usize,
}

impl LedgerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let (ledger, json) = match &self.action {
            Action::Create { ledger, budget, unit, json } => {
                (Ledger::create(ledger, budget.rho()?, unit.unit())?, json)
            }
            Action::Show { ledger, json } => (Ledger::open(ledger)?, json),
        };
        let balance = ledger.balance()?;
        let report = Report {
            total_rho: balance.total.get(),
            spent_rho: balance.spent,
            left_rho: balance.left,
            unit: balance.unit,
            reservations: balance.reservations,
            unsettled: balance.unsettled,
        };
        output::write(&report, *json, |out: &mut dyn Write, report| {
            writeln!(out, "total     rho {:e}", report.total_rho)?;
            writeln!(out, "spent     rho {:e} in {} reservations", report.spent_rho, report.reservations)?;
            writeln!(out, "left      rho {:e}", report.left_rho)?;
            writeln!(out, "protects  {}", report.unit)?;
            match report.unsettled {
                0 => Ok(()),
                some => {
                    writeln!(out, "unsettled {some}: runs that did not come to their end; what they reserved is spent")
                }
            }
        })
    }
}
