//! `matmech answer`: post-processing of the measurements of a release: answers with their standard
//! errors or error bounds, adjusted answers, synthetic records, the statement and the report.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output;
use super::release::steps::Bars;
use matmech::release::records::{DEFAULT_MAX_RECORDS, RecordCount};
use matmech_app::answer::{Answer, AnswerReport};
use matmech_app::target::Source;

/// Arguments of `matmech answer`.
#[derive(Debug, Args)]
pub(super) struct AnswerCommand {
    /// Folder `measurements` of a release
    #[arg(long, value_name = "DIR")]
    measurements: PathBuf,
    /// Workload file (TOML) over the schema of the release [default: the release's workload]
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Table to write; must not exist
    #[arg(long, value_name = "FILE", default_value = "answers.csv")]
    out: PathBuf,
    /// Also write adjusted.csv next to --out: nonnegative integers, biased, no standard errors
    #[arg(long)]
    adjust: bool,
    /// Also write the statement of the release next to --out: statement.json and statement.md
    #[arg(long)]
    statement: bool,
    /// Also write report.html next to --out: the statement and charts of published estimates
    #[arg(long)]
    report: bool,
    /// Also write records.csv next to --out: N synthetic records, or `auto` for the released number
    ///
    /// Needs the measurements of a mechanism that fits a model.
    #[arg(long, value_name = "N|auto")]
    records: Option<RecordCount>,
    /// Maximum number of synthetic records, also of `auto`
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_MAX_RECORDS,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    max_records: u32,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl AnswerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let maximum = |count: RecordCount| count.with_maximum(self.max_records);
        let records = self.records.map(maximum).transpose()?;
        let answer = Answer {
            measurements: self.measurements.clone(),
            workload: self.workload.clone().map(Source::File),
            out: self.out.clone(),
            adjust: self.adjust,
            statement: self.statement,
            report: self.report,
            records,
        };
        let report = answer.run(&Bars::default())?;
        output::write(&report, self.json, |out: &mut dyn Write, report| {
            let AnswerReport { queries, groups, .. } = report;
            writeln!(
                out,
                "queries  {queries} in {groups} groups, from existing measurements; no privacy cost"
            )?;
            report.written.iter().try_for_each(|file| writeln!(out, "written  {file}"))
        })
    }
}
