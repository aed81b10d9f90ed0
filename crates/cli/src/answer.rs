//! `matmech answer`: post-processing of the measurements of a release: answers to queries in words,
//! answers with their standard errors or error bounds, adjusted answers, synthetic records, the
//! statement and the report.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::output;
use super::query_answers;
use super::release::steps::Bars;
use matmech::release::queries::QueryAnswers;
use matmech::release::records::{DEFAULT_MAX_RECORDS, RecordCount};
use matmech_app::answer::{Answer, AnswerReport};
use matmech_app::query::{QueryReport, Released};
use matmech_app::target::Source;

/// Arguments of `matmech answer`.
#[derive(Debug, Args)]
pub(super) struct AnswerCommand {
    /// Folder `measurements` of a release
    #[arg(long, value_name = "DIR")]
    measurements: PathBuf,
    /// Query in words, such as "mean(income) by region"; prints its answers with 95 % intervals
    ///
    /// Can be given several times. Without --workload only the queries are answered, and no file is
    /// written unless --out is given. docs/releasing.md has the grammar.
    #[arg(long = "query", value_name = "TEXT")]
    queries: Vec<String>,
    /// Workload file (TOML) over the schema of the release [default: the release's workload]
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Table to write; must not exist [default: answers.csv, and none for --query alone]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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
        if self.queries.is_empty() {
            return output::write(&self.answers()?, self.json, print_files);
        }
        if self.workload.is_none() {
            self.refuse_files_without_workload()?;
            let released = Released::read(&self.measurements)?;
            let report = released.report(&self.queries, self.out.as_ref())?;
            return output::write(&report, self.json, |out, report: &QueryReport| {
                query_answers::print(out, &report.answers)?;
                report.written.iter().try_for_each(|file| writeln!(out, "written  {file}"))
            });
        }
        // Queries are answered first: one that cannot be answered writes no file.
        let queries = Released::read(&self.measurements)?.report(&self.queries, None)?.answers;
        let report = Both { answers: queries, table: self.answers()? };
        output::write(&report, self.json, |out, report: &Both| {
            query_answers::print(out, &report.answers)?;
            print_files(out, &report.table)
        })
    }

    /// Writes the answers to a workload.
    fn answers(&self) -> anyhow::Result<AnswerReport> {
        let maximum = |count: RecordCount| count.with_maximum(self.max_records);
        let records = self.records.map(maximum).transpose()?;
        let answer = Answer {
            measurements: self.measurements.clone(),
            workload: self.workload.clone().map(Source::File),
            out: self.out.clone().unwrap_or_else(|| "answers.csv".into()),
            adjust: self.adjust,
            statement: self.statement,
            report: self.report,
            records,
        };
        Ok(answer.run(&Bars::default())?)
    }

    /// Refuses options for files of a workload's answers.
    fn refuse_files_without_workload(&self) -> anyhow::Result<()> {
        let options = [
            ("--adjust", self.adjust),
            ("--statement", self.statement),
            ("--report", self.report),
            ("--records", self.records.is_some()),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(matmech::Error::bad_input(
                "options of --query without --workload",
                "--out and --json",
                option,
                "give --workload as well, or run `matmech answer` again without --query",
            )
            .into()),
        }
    }
}

/// The output of `answer --query --workload --json`.
#[derive(Debug, Serialize)]
struct Both {
    answers: Vec<QueryAnswers>,
    #[serde(flatten)]
    table: AnswerReport,
}

fn print_files(out: &mut dyn Write, report: &AnswerReport) -> std::io::Result<()> {
    let AnswerReport { queries, groups, .. } = report;
    writeln!(
        out,
        "queries  {}, from existing measurements; no privacy cost",
        output::queries_in(queries, *groups)
    )?;
    report.written.iter().try_for_each(|file| writeln!(out, "written  {file}"))
}
