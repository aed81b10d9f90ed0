//! Private drafts of schemas: edges of bins from noisy counts, charged to a ledger.
//!
//! Two releases are made per column, each with its reservation, statement and measurements. The
//! first counts the cells of sign × power of two and gives the range. The second counts up to the
//! ends of equal cells within the range and gives edges at quantiles. The second depends on the
//! records through the published numbers of the first only, so the costs add up.

use std::path::Path;

use serde::Serialize;

use super::release::{DELTA, Files, Release};
use crate::budget::ReleaseRho;
use crate::data::Data;
use crate::steps::Steps;
use crate::target::Source;
use matmech::data::table::FieldCounts;
use matmech::data::{OpenTable, OutOfDomain, PersonLimit, noisy_bins};
use matmech::error::{Error, Result};
use matmech::privacy::{PrivacyUnit, Rho, fine_noise};
use matmech::release::{Estimates, Ledger, LockWait, Measurements, answers, shortest};
use matmech::schema::{ColumnType, Schema, SchemaSource};

/// The number of bins of a column, unless another number is given.
pub const BINS: u32 = 10;

/// A private draft, with the options of the command.
#[derive(Debug)]
pub struct PrivateDraft {
    /// The columns of numbers.
    pub columns: Vec<String>,
    /// The maximum number of bins of a column.
    pub bins: u32,
    /// The total ρ.
    pub rho: Rho,
    /// δ for which ε is stated; [`DELTA`] if absent.
    pub delta: Option<f64>,
    /// The unit of privacy.
    pub unit: PrivacyUnit,
    /// The column that identifies persons.
    pub person: Option<String>,
    /// How to wait for a locked ledger.
    pub waiting: LockWait,
    /// None for a dry run, which reads, charges and writes nothing.
    pub files: Option<Files>,
}

/// The output of a private draft. It depends on the records through paid noise only.
#[derive(Debug, Serialize)]
pub struct PrivateDraftReport {
    /// The number of releases: two per column.
    pub releases: usize,
    /// ρ of each release.
    pub rho_of_release: f64,
    /// ρ of all releases, at most what was asked for.
    pub rho: f64,
    /// ε of all releases, rounded up.
    pub epsilon: f64,
    /// δ for which ε is stated.
    pub delta: f64,
    /// The file with the schema; null in a dry run.
    pub schema: Option<String>,
}

impl PrivateDraft {
    /// Makes the releases and writes the schema, or only states the cost in a dry run.
    ///
    /// # Errors
    /// Invalid columns or options, or a ledger with less than the total, before anything is
    /// charged. Errors of a release; earlier releases stay spent, and their files are complete.
    pub fn run(&self, steps: &dyn Steps) -> Result<PrivateDraftReport> {
        let magnitudes = noisy_bins::magnitude_schema(&self.columns);
        let schema = Schema::from_toml(&magnitudes, "columns")?;
        if self.bins < 2 {
            let remedy = "give a larger number";
            return Err(Error::bad_input("bins", "at least 2", self.bins.to_string(), remedy));
        }
        let releases = 2 * self.columns.len();
        let each = Rho::new(rounded_down(self.rho.get() / releases as f64))?;
        let delta = self.delta.unwrap_or(DELTA);
        let mut report = PrivateDraftReport {
            releases,
            rho_of_release: each.get(),
            rho: self.rho.get(),
            epsilon: fine_noise::epsilon_rounded_up(self.rho, delta)?,
            delta,
            schema: None,
        };
        let Some(Files { data, ledger, out }) = &self.files else { return Ok(report) };
        let person = self.person.clone();
        let person = person.map(|column| PersonLimit { column, rows: self.unit.rows });
        let table = data.open(FieldCounts::Any)?;
        let columns = table.columns();
        let integers: Vec<String> = columns
            .iter()
            .filter(|column| column.kind == ColumnType::Integer)
            .filter_map(|column| column.name.clone())
            .collect();
        OpenTable::new(table, &schema, person)?;
        let left = Ledger::open(ledger, self.waiting)?.balance()?.left;
        if left < self.rho.get() {
            return Err(Error::BudgetExhausted {
                what: format!("draft of {} columns", self.columns.len()),
                asked: self.rho.get(),
                left,
                total: left,
            });
        }
        let remedy = "give a folder that does not exist, in one that can be written";
        std::fs::create_dir(out).map_err(|e| Error::io(out, "creating the folder", e, remedy))?;
        let mut text = format!(
            "# Edges from noisy counts of the records: {} releases of rho {} in all. The folders\n\
             # next to this file have their statements and measurements. No record is dropped:\n\
             # `below` and `above` are the cells of numbers beyond the edges, `missing` that of\n\
             # missing values, and `other` that of all other values.\n",
            releases,
            shortest(self.rho.get())
        );
        for (index, column) in (1..).zip(&self.columns) {
            text += "\n";
            let is_integer = integers.iter().any(|integer| integer == column.trim());
            let files = (data, ledger.as_path(), out.as_path());
            text += &self.attribute((column, is_integer), index, each, files, steps)?;
        }
        let path = out.join("schema.toml");
        std::fs::write(&path, text).map_err(|e| Error::io(&path, "writing", e, remedy))?;
        report.schema = Some(path.display().to_string());
        Ok(report)
    }

