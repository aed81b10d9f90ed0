//! Tables whose columns fit a schema, before any record is read.

use super::person_limit::PersonLimit;
use super::table::{Batch, ColumnHeader, ReadError, TypedTable};
use crate::error::{Error, Result};
use crate::schema::{ColumnType, Schema};

/// A table with one column of a suitable type for every attribute of a schema, and for the person.
///
/// Only the names and types of columns, which are public, are known. Other columns are ignored.
pub struct OpenTable {
    table: Box<dyn TypedTable>,
    /// The column of every attribute of the schema, then that of the person.
    columns: Vec<usize>,
    person: Option<PersonLimit>,
    /// The position of the attribute whose values differ between the records of a person.
    distinct: Option<usize>,
}

/// Omits the table, which contains records.
impl std::fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenTable").field("origin", &self.table.origin()).finish_non_exhaustive()
    }
}

impl OpenTable {
    /// Finds the columns of a schema and of the person.
    ///
    /// # Errors
    /// An attribute or the person without a column or with several; a column whose type has no
    /// value of its attribute; a column of persons that is neither text nor integers. No message
    /// quotes the table: what is read as a header may be a record.
    pub fn new(
        table: Box<dyn TypedTable>,
        schema: &Schema,
        person: Option<PersonLimit>,
    ) -> Result<Self> {
        Self::find(table, schema, person, "")
    }

    /// [`OpenTable::new`] for a table that may be seen: messages list its columns.
    pub(super) fn of_public(table: Box<dyn TypedTable>, schema: &Schema) -> Result<Self> {
        let names = table.columns().iter().filter_map(|column| column.name.as_deref());
        let among = format!(" among {}", names.collect::<Vec<_>>().join(", "));
        Self::find(table, schema, None, &among)
    }

    /// `among` ends messages on missing and repeated columns.
    fn find(
        table: Box<dyn TypedTable>,
        schema: &Schema,
        person: Option<PersonLimit>,
        among: &str,
    ) -> Result<Self> {
        let attributes = schema.attributes().iter().map(|a| a.name.as_str());
        let names: Vec<&str> =
            attributes.chain(person.as_ref().map(|limit| limit.column.as_str())).collect();
        let found: Vec<Vec<usize>> =
            names.iter().map(|name| columns_named(table.columns(), name)).collect();
        let listed = |is_wrong: &dyn Fn(usize) -> bool| {
            let wrong = names.iter().zip(&found).filter(|(_, columns)| is_wrong(columns.len()));
            wrong.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let (missing, repeated) = (listed(&|n| n == 0), listed(&|n| n > 1));
        let mut wrong = Vec::new();
        if !missing.is_empty() {
            wrong.push(format!("no column {missing}"));
        }
        if !repeated.is_empty() {
            wrong.push(format!("several columns {repeated}"));
        }
        if !wrong.is_empty() {
            return Err(Error::bad_input(
                format!("{}, header", table.origin()),
                "a column for every attribute of the schema, each once; of a CSV file, a first \
                 line in UTF-8 that names them, separated by commas",
                wrong.join(" and ") + among,
                "add a header line, export the file as CSV with commas (not semicolons or tabs) and \
                 decimal points, or rename columns or attributes; the header is public, so this \
                 check costs nothing",
            ));
        }
        let columns: Vec<usize> = found.into_iter().flatten().collect();
        let distinct = person.as_ref().and_then(|limit| limit.distinct.as_deref());
        let distinct = distinct.map(|name| schema.position(name)).transpose()?;
        let open = OpenTable { table, columns, person, distinct };
        open.check_types(schema)?;
        Ok(open)
    }

    fn check_types(&self, schema: &Schema) -> Result<()> {
        let refuse = |name: &str, expected: String, found: ColumnType, remedy: &str| {
            let what = format!("{}, column `{name}`", self.table.origin());
            Err(Error::bad_input(what, expected, format!("a column of {found}"), remedy))
        };
        let kind = |index: usize| self.table.columns()[self.columns[index]].kind;
        for (position, attribute) in schema.attributes().iter().enumerate() {
            let coder = schema.coder(position);
            if !coder.accepts(kind(position)) {
                let expected = format!("a type that has {}", coder.allowed());
                let remedy = "convert the column, or list its values in the schema with their \
                              type; types are public, so this check costs nothing";
                return refuse(&attribute.name, expected, kind(position), remedy);
            }
        }
        let Some(person) = &self.person else { return Ok(()) };
        let kind = kind(self.columns.len() - 1);
        match kind {
            ColumnType::Text | ColumnType::Integer | ColumnType::Any => Ok(()),
            ColumnType::Float
            | ColumnType::Boolean
            | ColumnType::Time
            | ColumnType::Unsupported(_) => {
                let expected = "identifiers of persons as text or integers".to_owned();
                let remedy = "convert the column to text or integers before the release; if \
                              floating-point numbers come from missing identifiers, read the \
                              column as text";
                refuse(&person.column, expected, kind, remedy)
            }
        }
    }

    pub(super) fn origin(&self) -> &str {
        self.table.origin()
    }

    /// Returns the limit on the records of a person.
    pub fn person(&self) -> Option<&PersonLimit> {
        self.person.as_ref()
    }

    /// Returns the position of the attribute whose values differ between the records of a person.
    pub(super) fn distinct(&self) -> Option<usize> {
        self.distinct
    }

    /// Returns the column of an attribute of the schema.
    pub(super) fn column_of(&self, position: usize) -> usize {
        self.columns[position]
    }

    /// Returns the values of the attributes, then of the person, of the next records.
    pub(super) fn next_batch(&mut self) -> std::result::Result<Option<Batch<'_>>, ReadError> {
        self.table.next_batch(&self.columns)
    }
}

