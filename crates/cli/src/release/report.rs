//! The report of `matmech release` as text.

use std::io::Write;

use crate::output;
use matmech::counted::counted;
use matmech::data::ValuesOutside;
use matmech::release::{Series, at_most, in_digits, shortest};
use matmech_app::release::{Group, ReleaseReport, StagedForecast, StagedReport, UnbiasedReport};

const INTEGERS: [&str; 2] = ["noisy integer", "noisy integers"];
const QUESTIONS: [&str; 2] = ["question", "questions"];
const BYTES: [&str; 2] = ["byte", "bytes"];

pub(super) fn print(out: &mut dyn Write, report: &ReleaseReport) -> std::io::Result<()> {
    match report {
        ReleaseReport::Unbiased(report) => print_unbiased(out, report),
        ReleaseReport::Staged(report) => print_staged(out, report),
    }
}

fn print_unbiased(out: &mut dyn Write, report: &UnbiasedReport) -> std::io::Result<()> {
    let [epsilon, delta, cost, rho] =
        [report.epsilon, report.delta, report.rho, report.rho_reserved].map(shortest);
    let attained =
        if report.rho_is_exact_sum { "attained by some neighbours" } else { "an upper bound" };
    writeln!(out, "planner       {}", report.planner)?;
    let queries = output::queries_in(&report.queries, report.groups.len());
    writeln!(out, "queries       {queries}")?;
    writeln!(out, "privacy       epsilon {epsilon} at delta {delta}; rho {rho}")?;
    writeln!(out, "cost          rho {cost}, {attained}")?;
    writeln!(out, "protects      {}", report.unit)?;
    print_series(out, report.series.as_ref())?;
    let rmse = in_digits(report.rmse);
    writeln!(out, "RMSE          {rmse}   exact; estimates are unbiased")?;
    let excess = report.rounded_variance / report.planned_variance - 1.0;
    writeln!(out, "rounding      {excess:.1e} relative increase of the total variance")?;
    writeln!(
        out,
        "measurements  {}, {}",
        counted(report.measurements, ["subspace", "subspaces"]),
        counted(report.noisy_integers, INTEGERS)
    )?;
    match &report.out {
        None => {
            let UnbiasedReport { expected_seconds, expected_mb, expected_bytes_per_record, .. } =
                report;
            writeln!(
                out,
                "expected      {expected_seconds:.1} s, {expected_mb:.0} MB and \
                 {} per record",
                counted(expected_bytes_per_record, BYTES)
            )?;
            print_outside(out, &report.values_outside)?;
            writeln!(out, "dry run       no data read, nothing spent or written")?;
        }
        Some(folder) => writeln!(out, "written       {folder}")?,
    }
    let describe = |group: &Group| {
        let description = format!("{} on {}", group.family, group.attributes);
        (group.rmse, group.queries.clone(), description)
    };
    output::print_groups(out, report.groups.iter().map(describe))
}

fn print_series(out: &mut dyn Write, series: Option<&Series>) -> std::io::Result<()> {
    match series {
        Some(series) => writeln!(out, "series        {}", series.total_in_words()),
        None => Ok(()),
    }
}

fn print_staged(out: &mut dyn Write, report: &StagedReport) -> std::io::Result<()> {
    let [epsilon, delta, rho] = [report.epsilon, report.delta, report.rho].map(shortest);
    writeln!(out, "mechanism     {}", report.mechanism)?;
    writeln!(out, "queries       {}", output::queries_in(&report.queries, report.groups))?;
    writeln!(out, "privacy       epsilon {epsilon} at delta {delta}; rho {rho}, an upper bound")?;
    writeln!(out, "protects      {}", report.unit)?;
    print_series(out, report.series.as_ref())?;
    writeln!(
        out,
        "first stage   {}, {}",
        counted(report.first_questions, QUESTIONS),
        counted(report.first_integers, INTEGERS)
    )?;
    writeln!(
        out,
        "all stages    at most {}, {}",
        counted(report.max_questions, QUESTIONS),
        counted(report.max_integers, INTEGERS)
    )?;
    let bound = match (report.mean_error_bound_95, report.mean_error_bound_95_per_record) {
        (Some(bound), Some(share)) => {
            format!("at most {} records, {} per record", at_most(bound, 6), at_most(share, 6))
        }
        (Some(bound), None) => format!("at most {} records", at_most(bound, 6)),
        (None, _) if report.out.is_some() => "no certificate of the error".to_owned(),
        (None, _) => "depends on the data".to_owned(),
    };
    let marginals = counted(report.marginals, ["marginal", "marginals"]);
    writeln!(out, "mean L1 error {bound}, of {marginals} (95 %)")?;
    if let Some(forecast) = &report.forecast {
        print_forecast(out, forecast)?;
    }
    if let Some(synthetic) = &report.synthetic {
        let bound = synthetic.errors().map_or_else(
            || "no certificate of the error".to_owned(),
            |errors| {
                let bound = at_most(errors.bounds.mean_error_bound_95, 6);
                format!("mean L1 error at most {bound} records")
            },
        );
        let records = counted(synthetic.count(), ["record", "records"]);
        writeln!(out, "synthetic     {records}, {bound} (95 %)")?;
    }
    writeln!(
        out,
        "published     {marginals} with {}",
        counted(report.published_cells, ["cell", "cells"])
    )?;
    if report.out.is_none() {
        let StagedReport { expected_mb, expected_bytes_per_record, .. } = report;
        writeln!(
            out,
            "expected      at most {expected_mb:.0} MB and {} per record",
            counted(expected_bytes_per_record, BYTES)
        )?;
        print_outside(out, &report.values_outside)?;
    }
    match &report.out {
        None => writeln!(out, "dry run       no data read, nothing spent or written"),
        Some(folder) => writeln!(out, "written       {folder}"),
    }
}

/// Prints the error on made-up records, and what they are.
fn print_forecast(out: &mut dyn Write, forecast: &StagedForecast) -> std::io::Result<()> {
    let StagedForecast { records, reference, runs, seed, .. } = forecast;
    writeln!(
        out,
        "forecast      mean L1 error about {:.1} records, {:.6} per record: the mean of {runs} \
         simulations",
        forecast.mean_l1_error, forecast.mean_l1_error_per_record
    )?;
    writeln!(
        out,
        "              for a made-up table of {records} records with independent attributes \
         ({reference}; seed {seed}), not for yours"
    )
}

/// Prints what happens to values outside the schema, attribute by attribute.
fn print_outside(out: &mut dyn Write, attributes: &[ValuesOutside]) -> std::io::Result<()> {
    for ValuesOutside { attribute, handling } in attributes {
        writeln!(out, "outside       {attribute}: {handling}")?;
    }
    Ok(())
}
