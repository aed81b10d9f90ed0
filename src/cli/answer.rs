//! `matmech answer`: post-processing of the measurements of a release: answers with their standard
//! errors or error bounds, adjusted answers, synthetic records, the statement and the report.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::output;
use super::release::{check_count, steps};
use super::target;
use matmech::Error;
use matmech::durable;
use matmech::release::records::{self, RecordCount};
use matmech::release::staged::{self, StagedMarginals, StagedMeasurements, StagedStatement};
use matmech::release::{self, Estimates, Measurements, adjust, answers};
use matmech::schema::Schema;
use matmech::workload::GroupedWorkload;

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
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    queries: String,
    groups: usize,
    privacy_cost: f64,
    out: String,
    /// The files that were written.
    written: Vec<String>,
}

impl AnswerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let next_to = |name: &str| NewFile::at(self.out.with_file_name(name));
        let table = NewFile::at(self.out.clone())?;
        let adjusted = self.adjust.then(|| next_to("adjusted.csv")).transpose()?;
        let names = ["statement.json", "statement.md"];
        let statements = names.iter().filter(|_| self.statement).map(|name| next_to(name));
        let statements = statements.collect::<matmech::Result<Vec<_>>>()?;
        let report = self.report.then(|| next_to("report.html")).transpose()?;
        let records = self.records.is_some().then(|| next_to("records.csv")).transpose()?;
        let outputs = Outputs { table, adjusted, statements, report, records };
        let workload = match StagedMeasurements::is_at(&self.measurements) {
            true => self.staged(&outputs)?,
            false => self.unbiased(&outputs)?,
        };
        let Outputs { table, adjusted, statements, report, records } = outputs;
        let mut written = Vec::new();
        let files = [table].into_iter().chain(adjusted).chain(records);
        for file in files.chain(statements).chain(report) {
            written.push(file.path.display().to_string());
            file.finish()?;
        }
        let report = Report {
            queries: workload.count().to_string(),
            groups: workload.groups().len(),
            privacy_cost: 0.0,
            out: self.out.display().to_string(),
            written,
        };
        output::write(&report, self.json, |out: &mut dyn Write, report| {
            let Report { queries, groups, .. } = report;
            writeln!(
                out,
                "queries  {queries} in {groups} groups, from existing measurements; no privacy cost"
            )?;
            report.written.iter().try_for_each(|file| writeln!(out, "written  {file}"))
        })
    }

    /// Returns the workload to answer: that of the command, or that of the release.
    fn workload(&self, schema: &Schema, released: &str) -> matmech::Result<GroupedWorkload> {
        let workload = match &self.workload {
            Some(path) => target::from_file(schema, path)?.0,
            None => target::from_text(schema, released)?,
        };
        check_count(&workload)?;
        Ok(workload)
    }

    /// Writes the outputs from the measurements of a staged release.
    fn staged(&self, outputs: &Outputs) -> anyhow::Result<GroupedWorkload> {
        if self.adjust {
            return Err(Error::bad_input(
                "option --adjust",
                "measurements of unbiased answers",
                "those of a staged release",
                "omit --adjust: the answers are adjusted already",
            )
            .into());
        }
        let measured = StagedMeasurements::read(&self.measurements)?;
        let workload = self.workload(&measured.schema, measured.statement.workload())?;
        let marginals = StagedMarginals::of(measured)?;
        steps::with_bar("answers", workload.groups().len(), |progress| {
            staged::answers::write(&outputs.table.partial, &marginals, &workload, progress)
        })?;
        let synthetic = match (&outputs.records, self.records) {
            (Some(file), Some(count)) => {
                Some(marginals.write_records(&file.partial, workload.schema(), count)?)
            }
            _ => None,
        };
        let statement = StagedStatement::released(&marginals)?.with_records(synthetic);
        if let [json, markdown] = outputs.statements.as_slice() {
            json.write(&statement.to_json()?)?;
            markdown.write(&statement.to_markdown())?;
        }
        if let Some(file) = &outputs.report {
            file.write(&staged::report(&statement, &marginals, &workload)?.to_html())?;
        }
        Ok(workload)
    }

    /// Writes the outputs from the measurements of unbiased answers.
    fn unbiased(&self, outputs: &Outputs) -> anyhow::Result<GroupedWorkload> {
        if self.records.is_some() {
            records::refuse_without_model()?;
        }
        let measured = Measurements::read(&self.measurements)?;
        let workload = self.workload(&measured.schema, measured.statement.workload())?;
        let estimates = Estimates::of(&measured)?;
        estimates.check_answers(&workload)?;
        if self.adjust {
            adjust::check(estimates.measure().is_uniform())?;
        }
        let groups = workload.groups().len();
        steps::with_bar("answers", groups, |progress| {
            answers::write(&outputs.table.partial, &estimates, &workload, progress)
        })?;
        if let Some(file) = &outputs.adjusted {
            steps::with_bar("adjusting", groups, |progress| {
                adjust::write(&file.partial, &estimates, &workload, progress)
            })?;
        }
        let adjusted = self.adjust.then(|| adjust::DESCRIPTION.to_owned());
        let statement = measured.statement.clone().adjusted(adjusted);
        if let [json, markdown] = outputs.statements.as_slice() {
            json.write(&statement.to_json()?)?;
            markdown.write(&statement.to_markdown())?;
        }
        if let Some(file) = &outputs.report {
            let report = release::report::Report::of_unbiased(&statement, &estimates, &workload)?;
            file.write(&report.to_html())?;
        }
        Ok(workload)
    }
}

/// The files to write.
struct Outputs {
    table: NewFile,
    adjusted: Option<NewFile>,
    /// statement.json and statement.md, or none.
    statements: Vec<NewFile>,
    report: Option<NewFile>,
    records: Option<NewFile>,
}

/// An output file that has a temporary name until it is complete.
struct NewFile {
    path: PathBuf,
    partial: PathBuf,
}

impl NewFile {
    fn at(path: PathBuf) -> matmech::Result<Self> {
        // `exists` is false for a broken symbolic link.
        if std::fs::symlink_metadata(&path).is_ok() {
            let remedy = "choose an --out in a folder that has none of the files to write";
            return Err(Error::bad_input(
                path.display().to_string(),
                "the name of a new file",
                "an existing file",
                remedy,
            ));
        }
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = path.with_file_name(name);
        Ok(NewFile { path, partial })
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        durable::write(&self.partial, text)
            .with_context(|| format!("writing {}", self.partial.display()))
    }

    /// Renames the file to its final name.
    fn finish(self) -> anyhow::Result<()> {
        let NewFile { path, partial } = self;
        let renamed =
            std::fs::rename(&partial, &path).and_then(|()| durable::sync_parent(Path::new(&path)));
        renamed.with_context(|| format!("renaming {}", partial.display()))
    }
}
