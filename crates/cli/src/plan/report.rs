//! The reports of `matmech plan` as text.

use std::io::Write;

use crate::bounds::{at_least_decimals, at_most, at_most_decimals};
use crate::output;
use matmech::counted::counted;
use matmech::release::{in_digits, shortest};
use matmech_app::budget::Budget;
use matmech_app::comparison::Comparison;
use matmech_app::error_target::{FoundBudget, Limit};
use matmech_app::plan::{GroupReport, PlanReport, SearchReport};

pub(super) fn print(out: &mut dyn Write, report: &PlanReport) -> std::io::Result<()> {
    writeln!(out, "planner       {}", report.planner)?;
    let queries = output::queries_in(report.queries, report.groups.len());
    writeln!(out, "queries       {queries}")?;
    if let Some(found) = &report.found_budget {
        print_found(out, found)?;
    }
    writeln!(
        out,
        "privacy cost  {} ({} recomputed)",
        report.privacy_cost, report.recomputed_privacy_cost
    )?;
    writeln!(out, "neighbours    {}", report.neighbours)?;
    writeln!(out, "RMSE          {}", in_digits(report.rmse))?;
    if let Some(bound) = report.lower_bound_rmse {
        let (lower, gap) = (at_least_decimals(bound, 6), at_most(report.rmse / bound - 1.0, 2));
        writeln!(out, "lower bound   {lower}   certified; gap {gap}")?;
    }
    if let Some(objective) = &report.objective {
        writeln!(out, "objective     {}: {}", objective.objective, objective.in_words())?;
    }
    if let Some(bound) = report.global_lower_bound_rmse {
        let error = report.global_lower_bound_error.unwrap_or_default();
        writeln!(
            out,
            "global bound  {}   over all matrix mechanisms; {} % below the RMSE \
             (quadrature error {})",
            at_least_decimals(bound, 6),
            at_most_decimals(100.0 * (1.0 - bound / report.rmse), 3),
            at_most(error, 0)
        )?;
    } else if let Some(reason) = &report.global_lower_bound_note {
        writeln!(out, "global bound  none: {reason}")?;
    }
    if let Some(search) = &report.measure_search {
        let SearchReport { evaluations, classes, uniform_rmse, .. } = search;
        writeln!(
            out,
            "measure       {:?} after {evaluations} evaluations, {classes} distinct measures; \
             RMSE {uniform_rmse:.6} with the uniform one",
            search.status
        )?;
    }
    writeln!(out, "measurements  {}, from {}", report.residuals, {
        counted(report.solves, ["distinct problem", "distinct problems"])
    })?;
    writeln!(out, "time          {:.3} s", report.seconds)?;
    if let Some(peak) = report.peak_mb {
        writeln!(out, "peak memory   {peak:.0} MB")?;
    }
    let describe = |group: &GroupReport| {
        let description = format!("{} on {}", group.family, group.attributes.join(", "));
        (group.rmse, group.queries.to_string(), description)
    };
    output::print_groups(out, report.groups.iter().map(describe))
}

/// Prints the budget for a target, and the options of a release with it.
fn print_found(out: &mut dyn Write, found: &FoundBudget) -> std::io::Result<()> {
    match found.target {
        Limit::Rmse(most) => writeln!(out, "target        RMSE at most {}", shortest(most))?,
        Limit::Interval(most) => writeln!(
            out,
            "target        95 % intervals of the worst group at most ± {}",
            shortest(most)
        )?,
    }
    let [rho, delta] = [found.rho, found.delta].map(shortest);
    let rows = match found.unit_rows {
        1 => String::new(),
        rows => format!(" --unit-rows {rows}"),
    };
    match found.epsilon.map(shortest) {
        Some(epsilon) => {
            writeln!(out, "budget        rho {rho}; epsilon {epsilon} at delta {delta}")?;
            writeln!(
                out,
                "use           --rho {rho}{rows}, or --epsilon {epsilon} --delta {delta}{rows}"
            )?;
        }
        None => {
            writeln!(out, "budget        rho {rho}; epsilon 0 at delta {delta}")?;
            writeln!(out, "use           --rho {rho}{rows}")?;
        }
    }
    writeln!(
        out,
        "worst group   {} on {}: RMSE {}, 95 % interval ± {}",
        found.largest_family,
        found.largest_group.join(", "),
        in_digits(found.largest_group_rmse),
        in_digits(found.largest_interval)
    )
}

/// Prints the errors of combinations, one per line.
pub(super) fn print_comparison(
    out: &mut dyn Write,
    comparison: &Comparison,
) -> std::io::Result<()> {
    writeln!(out, "queries       {}", comparison.queries)?;
    writeln!(
        out,
        "worst         RMSE of the group where it is largest; ± 95 % is 1.96 times that"
    )?;
    let header = ["planner", "budget", "rows", "RMSE", "worst", "± 95 %", "worst group"];
    let mut table = vec![header.map(str::to_owned)];
    table.extend(comparison.combinations.iter().map(|combination| {
        [
            combination.planner.clone(),
            in_words(&combination.budget),
            combination.unit_rows.to_string(),
            format!("{:.6}", combination.rmse),
            format!("{:.6}", combination.largest_group_rmse),
            format!("{:.6}", combination.largest_interval),
            combination.largest_group.clone(),
        ]
    }));
    let widths: [usize; 7] = std::array::from_fn(|column| {
        table.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    for row in &table {
        for (column, (text, width)) in row.iter().zip(widths).enumerate() {
            match column {
                0 | 1 => write!(out, "{text:<width$}  ")?,
                6 => writeln!(out, "{text}")?,
                _ => write!(out, "{text:>width$}  ")?,
            }
        }
    }
    Ok(())
}

/// Returns a budget as text.
fn in_words(budget: &Budget) -> String {
    let notions = [
        ("epsilon", budget.epsilon),
        ("rho", budget.rho),
        ("mu", budget.mu),
        ("privacy cost", budget.privacy_cost),
    ];
    let text = |(name, value): (&str, Option<f64>)| Some(format!("{name} {}", shortest(value?)));
    let named = notions.into_iter().find_map(text).unwrap_or_default();
    let delta = budget.delta.map(|delta| format!(", delta {}", shortest(delta)));
    named + &delta.unwrap_or_default()
}
