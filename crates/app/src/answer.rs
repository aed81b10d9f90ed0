//! Answers from the measurements of a release, at no privacy cost.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::release::{Outputs, check_count};
use super::steps::Steps;
use super::target::{self, Source};
use matmech::durable;
use matmech::error::{Error, Result};
use matmech::release::records::{self, RecordCount};
use matmech::release::staged::{StagedMarginals, StagedMeasurements};
use matmech::release::{Estimates, Header, Measurements, adjust};
use matmech::workload::GroupedWorkload;

/// Answers to write, with the options of the command.
#[derive(Debug)]
pub struct Answer {
    /// The folder `measurements` of a release.
    pub measurements: PathBuf,
    /// The queries; by default those of the release.
    pub workload: Option<Source>,
    /// The table to write; must not exist.
    pub out: PathBuf,
    /// Whether to write `adjusted.csv` next to the table.
    pub adjust: bool,
    /// Whether to write `statement.json` and `statement.md` next to the table.
    pub statement: bool,
    /// Whether to write `report.html` next to the table.
    pub report: bool,
    /// The number of synthetic records to write to `records.csv`; none are written if absent.
    pub records: Option<RecordCount>,
}

/// The output of `answer --json`.
#[derive(Debug, Serialize)]
pub struct AnswerReport {
    /// The number of queries.
    pub queries: String,
    /// The number of query groups.
    pub groups: usize,
    /// The additional privacy cost: always 0.
    pub privacy_cost: f64,
    /// The path of the table.
    pub out: String,
    /// The files that were written.
    pub written: Vec<String>,
}

impl Answer {
    /// Writes the answers.
    ///
    /// # Errors
    /// A file that exists or cannot be written, damaged measurements, or queries that they do not
    /// answer.
    pub fn run(&self, steps: &dyn Steps) -> Result<AnswerReport> {
        let mut files = NewFiles::next_to(&self.out)?;
        let outputs = self.outputs(&mut files)?;
        let workload = match StagedMeasurements::is_at(&self.measurements) {
            true => self.staged(&outputs, steps)?,
            false => self.unbiased(&outputs, steps)?,
        };
        let written = files.list.iter().map(|file| file.path.display().to_string()).collect();
        files.list.iter().try_for_each(NewFile::finish)?;
        Ok(AnswerReport {
            queries: workload.count().to_string(),
            groups: workload.groups().len(),
            privacy_cost: 0.0,
            out: self.out.display().to_string(),
            written,
        })
    }

    /// Returns the files to write.
    fn outputs(&self, files: &mut NewFiles) -> Result<Outputs> {
        let answers = files.add(self.out.clone())?;
        let mut next_to = |name: &str| files.add(self.out.with_file_name(name));
        let adjusted = self.adjust.then(|| next_to("adjusted.csv")).transpose()?;
        let records = match self.records {
            Some(count) => Some((next_to("records.csv")?, count)),
            None => None,
        };
        let statement = match self.statement {
            true => Some([next_to("statement.json")?, next_to("statement.md")?]),
            false => None,
        };
        let report = self.report.then(|| next_to("report.html")).transpose()?;
        Ok(Outputs { answers, adjusted, records, statement, report, remedy: REMEDY })
    }

    /// Returns the workload to answer: that of the command, or that of the release.
    fn workload<S>(
        &self,
        Header { schema, statement, inputs, .. }: &Header<S>,
    ) -> Result<GroupedWorkload> {
        let workload = match &self.workload {
            Some(source) => source.read(schema)?.0,
            None => target::from_release(schema, statement.workload(), inputs)?,
        };
        check_count(&workload)?;
        Ok(workload)
    }

