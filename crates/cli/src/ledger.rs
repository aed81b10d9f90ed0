//! `matmech ledger`: creates the ledger of a table and shows its balance.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::budget::BudgetArguments;
use super::output;
use super::release::{DistinctArgument, UnitArguments, WaitingArguments};
use matmech::counted::counted;
use matmech::release::{Ledger, Persons, shortest};
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
        #[command(flatten)]
        distinct: DistinctArgument,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show the spent and the remaining budget
    Show {
        /// Ledger to read
        #[arg(value_name = "FILE")]
        ledger: PathBuf,
        /// Folder of a release in the ledger: check its files, and show the total of its series
        #[arg(long, value_name = "DIR")]
        release: Option<PathBuf>,
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
        let (ledger, delta, release, json) = match &self.action {
            Action::Create { ledger, budget, unit, distinct, json } => {
                let (rho, delta) = (budget.rho()?, budget.delta());
                let (person, distinct) = (unit.person(), distinct.distinct.as_deref());
                let persons = Persons { column: person.as_deref(), distinct };
                let ledger = Ledger::create_for(ledger, (rho, delta), unit.unit(), persons)?;
                (ledger, None, None, json)
            }
            Action::Show { ledger, release, delta, waiting, json } => {
                let ledger = Ledger::open(ledger, waiting.waiting())?;
                (ledger, *delta, release.as_ref(), json)
            }
        };
        let mut report = LedgerReport::of(&ledger, delta)?;
        if let Some(folder) = release {
            report = report.with_release(&ledger, folder)?;
        }
        output::write(&report, *json, |out: &mut dyn Write, report| {
            let [total, spent, left] =
                [report.total_rho, report.spent_rho, report.left_rho].map(shortest);
            let [epsilon, delta] = [report.spent_epsilon, report.delta].map(shortest);
            writeln!(out, "total     rho {total}")?;
            writeln!(
                out,
                "spent     rho {spent} in {}: together epsilon {epsilon} at delta {delta}",
                counted(report.reservations, ["reservation", "reservations"])
            )?;
            if report.spent_new_delta > 0.0 {
                let delta = shortest(report.spent_new_delta);
                writeln!(out, "          delta' {delta} of delta for values that are not public")?;
            }
            writeln!(out, "left      rho {left}")?;
            let (distinct, person) = (report.distinct.as_deref(), report.person.as_deref());
            writeln!(out, "protects  {}", report.unit.in_words(distinct, person))?;
            if let Some(series) = &report.series {
                writeln!(out, "series    {}; all in this ledger", series.total_in_words())?;
            }
            match report.unsettled {
                0 => Ok(()),
                1 => writeln!(out, "unsettled 1 interrupted run; its reservation counts as spent"),
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
