//! The table of answers: one row per query, with its exact standard error and its intervals.

use std::fs::File;
use std::path::Path;

use super::estimates::Estimates;
use super::query_words::QueryWords;
use super::reach::Reach;
use super::statement::decimals_of;
use crate::error::{Error, Result};
use crate::workload::{GroupQueries, GroupedWorkload, QueryGroup};

/// The columns of every table of answers, which say what the query of a row is.
const QUERY_COLUMNS: [&str; 4] = ["attributes", "family", "query", "cells"];

/// The other columns of `answers.csv`.
const COLUMNS: [&str; 7] =
    ["estimate", "standard_error", "low_95", "high_95", "low_95_all", "high_95_all", "weight"];

/// The answer to a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The unbiased estimate.
    pub estimate: f64,
    /// Its exact standard error.
    pub standard_error: f64,
}

/// Returns all answers of a group, in the order of the family's rows.
///
/// # Errors
/// As [`Estimates::answers`].
pub fn of_group(estimates: &Estimates, group: &QueryGroup) -> Result<Vec<Answer>> {
    let (answers, variances) = (estimates.answers(group)?, estimates.variances(group)?);
    if answers.len() != variances.len() {
        return Err(Error::bug("answers", format!("{} variances", answers.len()), variances.len()));
    }
    let answer = |(estimate, variance): (f64, f64)| match variance.max(0.0).sqrt() {
        0.0 => Answer { estimate: known(estimate), standard_error: 0.0 },
        standard_error => Answer { estimate, standard_error },
    };
    Ok(answers.into_iter().zip(variances).map(answer).collect())
}

/// Returns an answer that is known exactly, without its rounding error if it is an integer.
pub(super) fn known(estimate: f64) -> f64 {
    let integer = estimate.round();
    if (estimate - integer).abs() < 1e-6 * integer.abs().max(1.0) {
        integer + 0.0
    } else {
        estimate
    }
}

/// Writes the table of a workload.
///
/// `progress` is called with the number of groups written. *Memory*: one group.
///
/// # Errors
/// Queries outside the span of the measurements; or the file cannot be written.
pub fn write(
    path: &Path,
    estimates: &Estimates,
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
) -> Result<()> {
    estimates.check_answers(workload)?;
    let reach = Reach::of(workload.count().as_f64());
    table(path, &COLUMNS, workload, progress, &mut |group, write_row| {
        for (query, answer) in of_group(estimates, group)?.into_iter().enumerate() {
            let Answer { estimate, standard_error } = answer;
            let (single, all) =
                (reach.single * standard_error, reach.simultaneous * standard_error);
            let exact = if standard_error == 0.0 { estimate } else { standard_error };
            let decimals = decimals_of(exact);
            // Intervals are rounded outwards.
            let scale = 10f64.powi(decimals as i32);
            let low = |x: f64| (x * scale).floor() / scale;
            let high = |x: f64| (x * scale).ceil() / scale;
            let intervals = [
                low(estimate - single),
                high(estimate + single),
                low(estimate - all),
                high(estimate + all),
            ];
            let numbers = [estimate, standard_error].into_iter().chain(intervals);
            let numbers: Vec<String> = numbers.map(|x| format!("{x:.decimals$}")).collect();
            let weight = (group.weight() * weight_of(group, query)).to_string();
            let fields: Vec<&str> = numbers.iter().chain([&weight]).map(String::as_str).collect();
            write_row(&fields)?;
        }
        Ok(())
    })
}

/// Writes the table of nonnegative answers of [`super::adjust`].
///
/// # Errors
/// The file cannot be written; or an error of `answers`.
pub(super) fn write_adjusted(
    path: &Path,
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
    answers: &mut dyn FnMut(&QueryGroup) -> Result<Vec<f64>>,
) -> Result<()> {
    let columns = ["adjusted_standard_errors_do_not_apply"];
    table(path, &columns, workload, progress, &mut |group, write_row| {
        answers(group)?.into_iter().try_for_each(|answer| write_row(&[&answer.to_string()]))
    })
}

/// Writes the other fields of the next query's row.
pub(super) type WriteRow<'a> = &'a mut dyn FnMut(&[&str]) -> Result<()>;

/// Writes a table of answers, one group of queries at a time, and syncs it to the disk.
///
/// Every row starts with what its query is; `rows` writes the other `columns` of a group's queries,
/// in order.
pub(super) fn table(
    path: &Path,
    columns: &[&str],
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
    rows: &mut dyn FnMut(&QueryGroup, WriteRow<'_>) -> Result<()>,
) -> Result<()> {
    let schema = workload.schema();
    let failed = |e| Error::csv(path, e, REMEDY);
    let io = |e| Error::io(path, "writing", e, REMEDY);
    let mut out = csv::WriterBuilder::new()
        .buffer_capacity(1 << 20)
        .from_writer(File::create(path).map_err(io)?);
    out.write_record(QUERY_COLUMNS.iter().chain(columns)).map_err(failed)?;
    for (index, group) in workload.groups().iter().enumerate() {
        let attributes = schema.names(group.attributes());
        let words = QueryWords::of(schema, group)?;
        let mut queries = 0..;
        rows(group, &mut |fields| {
            let (text, cells) = words.of_query(queries.next().unwrap_or_default());
            let query = [attributes.as_str(), group.family(), &text, &cells];
            out.write_record(query.iter().chain(fields)).map_err(failed)
        })?;
        progress(index + 1);
    }
    out.flush().map_err(io)?;
    out.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)
}

const REMEDY: &str = "free disk space; the measurements are kept, and `matmech answer` writes the \
                      answers again at no cost";

fn weight_of(group: &QueryGroup, query: usize) -> f64 {
    match group.queries() {
        GroupQueries::Joint(joint) => joint.weight(query),
        GroupQueries::Product(_) => 1.0,
    }
}
