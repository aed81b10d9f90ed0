//! Proves the lower bounds of tables again from their certificates, without any solver.

use std::collections::HashMap;
use std::path::Path;

use matmech::named_file::relative_to;
use rayon::prelude::*;

use super::check::{Check, Verified, in_short};
use crate::columns;
use crate::config::{Config, Profile};
use crate::engine::{ExperimentPlan, PlannedCell, read_certificates};
use crate::error::Result;
use crate::experiment::{CellCertificate, Experiment, Row};
use crate::layout::{Results, shown};
use crate::remembered::Remembered;
use crate::table::Table;

/// Relative amount by which the 32-bit weights of a certificate may lower its bound.
const BOUND_ROUNDING: f64 = 1e-9;

/// Relative amount by which 32-bit weights may raise the error of their strategy.
const STRATEGY_ROUNDING: f64 = 1e-6;

/// What cells prove, by their address: several methods have the bound of one cell.
type Known = Remembered<String, Vec<Row>>;

/// A lower bound of a table.
struct Claim {
    metric: String,
    value: f64,
    lower_bound: f64,
}

/// Checks the certificates of all tables. Cells are independent, and run on all cores.
///
/// # Errors
/// A config whose grid is refused.
pub(super) fn check(
    root: &Path,
    configs: &[Config],
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
    verified: &mut Verified,
) -> Result<()> {
    let results = Results::new(root, profile);
    let mut tasks = Vec::new();
    let mut plans = Vec::new();
    for config in configs {
        plans.push(ExperimentPlan::new(config, experiments, profile)?);
    }
    for plan in &plans {
        let experiment = &plan.config.experiment;
        let file = results.table(experiment);
        let Ok(table) = Table::read(&file, &shown(root, &file), "run the experiment again") else {
            continue;
        };
        let claims = claims(&table, plan.experiment.lower_bound_method());
        if claims.is_empty() {
            continue;
        }
        let file = results.certificates(experiment);
        match read_certificates(&file) {
            // Bounds in closed form need no file.
            Ok(certificates) => tasks.push((plan, claims, certificates)),
            Err(error) => verified.add(Check::Proofs, experiment, error.to_string()),
        }
    }
    let cells: Vec<_> = tasks
        .iter()
        .flat_map(|(plan, claims, certificates)| {
            plan.cells.iter().filter_map(move |cell| {
                Some((*plan, cell, claims.get(&cell.address)?, certificates))
            })
        })
        .collect();
    let known = Remembered::new(cells.len());
    let outcomes: Vec<(usize, Vec<String>)> = cells
        .par_iter()
        .map(|(plan, cell, claims, certificates)| {
            let none = HashMap::new();
            let certificates = certificates.as_ref().unwrap_or(&none);
            let (proved, refused) = judged(plan, cell, claims, certificates, &known);
            (proved, refused.into_iter().map(|why| format!("{}: {why}", cell.address)).collect())
        })
        .collect();
    let mut by_table: Vec<(String, bool, Vec<String>)> = Vec::new();
    for ((plan, _, _, certificates), (proved, refused)) in cells.iter().zip(outcomes) {
        verified.proved += proved;
        if refused.is_empty() {
            continue;
        }
        let experiment = &plan.config.experiment;
        match by_table.last_mut().filter(|(known, ..)| known == experiment) {
            Some((.., all)) => all.extend(refused),
            None => by_table.push((experiment.clone(), certificates.is_some(), refused)),
        }
    }
    for (experiment, has_file, refused) in by_table {
        if has_file {
            verified.add(Check::Proofs, &experiment, in_short(&refused));
        } else {
            let file = shown(root, &results.certificates(&experiment));
            let found = format!("{} cells with lower bounds to prove, no {file}", refused.len());
            verified.add(Check::NoProof, &experiment, found);
        }
    }
    Ok(())
}