    /// Writes the outputs from the measurements of a staged release.
    fn staged(&self, outputs: &Outputs, steps: &dyn Steps) -> Result<GroupedWorkload> {
        if self.adjust {
            return Err(Error::bad_input(
                "option --adjust",
                "measurements of unbiased answers",
                "those of a staged release",
                "omit --adjust: the answers are adjusted already",
            ));
        }
        let measured = StagedMeasurements::read(&self.measurements)?;
        let workload = self.workload(&measured.header)?;
        outputs.write_staged(&StagedMarginals::of(measured)?, &workload, steps)?;
        Ok(workload)
    }

    /// Writes the outputs from the measurements of unbiased answers.
    fn unbiased(&self, outputs: &Outputs, steps: &dyn Steps) -> Result<GroupedWorkload> {
        if self.records.is_some() {
            records::refuse_without_model()?;
        }
        let measured = Measurements::read(&self.measurements)?;
        let workload = self.workload(&measured.header)?;
        let estimates = Estimates::of(&measured)?;
        estimates.check_answers(&workload)?;
        if self.adjust {
            adjust::check(estimates.measure().is_uniform())?;
        }
        let adjusted = self.adjust.then(|| adjust::DESCRIPTION.to_owned());
        let statement = measured.header.statement.clone().adjusted(adjusted);
        let statement = statement.with_public_counts(&measured.public_counts);
        outputs.write_unbiased(&statement, &estimates, &workload, steps)?;
        Ok(workload)
    }
}

/// The remedy for files that cannot be written.
const REMEDY: &str = "free disk space, or write to another folder";

/// A new folder next to the table, in which files are written before they get their names.
///
/// Creating a folder fails if its name is taken, also by a symbolic link. It is removed at the end,
/// with what an error left in it.
struct NewFiles {
    path: PathBuf,
    list: Vec<NewFile>,
}

impl NewFiles {
    fn next_to(out: &Path) -> Result<Self> {
        let Some(name) = out.file_name() else {
            let what = out.display().to_string();
            let remedy = "use the name of a file that does not exist";
            return Err(Error::bad_input(what, "the name of a file", "none", remedy));
        };
        let mut name = name.to_os_string();
        name.push(".partial");
        let path = out.with_file_name(name);
        let remedy = "use a folder that can be written; remove the .partial folder of an \
                      interrupted run";
        std::fs::create_dir(&path)
            .map_err(|e| Error::io(&path, "creating the folder", e, remedy))?;
        Ok(NewFiles { path, list: Vec::new() })
    }

    /// Adds a file, and returns the path to which it is written.
    ///
    /// # Errors
    /// A name that is taken, or that of another file to write.
    fn add(&mut self, path: PathBuf) -> Result<PathBuf> {
        check_new(&path)?;
        let name = path.file_name().unwrap_or_default();
        // `with_file_name` leaves out a trailing `/` or `/.`.
        let file = NewFile { path: path.with_file_name(name), partial: self.path.join(name) };
        if self.list.iter().any(|known| known.path == file.path) {
            return Err(Error::bad_input(
                "option --out",
                "another name than those of the other files to write",
                file.path.display().to_string(),
                "choose another name for the table, such as more.csv",
            ));
        }
        let partial = file.partial.clone();
        self.list.push(file);
        Ok(partial)
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        // What cannot be removed does no harm: the folder has published values only.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn check_new(path: &Path) -> Result<()> {
    // `exists` is false for a broken symbolic link.
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(Error::bad_input(
        path.display().to_string(),
        "the name of a new file",
        "an existing file",
        "choose an --out in a folder that has none of the files to write",
    ))
}

/// An output file that gets its name when all files are complete.
struct NewFile {
    path: PathBuf,
    partial: PathBuf,
}

impl NewFile {
    /// Renames the file to its final name.
    fn finish(&self) -> Result<()> {
        check_new(&self.path)?;
        let renamed = std::fs::rename(&self.partial, &self.path)
            .and_then(|()| durable::sync_parent(&self.path));
        renamed.map_err(|e| Error::io(&self.partial, "renaming", e, REMEDY))
    }
}