    /// Measures a column and returns its attribute, of integers if the type of the column is so.
    fn attribute(
        &self,
        (column, is_integer): (&str, bool),
        index: usize,
        rho: Rho,
        (data, ledger, out): (&Data, &Path, &Path),
        steps: &dyn Steps,
    ) -> Result<String> {
        let measured = |name: &str, schema: String, target: Source| {
            let out = out.join(format!("{name}-{index}"));
            let files =
                Files { data: data.clone(), ledger: ledger.to_path_buf(), out: out.clone() };
            self.release(schema, target, rho, files).run(steps)?;
            answers_of(&out)
        };
        let schema = noisy_bins::magnitude_schema(&[column.to_owned()]);
        let (counts, errors) = measured("range", schema, Source::Ways(vec![1]))?;
        let Some(range) = noisy_bins::noisy_range(&counts, &errors) else {
            return Ok(noisy_bins::without_range(column));
        };
        let prefixes = "[[queries]]\nfamily = \"prefix\"\nways = [1]\n";
        let schema = noisy_bins::fine_schema(column, range);
        let (prefixes, _) = measured("quantiles", schema, Source::Text(prefixes.to_owned()))?;
        let edges = noisy_bins::quantile_edges(&prefixes, range, self.bins as usize, is_integer);
        noisy_bins::attribute_with_edges(column, &edges, is_integer)
            .ok_or_else(|| Error::bug("edges of bins", "doubles", "other numbers"))
    }

    fn release(&self, schema: String, target: Source, rho: Rho, files: Files) -> Release {
        Release {
            schema: SchemaSource::Text(schema),
            target,
            rho: ReleaseRho::Given(rho),
            delta: self.delta,
            unit: self.unit,
            person: self.person.clone(),
            planner: None,
            objective: None,
            mechanism: None,
            certificate: None,
            out_of_domain: OutOfDomain::Other,
            waiting: self.waiting,
            adjust: false,
            records: None,
            files: Some(files),
        }
    }
}

/// Returns the estimates and standard errors of a release, from its stored integers.
fn answers_of(folder: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let measured = Measurements::read(&folder.join("measurements"))?;
    let header = &measured.header;
    let (workload, estimates) = (
        crate::target::from_release(&header.schema, header.statement.workload(), &header.inputs)?,
        Estimates::of(&measured)?,
    );
    let mut found = (Vec::new(), Vec::new());
    for group in workload.groups() {
        for answer in answers::of_group(&estimates, group)? {
            found.0.push(answer.estimate);
            found.1.push(answer.standard_error);
        }
    }
    Ok(found)
}

/// Returns a number with 12 significant digits that is not larger, so that the releases together
/// cost at most the total.
fn rounded_down(number: f64) -> f64 {
    let scale = 10f64.powi(11 - number.log10().floor() as i32);
    let rounded = (number * scale).floor() / scale;
    if rounded <= number { rounded } else { rounded * (1.0 - 1e-12) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_do_not_exceed_the_total() {
        for (total, parts) in [(0.2, 3), (0.1, 6), (1e-7, 7), (1.0, 2), (3.3, 14)] {
            let share = rounded_down(total / f64::from(parts));
            assert!(share * f64::from(parts) <= total && share > 0.0);
            assert!(share * f64::from(parts) >= total * (1.0 - 1e-10));
        }
    }
}