/// Returns the lower bounds of a table by cell. A value of the method that bounds all others is
/// itself a lower bound.
fn claims(table: &Table, bound: Option<&str>) -> HashMap<String, Vec<Claim>> {
    let mut claims: HashMap<String, Vec<Claim>> = HashMap::new();
    let mut last_of_bound = String::new();
    for row in 0..table.len() {
        let cell = table.field(columns::CELL, row);
        let Some(value) = table.number(columns::VALUE, row) else { continue };
        let first_of_bound =
            Some(table.field(columns::METHOD, row)) == bound && last_of_bound != cell;
        let lower_bound = match table.number(columns::LOWER_BOUND, row) {
            Some(lower_bound) => lower_bound,
            // The first row of a bound is its value.
            None if first_of_bound => {
                last_of_bound = cell.to_owned();
                value
            }
            None => continue,
        };
        let metric = table.field(columns::METRIC, row).to_owned();
        claims.entry(cell.to_owned()).or_default().push(Claim { metric, value, lower_bound });
    }
    claims
}

/// Returns the number of proved bounds of a cell, and what is wrong with the others.
fn judged(
    plan: &ExperimentPlan<'_>,
    cell: &PlannedCell,
    claims: &[Claim],
    certificates: &HashMap<String, CellCertificate>,
    known: &Known,
) -> (usize, Vec<String>) {
    let rows = match proved_rows(plan, cell, certificates, known) {
        Ok(rows) => rows,
        Err(error) => return (0, vec![error.to_string()]),
    };
    let (mut proved, mut refused) = (0, Vec::new());
    for claim in claims {
        let row = rows.iter().find(|row| row.metric == claim.metric);
        match row.map(|row| holds(row, claim)) {
            Some(Ok(())) => proved += 1,
            Some(Err(why)) => refused.push(why),
            None => refused.push(format!("no proof of the lower bound of {}", claim.metric)),
        }
    }
    (proved, refused)
}

/// Returns the rows that the certificate of a cell proves, or that of the method that bounds it.
fn proved_rows(
    plan: &ExperimentPlan<'_>,
    cell: &PlannedCell,
    certificates: &HashMap<String, CellCertificate>,
    known: &Known,
) -> Result<Vec<Row>> {
    let proved = |cell: &PlannedCell| {
        known.get(cell.address.clone(), || {
            let certificate = certificates.get(&cell.address).cloned().unwrap_or_default();
            relative_to(plan.config.folder(), || plan.experiment.prove(&cell.cell, &certificate))
        })
    };
    let rows = proved(cell)?;
    let Some(method) = plan.experiment.bounded_by(&cell.cell.method).filter(|_| rows.is_empty())
    else {
        return Ok(rows.as_ref().clone());
    };
    let other =
        |other: &&PlannedCell| other.cell.key == cell.cell.key && other.cell.method == method;
    let Some(bounding) = plan.cells.iter().find(other) else {
        return Ok(Vec::new());
    };
    let mut rows = proved(bounding)?.as_ref().clone();
    // The strategy of the bound is another method's.
    rows.iter_mut().for_each(|row| row.value = None);
    Ok(rows)
}

/// Compares what a certificate proves with the table.
fn holds(row: &Row, claim: &Claim) -> std::result::Result<(), String> {
    let Claim { metric, value, lower_bound } = claim;
    let proved = row.lower_bound.unwrap_or(f64::NAN);
    // A bound of the table is capped at its value, which rounding can undercut.
    if proved.is_nan() || proved < lower_bound * (1.0 - BOUND_ROUNDING) {
        return Err(format!("{metric}: lower bound {proved} instead of {lower_bound}"));
    }
    let gap = (value / lower_bound - 1.0).max(0.0);
    match row.value {
        Some(error) if error.is_nan() || error > value * (1.0 + gap + STRATEGY_ROUNDING) => {
            Err(format!("{metric}: a strategy of {error} instead of {value}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_below_and_strategies_above_the_table_are_refused() {
        let claim = Claim { metric: "error".to_owned(), value: 2.0, lower_bound: 1.9 };
        let holds = |lower, error| holds(&Row::proved("error", lower, error), &claim);
        assert!(holds(1.9, None).is_ok() && holds(1.95, Some(2.0)).is_ok());
        assert!(holds(1.9 * (1.0 - 1e-10), Some(2.05)).is_ok(), "rounding, and within the gap");
        assert!(holds(1.9 * (1.0 - 1e-8), None).is_err());
        assert!(holds(1.9, Some(2.2)).is_err());
        assert!(holds(f64::NAN, None).is_err() && holds(1.9, Some(f64::NAN)).is_err());
    }
}
