//! The options of a private draft, and their checks before anything is charged.

use super::report::PrivateDraftReport;
use crate::budget::Budget;
use crate::release::{DELTA, Files};
use crate::steps::Steps;
use matmech::Decimal;
use matmech::counted::counted;
use matmech::data::table::{ColumnHeader, FieldCounts, TypedTable};
use matmech::data::{OpenTable, PersonLimit, noisy_bins, open_values};
use matmech::error::{Error, Result};
use matmech::privacy::{PrivacyUnit, Rho, fine_noise};
use matmech::release::open_values::without_new_values;
use matmech::release::{Ledger, LockWait, shortest};
use matmech::schema::{ColumnType, Schema};

/// The number of bins of a column, unless another number is given.
pub const BINS: u32 = 10;

/// A private draft, with the options of the command.
#[derive(Debug)]
pub struct PrivateDraft {
    /// The columns of numbers, which get bins.
    pub columns: Vec<String>,
    /// The columns of texts, whose values are published if enough records have them.
    pub open: Vec<String>,
    /// The maximum number of bins of a column.
    pub bins: u32,
    /// The total ρ.
    pub rho: Rho,
    /// δ for which ε is stated, of which δ′ is a part; [`DELTA`] and δ′ if absent.
    pub delta: Option<f64>,
    /// δ′: the probability that any value is published that only one person's records have, in all
    /// columns of texts together.
    pub new_delta: Option<f64>,
    /// The unit of privacy.
    pub unit: PrivacyUnit,
    /// The column that identifies persons.
    pub person: Option<String>,
    /// How to wait for a locked ledger.
    pub waiting: LockWait,
    /// None for a dry run, which reads, charges and writes nothing.
    pub files: Option<Files>,
}

/// Returns the ρ of a budget of which δ′ is a part.
///
/// # Errors
/// As [`Budget::rho`], or δ′ is not below δ.
pub fn rho_of(budget: Budget, new_delta: Option<f64>) -> Result<Rho> {
    let delta = match (budget.delta, new_delta) {
        (Some(delta), Some(new_delta)) => Some(without_new_values(delta, new_delta)?),
        (delta, _) => delta,
    };
    Budget { delta, ..budget }.rho()
}

impl PrivateDraft {
    /// Makes the releases and writes the schema, or only states the cost in a dry run.
    ///
    /// # Errors
    /// Invalid columns or options, or a ledger that does not allow the total, before anything is
    /// charged. Errors of a release; earlier releases stay spent, and their files are complete.
    pub fn run(&self, steps: &dyn Steps) -> Result<PrivateDraftReport> {
        let schema = self.schema()?;
        let releases = 2 * self.columns.len() + self.open.len();
        let each = Rho::new(rounded_down(self.rho.get() / releases as f64))?;
        let new_delta = self.new_delta.unwrap_or(0.0);
        let delta = self.delta_with(new_delta);
        let at = without_new_values(delta, new_delta)?;
        let mut report = PrivateDraftReport {
            releases,
            rho_of_release: each.get(),
            rho: self.rho.get(),
            epsilon: fine_noise::epsilon_rounded_up(self.rho, at)?,
            delta,
            new_delta,
            columns: Vec::new(),
            schema: None,
        };
        let Some(Files { data, ledger, out }) = &self.files else { return Ok(report) };
        let table = data.open(FieldCounts::Any)?;
        let columns = table.columns();
        let integers: Vec<String> = columns
            .iter()
            .filter(|column| column.kind == ColumnType::Integer)
            .filter_map(|column| column.name.clone())
            .collect();
        self.require_texts(table.as_ref())?;
        OpenTable::new(table, &schema, self.person_limit())?;
        let left = Ledger::open(ledger, self.waiting)?.left_with(self.new_delta)?;
        if left < self.rho.get() {
            return Err(Error::BudgetExhausted {
                what: format!(
                    "draft of {}",
                    counted(schema.attributes().len(), ["column", "columns"])
                ),
                asked: self.rho.get(),
                left,
                total: left,
            });
        }
        let remedy = "give a folder that does not exist, in one that can be written";
        std::fs::create_dir(out).map_err(|e| Error::io(out, "creating the folder", e, remedy))?;
        let mut text = self.comment(&report);
        let files = (data, ledger.as_path(), out.as_path());
        for (index, column) in (1..).zip(&self.columns) {
            let is_integer = integers.iter().any(|integer| integer == column.trim());
            let (attribute, drafted) =
                self.bins((column, is_integer), index, each, files, steps)?;
            text += &format!("\n{attribute}");
            report.columns.push(drafted);
        }
        for (index, column) in (1..).zip(&self.open) {
            let new_delta = rounded_down(new_delta / self.open.len() as f64);
            let (attribute, drafted) =
                self.open_column(column, index, (each, new_delta), files, steps)?;
            text += &format!("\n{attribute}");
            report.columns.push(drafted);
        }
        let path = out.join("schema.toml");
        std::fs::write(&path, text).map_err(|e| Error::io(&path, "writing", e, remedy))?;
        report.schema = Some(path.display().to_string());
        Ok(report)
    }

