//! The view of all cells, and the statement of a marginal.

use std::collections::HashMap;
use std::fmt::Write as _;

use num_bigint::BigInt;

use super::cases::{Cases, Cell};
use super::dialect::{Dialect, Side};
use super::number_text::TextNumber;
use super::numbers::{Numbers, is_infinite};
use super::sql_type::SqlType;
use crate::data::{OutOfDomain, PersonLimit};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::{ListedValue, Schema};

/// The column of counts.
pub const COUNT: &str = "count";

/// Returns the name of the column with the cell numbers of an attribute.
pub fn cell_column(position: usize) -> String {
    format!("cell_{position}")
}

/// The white space that surrounds a text and does not count, as in [`str::trim`].
const SPACES: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\
                      \u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\
                      \u{202f}\u{205f}\u{3000}";

/// The column of persons in an engine.
#[derive(Debug, Clone)]
pub struct PersonColumn {
    /// The limit on the records of a person.
    pub limit: PersonLimit,
    /// The type of the column.
    pub kind: SqlType,
    /// The column that orders the records of a person; then their cells do.
    pub order: Option<String>,
}

/// The statements that count the marginals of one table.
#[derive(Debug, Clone)]
pub struct CountingSql {
    view: String,
}

impl CountingSql {
    /// Writes the view of a table. It has a column [`cell_column`] per attribute, and the records
    /// that a release keeps.
    ///
    /// The first records of a person are those with the smallest values of the column `order`, then
    /// with the smallest cells. Records with equal cells are not told apart, so the counts are a
    /// function of the table, whatever the order in which an engine reads it. If the records of a
    /// person have different values of an attribute, the first one of every cell is numbered.
    ///
    /// # Errors
    /// A name that SQL cannot have, or a column whose type has no value of its attribute.
    pub fn of(
        schema: &Schema,
        (dialect, table): (Dialect, &str),
        types: &HashMap<String, SqlType>,
        person: Option<&PersonColumn>,
        rule: OutOfDomain,
    ) -> Result<Self> {
        let attributes = schema.attributes();
        let mut source = Vec::new();
        let mut columns = Vec::new();
        for (position, attribute) in attributes.iter().enumerate() {
            let name = attribute.name.trim();
            let declared = types.get(name).copied();
            let kind = match dialect {
                Dialect::Sqlite => SqlType::Any,
                _ => declared.unwrap_or_else(|| SqlType::of_attribute(schema, position)),
            };
            let column = Column { position, kind, dialect };
            column.check(schema)?;
            source.push(format!("{} AS value_{position}", dialect.identifier(name)?));
            columns.push((column, Cases::of(schema, position, rule)));
        }
        if let Some(person) = person {
            let column = dialect.identifier(person.limit.column.trim())?;
            source.push(format!("{} AS person", identifier_of(dialect, &column, person.kind)?));
            if let Some(order) = &person.order {
                source.push(format!("{} AS place", dialect.identifier(order)?));
            }
        }
        let mut levels =
            vec![format!("SELECT {} FROM {}", source.join(", "), dialect.table(table)?)];
        for level in texts(&columns) {
            let added: Vec<String> =
                level.into_iter().map(|(name, of)| format!("{of} AS {name}")).collect();
            let last = levels.len() - 1;
            levels.push(format!("SELECT *, {} FROM level_{last}", added.join(", ")));
        }
        let mut cells: Vec<String> = columns
            .iter()
            .map(|(column, cases)| {
                format!("{} AS {}", column.cell(cases), cell_column(column.position))
            })
            .collect();
        let kept: Vec<String> = (0..attributes.len())
            .map(|position| format!("{} IS NOT NULL", cell_column(position)))
            .collect();
        let names: Vec<String> = (0..attributes.len()).map(cell_column).collect();
        let mut conditions = kept;
        if let Some(person) = person {
            cells.push("person".into());
            let mut order: Vec<String> =
                names.iter().map(|name| format!("COALESCE({name}, -1)")).collect();
            if person.order.is_some() {
                cells.push("place".into());
                order.insert(0, "place".into());
            }
            let last = levels.len() - 1;
            levels.push(format!("SELECT {} FROM level_{last}", cells.join(",\n  ")));
            let order = order.join(", ");
            let mut kept = "person IS NOT NULL".to_owned();
            if let Some(distinct) = &person.limit.distinct {
                let cell = cell_column(schema.position(distinct)?);
                levels.push(format!(
                    "SELECT *, ROW_NUMBER() OVER (PARTITION BY person, {cell} ORDER BY {order}) AS \
                     value_number FROM level_{} WHERE {kept} AND {cell} IS NOT NULL",
                    levels.len() - 1
                ));
                kept = "value_number = 1".into();
            }
            levels.push(format!(
                "SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}) AS \
                 record_number FROM level_{} WHERE {kept}",
                levels.len() - 1
            ));
            conditions.push(format!("record_number <= {}", person.limit.rows));
        } else {
            let last = levels.len() - 1;
            levels.push(format!("SELECT {} FROM level_{last}", cells.join(",\n  ")));
        }
        let mut view = "WITH ".to_owned();
        for (index, level) in levels.iter().enumerate() {
            let comma = if index > 0 { ",\n" } else { "" };
            // Writing to a string does not fail.
            let fence = dialect.fence();
            let _ = write!(view, "{comma}level_{index} AS (\n  {level}{fence})");
        }
        let (names, conditions) = (names.join(", "), conditions.join(" AND "));
        let last = levels.len() - 1;
        let _ = write!(view, "\nSELECT {names} FROM level_{last} WHERE {conditions}");
        Ok(CountingSql { view })
    }

