//! `matmech sql`: statements that count marginals where the table is.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::output;
use crate::record_rule::private_rule;
use crate::target::Target;
use matmech::data::{OutOfDomain, PersonLimit};
use matmech::engine::{Dialect, cell_column};
use matmech::schema::Schema;
use matmech_app::sql::EngineTable;

/// The view that the statements create.
const VIEW: &str = "matmech_cells";

/// Arguments of `matmech sql`.
#[derive(Debug, Args)]
pub(super) struct SqlCommand {
    /// Schema file (TOML)
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    target: Target,
    /// The table: names between dots; names with dots in double quotation marks
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The dialect of SQL
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(Dialect::names())
            .try_map(|name| name.parse::<Dialect>())
    )]
    dialect: Dialect,
    /// Type of a column, e.g. `age=bigint`; may be repeated
    ///
    /// By default the type of the listed values of the schema, and `double` for bins and cell
    /// numbers. SQLite ignores it, because its values have types of their own.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, String)>,
    /// How to handle values outside the schema in attributes without a cell for other values
    ///
    /// By default a schema with such an attribute is refused, as by `release`.
    #[arg(long, value_parser = private_rule(), default_value = "other")]
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
    /// Column that orders the records of a person; then, and without it, their cells do
    #[arg(long, value_name = "COLUMN", requires = "person")]
    order: Option<String>,
}

fn column_type(text: &str) -> Result<(String, String), String> {
    let pair = text.rsplit_once('=').ok_or("expected COLUMN=TYPE, e.g. age=bigint")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

impl SqlCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let schema = Schema::read(&self.schema)?;
        let (workload, _) = self.target.source().read(&schema)?;
        let table = EngineTable {
            dialect: self.dialect,
            table: self.table.clone(),
            types: self.types.iter().cloned().collect(),
            order: self.order.clone(),
        };
        let (rows, distinct) = (self.unit_rows, self.distinct.clone());
        let person = self.person.clone().map(|column| PersonLimit { column, rows, distinct });
        let script = table.script(&workload, person, self.out_of_domain, VIEW)?;
        output::to_standard_output("the statements", |out| {
            for (position, attribute) in schema.attributes().iter().enumerate() {
                writeln!(out, "-- {}: {}", cell_column(position), harmless(&attribute.name))?;
            }
            writeln!(out, "{};", script.view)?;
            for (set, statement) in &script.statements {
                writeln!(out, "-- {}", harmless(&schema.names(*set)))?;
                writeln!(out, "{statement};")?;
            }
            Ok(())
        })
    }
}

/// Returns a name for a comment: other characters than letters and digits could end it.
fn harmless(name: &str) -> String {
    let is_kept = |c: char| c.is_alphanumeric() || " _,.".contains(c);
    name.chars().map(|c| if is_kept(c) { c } else { '?' }).collect()
}
