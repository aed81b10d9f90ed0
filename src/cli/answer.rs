//! `matmech answer`: more queries from the measurements of a release, with their exact errors, at no cost.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::output;
use super::release::{check_count, steps};
use super::target;
use crate::Error;
use crate::release::{Estimates, Measurements, answers};

/// Arguments of `matmech answer`.
#[derive(Debug, Args)]
pub(super) struct AnswerCommand {
    /// The folder `measurements` of a release
    #[arg(long, value_name = "DIR")]
    measurements: PathBuf,
    /// Workload in TOML over the schema of the release
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// The table to write, which must not exist
    #[arg(long, value_name = "FILE", default_value = "answers.csv")]
    out: PathBuf,
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
}

impl AnswerCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        if self.out.exists() {
            let remedy = "give --out the name of a file that does not exist";
            return Err(Error::bad_input(self.out.display().to_string(), "no such file yet", "one", remedy).into());
        }
        let measured = Measurements::read(&self.measurements)?;
        let (workload, _) = target::of_file(&measured.schema, &self.workload)?;
        check_count(&workload)?;
        let estimates = Estimates::of(&measured)?;
        estimates.check_answers(&workload)?;
        let bar = steps::begin("answers", workload.groups().len());
        answers::write(&self.out, &estimates, &workload, &mut |done| bar.at(done))?;
        bar.end();
        let report = Report {
            queries: workload.count().to_string(),
            groups: workload.groups().len(),
            privacy_cost: 0.0,
            out: self.out.display().to_string(),
        };
        output::write(&report, self.json, |out: &mut dyn Write, report| {
            writeln!(
                out,
                "queries  {} in {} groups, from measurements that are paid for",
                report.queries, report.groups
            )?;
            writeln!(out, "written  {}", report.out)
        })
    }
}