    /// Returns the query of the view, without a semicolon.
    pub fn view(&self) -> &str {
        &self.view
    }

    /// Returns the statement that counts a marginal in a view of this name.
    pub fn count_in(set: AttributeSet, view: &str) -> String {
        let names: Vec<String> = set.positions().map(cell_column).collect();
        match names.join(", ") {
            names if names.is_empty() => format!("SELECT COUNT(*) AS {COUNT} FROM {view}"),
            names => {
                format!("SELECT {names}, COUNT(*) AS {COUNT} FROM {view} GROUP BY {names}")
            }
        }
    }

    /// Returns the statement that counts a marginal without a view.
    pub fn count(&self, set: AttributeSet) -> String {
        Self::count_in(set, &format!("(\n{}\n) AS cells", self.view))
    }
}

/// Returns the identifier of a person as a text; null if a record has none.
fn identifier_of(dialect: Dialect, column: &str, kind: SqlType) -> Result<String> {
    let trimmed = dialect.trim(Side::Both, SPACES, &dialect.as_text(column));
    let text = format!("NULLIF({trimmed}, '')");
    match kind {
        SqlType::Text => Ok(text),
        SqlType::Integer | SqlType::Decimal { scale: 0, .. } => Ok(dialect.as_text(column)),
        SqlType::Any => {
            Ok(format!("CASE WHEN typeof({column}) IN ('text', 'integer') THEN {text} END"))
        }
        other => {
            let expected = "identifiers of persons as text or integers";
            let remedy = "convert the column to text or integers";
            Err(Error::bad_input("person", expected, format!("a column of {other}"), remedy))
        }
    }
}

/// Returns the columns computed level by level for all columns with texts.
fn texts(columns: &[(Column, Cases)]) -> Vec<Vec<(String, String)>> {
    let mut levels: Vec<Vec<(String, String)>> = Vec::new();
    let mut add = |index: usize, level: Vec<(String, String)>| {
        levels.resize_with(levels.len().max(index + 1), Vec::new);
        levels[index].extend(level);
    };
    for (column, cases) in columns.iter().filter(|(column, _)| column.has_text()) {
        let dialect = column.dialect;
        let text = dialect.trim(Side::Both, SPACES, &dialect.as_text(&column.value()));
        add(0, vec![(column.text(), text)]);
        if cases.has_numbers() {
            let number = TextNumber::new(column.position);
            for (index, level) in number.levels(dialect).into_iter().enumerate() {
                add(index + 1, level);
            }
        }
    }
    levels
}

/// The column of one attribute.
struct Column {
    position: usize,
    kind: SqlType,
    dialect: Dialect,
}

impl Column {
    fn value(&self) -> String {
        format!("value_{}", self.position)
    }

    fn text(&self) -> String {
        format!("text_{}", self.position)
    }

    fn has_text(&self) -> bool {
        matches!(self.kind, SqlType::Text | SqlType::Any)
    }

    /// Refuses a type that has no value of the attribute.
    fn check(&self, schema: &Schema) -> Result<()> {
        let coder = schema.coder(self.position);
        if coder.accepts(self.kind.column_type()) {
            return Ok(());
        }
        let what = format!("column `{}`", schema.attributes()[self.position].name);
        let expected = format!("a type that has {}", coder.allowed());
        let remedy = "convert the column, or list its values in the schema with their type; types \
                      are public, so this check costs nothing";
        Err(Error::bad_input(what, expected, format!("a column of {}", self.kind), remedy))
    }

