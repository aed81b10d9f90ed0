//! `matmech check-data`: what a release would make of a file. Not private.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::output;
use crate::data::{DataCheck, OutOfDomain, PersonLimit, check_csv};
use crate::schema::Schema;

/// Arguments of `matmech check-data`.
#[derive(Debug, Args)]
pub(super) struct CheckDataCommand {
    /// Schema in TOML
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The records: CSV with a header
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// How records with a value outside the schema are handled, where the schema declares no cell
    /// for other values
    #[arg(long, value_enum, default_value_t = OutOfDomain::Drop)]
    out_of_domain: OutOfDomain,
    /// Column that tells persons apart: of the records of one person the first --unit-rows of the
    /// file are kept
    #[arg(long, value_name = "COLUMN")]
    person: Option<String>,
    /// Maximum records per person
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    unit_rows: u32,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    /// Never: every count is exact.
    is_private: bool,
    #[serde(flatten)]
    check: DataCheck,
}

impl CheckDataCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let schema = Schema::read(&self.schema)?;
        let person = self.person.clone().map(|column| PersonLimit { column, rows: self.unit_rows });
        let check = check_csv(&self.data, &schema, self.out_of_domain, person)?;
        output::write(&Report { is_private: false, check }, self.json, print)
    }
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let DataCheck { records, kept, dropped, over_limit, attributes, offences } = &report.check;
    writeln!(
        out,
        "NOT PRIVATE   counts are exact and values are quoted: for those who may see the data"
    )?;
    writeln!(
        out,
        "records       {records} read, {kept} kept, {dropped} outside the schema, {over_limit} over the limit of their person"
    )?;
    writeln!(out, "{:>10}  {:>10}  {:>10}  attribute", "outside", "clamped", "other")?;
    for own in attributes {
        writeln!(
            out,
            "{:>10}  {:>10}  {:>10}  {}",
            own.outside, own.clamped, own.other, own.attribute
        )?;
    }
    for own in offences {
        let of =
            own.attribute.as_ref().map_or(String::new(), |name| format!(", attribute `{name}`"));
        writeln!(out, "line {}{of}: expected {}, found {}", own.line, own.expected, own.found)?;
    }
    Ok(())
}
