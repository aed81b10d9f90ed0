//! `matmech check-data`: checks a table against a schema before a release. **Not private.**

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output;
use crate::record_rule::private_rule;
use matmech::data::{AttributeCheck, DataCheck, OutOfDomain, PersonLimit};
use matmech::schema::Schema;
use matmech_app::check_data::{CheckReport, check_data};
use matmech_app::data::Data;

/// Arguments of `matmech check-data`.
#[derive(Debug, Args)]
pub(super) struct CheckDataCommand {
    /// Schema file (TOML)
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Records: CSV with a header, or Parquet
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// How to handle values outside the schema in attributes without a cell for other values
    #[arg(long, value_parser = private_rule(), default_value = "drop")]
    out_of_domain: OutOfDomain,
    /// Column that identifies a person; the first --unit-rows records of each person are kept
    #[arg(long, value_name = "COLUMN")]
    person: Option<String>,
    /// Maximum records per person
    #[arg(
        long,
        value_name = "K",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    unit_rows: u32,
    /// Attribute of which a person's records have different values: the first record of each is kept
    #[arg(long, value_name = "ATTRIBUTE", requires = "person")]
    distinct: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl CheckDataCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let schema = Schema::read(&self.schema)?;
        let (rows, distinct) = (self.unit_rows, self.distinct.clone());
        let person = self.person.clone().map(|column| PersonLimit { column, rows, distinct });
        let data = Data::File(self.data.clone());
        let report = check_data(&data, &schema, self.out_of_domain, person)?;
        output::write(&report, self.json, print)
    }
}

fn print(out: &mut dyn Write, report: &CheckReport) -> std::io::Result<()> {
    let DataCheck {
        records,
        kept,
        dropped,
        over_limit,
        without_person,
        impossible,
        attributes,
        offences,
    } = &report.check;
    writeln!(
        out,
        "NOT PRIVATE   exact counts and quoted values; only for people who may see the data"
    )?;
    writeln!(
        out,
        "records       {records} read, {kept} kept, {dropped} outside the schema, \
         {over_limit} over the limit per person, {without_person} without a person"
    )?;
    for (k, count) in impossible.iter().enumerate().filter(|(_, count)| **count > 0) {
        let number = k + 1;
        writeln!(out, "impossible    {count} kept records meet [[impossible]] condition {number}")?;
    }
    writeln!(
        out,
        "{:>10}  {:>10}  {:>10}  {:>10}  attribute",
        "missing", "outside", "clamped", "other"
    )?;
    for counts in attributes {
        let AttributeCheck { attribute, outside, clamped, other, missing } = counts;
        writeln!(out, "{missing:>10}  {outside:>10}  {clamped:>10}  {other:>10}  {attribute}")?;
    }
    // The valid values of an attribute are said once.
    let mut said: Vec<&Option<String>> = Vec::new();
    for offence in offences {
        let line = offence.line.unwrap_or_default();
        let attribute = offence.attribute.as_ref().map(|name| format!(", attribute `{name}`"));
        let at = format!("line {line}{}", attribute.unwrap_or_default());
        if said.contains(&&offence.attribute) {
            writeln!(out, "{at}: found {}", offence.found)?;
        } else {
            said.push(&offence.attribute);
            writeln!(out, "{at}: expected {}, found {}", offence.expected, offence.found)?;
        }
    }
    Ok(())
}