    /// Returns the expression of the cell.
    fn cell(&self, cases: &Cases) -> String {
        let value = self.value();
        let missing = format!("{value} IS NULL THEN {}", of(cases.missing));
        let outside = of(cases.outside);
        let limit = |bits: u32| (BigInt::from(1) << bits) - 1;
        let integers = Numbers::Grid { scale: 0, limit: limit(self.dialect.integer_bits()) };
        match self.kind {
            SqlType::Integer => case(&[missing], &self.numbers(&integers, cases)),
            SqlType::Decimal { digits, scale } => {
                let grid = Numbers::Grid { scale, limit: BigInt::from(10).pow(digits) - 1 };
                case(&[missing], &self.numbers(&grid, cases))
            }
            SqlType::Double | SqlType::Single => {
                let is_single = self.kind == SqlType::Single;
                let nan = self.dialect.float("NaN", is_single);
                let nan = format!("{value} = {nan} THEN {}", of(cases.missing));
                case(&[missing, nan], &self.floats(is_single, cases))
            }
            SqlType::Text => case(&[missing], &self.texts(cases)),
            SqlType::Boolean => {
                let [no, yes] = cases.booleans.map(of);
                case(&[missing, format!("{value} THEN {yes}")], &no)
            }
            SqlType::Time => {
                // Engines have microseconds.
                let listed = cases.times.iter().filter(|(time, _)| time % 1000 == 0);
                let tests = listed.map(|(time, cell)| {
                    let text = ListedValue::Time(*time).to_string().replace('T', " ");
                    let [value, time] = [value.as_str(), &format!("'{text}'")]
                        .map(|of| format!("CAST({of} AS TIMESTAMP)"));
                    format!("{value} = {time} THEN {}", of(*cell))
                });
                case(&[missing].into_iter().chain(tests).collect::<Vec<_>>(), &outside)
            }
            SqlType::Any => {
                let of_type =
                    |name: &str, cell: String| format!("typeof({value}) = '{name}' THEN {cell}");
                let tests = [
                    missing,
                    of_type("integer", self.numbers(&integers, cases)),
                    of_type("real", self.floats(false, cases)),
                    of_type("text", self.texts(cases)),
                ];
                case(&tests, &outside)
            }
        }
    }

    fn floats(&self, is_single: bool, cases: &Cases) -> String {
        let infinite = is_infinite(self.dialect, &self.value(), is_single);
        let infinite = format!("{infinite} THEN {}", of(cases.outside));
        case(&[infinite], &self.numbers(&Numbers::Float { is_single }, cases))
    }

    fn texts(&self, cases: &Cases) -> String {
        let text = self.text();
        let mut tests: Vec<String> = Vec::new();
        for (listed, cell) in &cases.texts {
            tests.push(format!("{text} = {} THEN {}", self.dialect.literal(listed), of(*cell)));
        }
        for (time, cell) in &cases.times {
            tests.extend(self.time(*time).map(|test| format!("{test} THEN {}", of(*cell))));
        }
        if !cases.has_numbers() {
            return case(&tests, &of(cases.outside));
        }
        let number = TextNumber::new(self.position);
        tests.push(format!("{} THEN {}", number.is_number(), {
            self.numbers(&Numbers::Text(&number), cases)
        }));
        case(&tests, &of(cases.outside))
    }

    /// Returns the condition that a text is a time with a fraction of a second.
    fn time(&self, time: i128) -> Option<String> {
        let written = ListedValue::Time(time).to_string();
        let (date, clock) = written.split_once('T').unwrap_or((&written, "00:00:00"));
        let (seconds, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let text = self.text();
        let rest = self.dialect.trim(Side::Trailing, "0", &format!("substr({text}, 21)"));
        (date.len() == 10 && seconds.len() == 8).then(|| {
            format!(
                "substr({text}, 1, 10) = '{date}' AND substr({text}, 11, 1) IN ('T', ' ') AND \
                 substr({text}, 12, 8) = {} AND substr({text}, 20, 1) = '.' AND length({text}) \
                 BETWEEN 21 AND 29 AND {rest} = '{fraction}'",
                self.dialect.literal(seconds)
            )
        })
    }

    fn numbers(&self, numbers: &Numbers<'_>, cases: &Cases) -> String {
        let value = self.value();
        let single = cases.numbers.iter().filter_map(|(number, cell)| {
            let test = numbers.equals(self.dialect, &value, number)?;
            Some(format!("{test} THEN {}", of(*cell)))
        });
        let fractions = match cases.has_fractions {
            true => None,
            false => numbers.is_fraction(self.dialect, &value),
        };
        let fractions = fractions.map(|test| format!("{test} THEN {}", of(cases.outside)));
        let intervals = cases.intervals.iter().map(|interval| {
            let test = numbers.up_to(self.dialect, &value, &interval.bound, interval.is_included);
            format!("{test} THEN {}", of(interval.cell))
        });
        case(&single.chain(fractions).chain(intervals).collect::<Vec<_>>(), &of(cases.beyond))
    }
}

/// Returns a CASE expression of tests with their cells.
fn case(tests: &[String], otherwise: &str) -> String {
    match tests {
        [] => otherwise.to_owned(),
        tests => format!("CASE WHEN {} ELSE {otherwise} END", tests.join(" WHEN ")),
    }
}

fn of(cell: Cell) -> String {
    cell.map_or("NULL".to_owned(), |cell| cell.to_string())
}
