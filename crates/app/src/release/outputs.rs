//! The files that are computed from the measurements of a release, for `release` and `answer`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::steps::{Steps, with_parts};
use matmech::durable;
use matmech::error::{Error, Result};
use matmech::release::records::{RecordCount, SyntheticRecords};
use matmech::release::report::Report;
use matmech::release::staged::{self, StagedMarginals, StagedStatement};
use matmech::release::{
    Estimates, ReleaseStatement, Sections, Statement, adjust, answers as unbiased_answers,
};
use matmech::workload::GroupedWorkload;

/// The paths of the files to write; those that are absent are not written.
pub(crate) struct Outputs {
    /// The table of answers.
    pub(crate) answers: PathBuf,
    /// The table of adjusted answers; only of unbiased answers.
    pub(crate) adjusted: Option<PathBuf>,
    /// The synthetic records and their number; only of staged releases.
    pub(crate) records: Option<(PathBuf, RecordCount)>,
    /// The statement as JSON and as Markdown.
    pub(crate) statement: Option<[PathBuf; 2]>,
    /// The report.
    pub(crate) report: Option<PathBuf>,
    /// What to do if a file cannot be written.
    pub(crate) remedy: &'static str,
}

impl Outputs {
    /// Writes the files of a release of unbiased answers.
    pub(crate) fn write_unbiased(
        &self,
        statement: &Statement,
        estimates: &Estimates,
        workload: &GroupedWorkload,
        steps: &dyn Steps,
    ) -> Result<()> {
        let groups = workload.groups().len();
        with_parts(steps, "answers", groups, |progress| {
            unbiased_answers::write(&self.answers, estimates, workload, progress)
        })?;
        if let Some(path) = &self.adjusted {
            with_parts(steps, "adjusting", groups, |progress| {
                adjust::write(path, estimates, workload, progress)
            })?;
        }
        self.write_texts(statement, || Report::of_unbiased(statement, estimates, workload))
    }

    /// Writes the files of a staged release. Returns what its statement says about the records.
    pub(crate) fn write_staged(
        &self,
        marginals: &StagedMarginals,
        workload: &GroupedWorkload,
        steps: &dyn Steps,
    ) -> Result<Option<SyntheticRecords>> {
        with_parts(steps, "answers", workload.groups().len(), |progress| {
            staged::answers::write(&self.answers, marginals, workload, progress)
        })?;
        let synthetic = match &self.records {
            Some((path, count)) => {
                Some(marginals.write_records(path, workload.schema(), *count)?)
            }
            None => None,
        };
        let statement = StagedStatement::released(marginals)?.with_records(synthetic);
        self.write_texts(&statement, || staged::report(&statement, marginals, workload))?;
        Ok(synthetic)
    }

    /// Writes the statement and the report.
    fn write_texts<S: Sections + Serialize>(
        &self,
        statement: &ReleaseStatement<S>,
        report: impl FnOnce() -> Result<Report>,
    ) -> Result<()> {
        if let Some([json, markdown]) = &self.statement {
            self.write(json, &statement.to_json()?)?;
            self.write(markdown, &statement.to_markdown())?;
        }
        match &self.report {
            Some(path) => self.write(path, &report()?.to_html()),
            None => Ok(()),
        }
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        durable::write(path, text).map_err(|e| Error::io(path, "writing", e, self.remedy))
    }
}
