//! Folders of complete releases, and series of them.

use std::path::Path;

use serde::Deserialize;

use super::folder::SUMS;
use super::request::Release;
use matmech::data::PersonLimit;
use matmech::error::{Error, Result};
use matmech::hash::{sha256, sha256_of_file};
use matmech::privacy::{Neighbours, PrivacyUnit, Rho};
use matmech::release::{EarlierRelease, Ledger, Series};

/// What to do about a folder that cannot be used.
const REMEDY: &str = "give the unchanged folder that `matmech release` wrote, with all its files";

/// The parts of a statement that a series needs.
#[derive(Deserialize)]
struct Stated {
    unit: PrivacyUnit,
    #[serde(default)]
    distinct_values_of: Option<String>,
    person_limit: Option<PersonLimit>,
    rho_reserved: f64,
    delta: f64,
    ledger: Option<StatedLine>,
    #[serde(default)]
    series: Option<Series>,
}

#[derive(Deserialize)]
struct StatedLine {
    line: usize,
    sha256: String,
}

/// A complete release in a folder whose files are those of its checksums.
pub(crate) struct CompleteRelease {
    stated: Stated,
    release: EarlierRelease,
}

impl CompleteRelease {
    /// Reads the statement of a folder, and checks all files against the checksums.
    ///
    /// # Errors
    /// A folder that is not that of a complete release, or changed files.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let what = || format!("release in {}", folder.display());
        let refuse =
            |expected: &str, found: String| Err(Error::bad_input(what(), expected, found, REMEDY));
        for name in [SUMS, "statement.json", "answers.csv"] {
            if !folder.join(name).is_file() {
                return refuse("the folder of a complete release", format!("no file {name}"));
            }
        }
        check_files(folder)?;
        let text_of = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|e| Error::io(&path, "reading", e, REMEDY))
        };
        let statement = text_of("statement.json")?;
        let Ok(stated) = serde_json::from_str::<Stated>(&statement) else {
            return refuse("the statement of a release", "another file".into());
        };
        let Some(StatedLine { line, sha256: line_sha256 }) = &stated.ledger else {
            return refuse("a release that was charged to a ledger", "another".into());
        };
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        let release = EarlierRelease {
            folder: name.to_string_lossy().into_owned(),
            line: *line,
            line_sha256: line_sha256.clone(),
            rho_reserved: stated.rho_reserved,
            statement_sha256: sha256(statement.as_bytes()),
            sha256sums_sha256: sha256(text_of(SUMS)?.as_bytes()),
        };
        Ok(CompleteRelease { stated, release })
    }

    /// Returns the series that ends with this release, after its ledger is checked.
    ///
    /// # Errors
    /// A ledger without the settled reservations of all its releases.
    pub(crate) fn series_in(&self, ledger: &Ledger) -> Result<Series> {
        let earlier = self.stated.series.iter().flat_map(|series| &series.earlier);
        for release in earlier.clone().chain([&self.release]) {
            let line = (release.line, release.line_sha256.as_str());
            ledger.require_settled(line, &release.sha256sums_sha256)?;
        }
        let rho = Rho::new(self.stated.rho_reserved)?;
        Series::of(earlier.cloned().collect(), rho, self.stated.delta)
    }
}

/// Checks the files of a folder, and those of its folders, against their checksums.
fn check_files(folder: &Path) -> Result<()> {
    let path = folder.join(SUMS);
    let text =
        std::fs::read_to_string(&path).map_err(|e| Error::io(&path, "reading", e, REMEDY))?;
    for line in text.lines() {
        let refuse = |found: &str| {
            Err(Error::bad_input(
                path.display().to_string(),
                "the files of a release",
                found,
                REMEDY,
            ))
        };
        let Some((sum, name)) = line.split_once("  ") else { return refuse("another file") };
        let is_inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !is_inside || name == SUMS {
            return refuse("a name outside the folder");
        }
        let file = folder.join(name);
        match sha256_of_file(&file) {
            Ok(found) if found == sum => {}
            _ => return refuse(&format!("a missing or changed file `{name}`")),
        }
        if let (Some(within), true) = (file.parent(), name.ends_with(&format!("/{SUMS}"))) {
            check_files(within)?;
        }
    }
    Ok(())
}

impl Release {
    /// Returns the series that this release continues, from the folder of the previous one.
    ///
    /// # Errors
    /// A folder that is not that of a complete release for the same persons.
    pub(super) fn series(
        &self,
        (rho, delta): (Rho, f64),
        unit: PrivacyUnit,
    ) -> Result<Option<Series>> {
        let Some(folder) = &self.after else { return Ok(None) };
        let CompleteRelease { stated, release } = CompleteRelease::read(folder)?;
        let kind = |unit: PrivacyUnit| (unit.neighbours == Neighbours::default(), unit.rows);
        let column = stated.person_limit.as_ref().map(|limit| limit.column.as_str());
        // Enforced limits protect all records of a person, whatever they are.
        let is_same = column == self.person.as_deref()
            && (column.is_some() || stated.distinct_values_of == self.distinct);
        if kind(stated.unit) != kind(unit) || !is_same {
            return Err(Error::bad_input(
                format!("release in {}", folder.display()),
                unit.in_words(self.distinct.as_deref(), self.person.as_deref()),
                stated.unit.in_words(stated.distinct_values_of.as_deref(), column),
                "give the same --neighbours, --unit-rows, --person and --distinct as for the \
                 previous release: only then do the costs for a person add up",
            ));
        }
        let mut earlier = stated.series.map_or_else(Vec::new, |series| series.earlier);
        earlier.push(release);
        Series::of(earlier, rho, delta).map(Some)
    }
}