    /// Checks that the columns of texts are text, or that their values have types of their own, of
    /// which texts are counted. Types of columns are public.
    fn require_texts(&self, table: &dyn TypedTable) -> Result<()> {
        for name in self.open.iter().map(|column| column.trim()) {
            let named = |column: &&ColumnHeader| column.name.as_deref() == Some(name);
            match table.columns().iter().find(named).map(|column| column.kind) {
                None | Some(ColumnType::Text | ColumnType::Any) => {}
                Some(other) => {
                    let remedy = "convert the column to text, or give it as --column; types are \
                                  public, so this check costs nothing";
                    return Err(Error::bad_input(
                        format!("{}, column `{name}`", table.origin()),
                        "text, for values that are not public",
                        format!("a column of {other}"),
                        remedy,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns a schema of all columns before the releases, and checks the options.
    fn schema(&self) -> Result<Schema> {
        if self.columns.is_empty() && self.open.is_empty() {
            let remedy = "give --column for numbers, or --open for texts";
            return Err(Error::bad_input("private draft", "a column", "none", remedy));
        }
        if self.bins < 2 {
            let remedy = "give a larger number";
            return Err(Error::bad_input("bins", "at least 2", self.bins.to_string(), remedy));
        }
        let is_needed = !self.open.is_empty();
        let is_valid = |delta: f64| is_needed && 0.0 < delta && delta < 0.5;
        if self.new_delta.map_or(is_needed, |delta| !is_valid(delta)) {
            let expected = match is_needed {
                true => "a number above 0 and below 0.5",
                false => "none without columns of texts",
            };
            let found = self.new_delta.map_or("none".to_owned(), |delta| delta.to_string());
            let remedy = "give --open COLUMN and --new-delta together, the latter below 1 divided \
                          by the number of persons";
            return Err(Error::bad_input("new-delta", expected, found, remedy));
        }
        let open = self.open.iter().map(|column| format!("\n{}", open_values::template(column)));
        let texts = noisy_bins::magnitude_schema(&self.columns) + &open.collect::<String>();
        Schema::from_toml(&texts, "columns")
    }

    pub(super) fn person_limit(&self) -> Option<PersonLimit> {
        let person = self.person.clone();
        person.map(|column| PersonLimit::new(column, self.unit.rows))
    }

    /// Returns the δ for which ε of a release that costs δ′ is stated.
    pub(super) fn delta_with(&self, new_delta: f64) -> f64 {
        let of = |number| Decimal::shortest(number).unwrap_or_else(|| 0i64.into());
        self.delta.unwrap_or_else(|| of(DELTA).plus(&of(new_delta)).rounded_up())
    }

    /// Returns the comment at the start of the schema.
    fn comment(&self, report: &PrivateDraftReport) -> String {
        let mut text = format!(
            "# From noisy counts of the records: {}, rho {} in all. The folders next to this file\n\
             # have statements and measurements. No record is dropped: `missing` is the cell of\n\
             # missing values, and `other` that of all values without another cell.\n",
            counted(report.releases, ["release", "releases"]),
            shortest(report.rho)
        );
        if !self.columns.is_empty() {
            text += "# `below` and `above` are the cells of numbers beyond the edges.\n";
        }
        if !self.open.is_empty() {
            text += "# Texts that few records have are not listed.\n";
        }
        text
    }
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