/// Returns the columns with a name.
fn columns_named(columns: &[ColumnHeader], name: &str) -> Vec<usize> {
    let name = name.trim();
    let named =
        columns.iter().enumerate().filter(|(_, column)| column.name.as_deref() == Some(name));
    named.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, new_empty_array,
        new_null_array,
    };
    use arrow_schema::{DataType, TimeUnit};

    use super::*;
    use crate::data::table::{MemoryColumn, MemoryTable};

    const SCHEMA: &str = "[[attribute]]\nname = \"sex\"\nsize = 2\nkind = \"categorical\"\n\
                          values = [\"f\", \"m\"]\n";

    fn open(
        columns: Vec<(&str, MemoryColumn)>,
        person: Option<&str>,
    ) -> std::result::Result<OpenTable, String> {
        let columns = columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
        let table = MemoryTable::new(columns).unwrap().reader();
        let person = person.map(|column| PersonLimit::new(column, 1));
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        OpenTable::new(Box::new(table), &schema, person).map_err(|error| error.to_string())
    }

    /// The message has no value and no number of records.
    #[test]
    fn columns_are_refused_by_type() {
        let text = || MemoryColumn::Values(ColumnType::Text, Vec::new());
        let array = |array: ArrayRef| MemoryColumn::Array(array);
        for column in [
            array(Arc::new(Int64Array::from(vec![77; 33]))),
            array(Arc::new(Float64Array::from(vec![77.0; 33]))),
            array(Arc::new(BooleanArray::from(vec![true; 33]))),
            array(Arc::new(Date32Array::from(vec![77; 33]))),
            array(new_null_array(&DataType::Time32(TimeUnit::Second), 33)),
        ] {
            let message = open(vec![("sex", column)], None).unwrap_err();
            assert!(message.contains("`sex`") && message.contains("f, m"), "{message}");
            assert!(!message.contains("77") && !message.contains("33"), "{message}");
        }
        let column = |kind: DataType| array(new_empty_array(&kind));
        assert!(open(vec![("sex", text()), ("id", column(DataType::Float64))], None).is_ok());
        let zoned = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
        for (column, is_accepted) in [
            (text(), true),
            (column(DataType::Int8), true),
            (column(DataType::UInt64), true),
            (column(DataType::Decimal128(20, 0)), true),
            (column(DataType::LargeUtf8), true),
            (MemoryColumn::Values(ColumnType::Any, Vec::new()), true),
            (column(DataType::Decimal128(20, 1)), false),
            (column(DataType::Float64), false),
            (column(DataType::Float32), false),
            (column(DataType::Boolean), false),
            (column(DataType::Date32), false),
            (column(zoned), false),
        ] {
            let found = open(vec![("sex", text()), ("id", column)], Some("id"));
            assert_eq!(found.is_ok(), is_accepted, "{found:?}");
        }
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = || MemoryColumn::Values(ColumnType::Text, Vec::new());
        assert!(open(vec![(" sex ", text()), ("x", text())], None).is_ok());
        let message = open(vec![("sex", text()), ("sex", text())], Some("id")).unwrap_err();
        assert!(message.contains("no column `id` and several columns `sex`"), "{message}");
    }
}
