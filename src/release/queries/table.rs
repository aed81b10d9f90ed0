//! The table of answers to queries.

use std::fs::File;
use std::path::Path;

use super::answer::QueryAnswers;
use crate::error::{Error, Result};
use crate::release::statement::shortest;

/// The columns of the table of answers.
const COLUMNS: [&str; 8] =
    ["query", "by", "estimate", "standard_error", "low_95", "high_95", "interval", "extrapolated"];

/// Writes the answers to queries to a new CSV file, synced to the disk. Numbers are the shortest
/// decimals of their doubles.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write(path: &Path, answers: &[QueryAnswers]) -> Result<()> {
    let remedy = "choose the name of a new file in a folder that can be written";
    let io = |e: std::io::Error| Error::io(path, "writing", e, remedy);
    let failed = |e: csv::Error| Error::csv(path, e, remedy);
    let mut out = csv::Writer::from_writer(File::create_new(path).map_err(io)?);
    out.write_record(COLUMNS).map_err(failed)?;
    for answers in answers {
        for row in &answers.answers {
            let values = answers.by.iter().zip(&row.by);
            let by = values.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>();
            let number = |x: Option<f64>| x.map(shortest).unwrap_or_default();
            let extrapolated = if row.extrapolated { "yes" } else { "no" };
            out.write_record([
                &answers.query,
                &by.join(" and "),
                &number(row.estimate),
                &number(row.standard_error),
                &number(row.low_95),
                &number(row.high_95),
                &row.interval,
                extrapolated,
            ])
            .map_err(failed)?;
        }
    }
    out.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)
}
