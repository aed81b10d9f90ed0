//! Statements that count the marginals of a workload where the table is.

use std::collections::HashMap;

use matmech::data::{CountedRows, MarginalEngine, OutOfDomain, PersonLimit};
use matmech::domain::AttributeSet;
use matmech::engine::{CountingSql, Dialect, PersonColumn, SqlType};
use matmech::error::Result;
use matmech::schema::{CellBox, Schema};
use matmech::workload::GroupedWorkload;

/// A table of an engine.
#[derive(Debug, Clone)]
pub struct EngineTable {
    /// The dialect of the engine.
    pub dialect: Dialect,
    /// The name of the table: parts between dots.
    pub table: String,
    /// The types of columns, as the engine names them; the schema decides the others.
    pub types: HashMap<String, String>,
    /// The column that orders the records of a person.
    pub order: Option<String>,
}

/// A view and the statements that count marginals in it.
#[derive(Debug)]
pub struct Script {
    /// The query of the view.
    pub view: String,
    /// The attributes of every marginal, with its statement.
    pub statements: Vec<(AttributeSet, String)>,
}

/// What runs a statement and returns its rows of integers.
pub trait SqlEngine: Send + Sync {
    /// Runs a statement.
    ///
    /// # Errors
    /// A statement that cannot be run. No message has a value of the table.
    fn rows(&self, statement: &str) -> Result<CountedRows>;
}

impl<E: SqlEngine + ?Sized> SqlEngine for std::sync::Arc<E> {
    fn rows(&self, statement: &str) -> Result<CountedRows> {
        (**self).rows(statement)
    }
}

/// The marginals of a table that an engine counts one by one.
pub(crate) struct Counted<E> {
    pub(crate) sql: CountingSql,
    pub(crate) engine: E,
}

impl<E: SqlEngine> MarginalEngine for Counted<E> {
    fn count(&self, attributes: AttributeSet) -> Result<CountedRows> {
        self.engine.rows(&self.sql.count(attributes))
    }
}

impl EngineTable {
    /// Returns the statements for this table.
    ///
    /// # Errors
    /// Names or types that the statements cannot have.
    pub fn counting(
        &self,
        schema: &Schema,
        person: Option<PersonLimit>,
        rule: OutOfDomain,
    ) -> Result<CountingSql> {
        let mut types = HashMap::new();
        for attribute in schema.attributes() {
            let name = attribute.name.trim();
            if let Some(kind) = self.type_of(name)? {
                types.insert(name.to_owned(), kind);
            }
        }
        let person = match person {
            None => None,
            Some(limit) => {
                let any =
                    if self.dialect == Dialect::Sqlite { SqlType::Any } else { SqlType::Text };
                let kind = self.type_of(limit.column.trim())?.unwrap_or(any);
                Some(PersonColumn { limit, kind, order: self.order.clone() })
            }
        };
        CountingSql::of(schema, (self.dialect, &self.table), &types, person.as_ref(), rule)
    }

    /// Returns the declared type of a column. Engines do not tell upper from lower case.
    fn type_of(&self, name: &str) -> Result<Option<SqlType>> {
        let similar = || self.types.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let declared = self.types.get(name).or_else(|| similar().map(|(_, kind)| kind));
        declared.map(|kind| kind.parse()).transpose()
    }

    /// Returns the view, and a statement for every set of attributes of a workload that no other
    /// one contains: a release derives the marginals on fewer attributes.
    ///
    /// # Errors
    /// As [`EngineTable::counting`] and [`OutOfDomain::check`].
    pub fn script(
        &self,
        workload: &GroupedWorkload,
        person: Option<PersonLimit>,
        rule: OutOfDomain,
        view: &str,
    ) -> Result<Script> {
        rule.check(workload.schema())?;
        let sql = self.counting(workload.schema(), person, rule)?;
        let view = self.dialect.table(view)?;
        let queried = workload.groups().iter().map(|group| group.attributes());
        let public = workload.schema().public_counts().iter().map(CellBox::attributes);
        let statements = maximal(queried.chain(public))
            .into_iter()
            .map(|set| (set, CountingSql::count_in(set, &view)))
            .collect();
        let query = format!("CREATE VIEW {view} AS\n{}", sql.view());
        Ok(Script { view: query, statements })
    }
}

/// Returns the sets that are not in another one, in order.
fn maximal(sets: impl Iterator<Item = AttributeSet>) -> Vec<AttributeSet> {
    let mut found: Vec<AttributeSet> = Vec::new();
    for set in sets {
        if !found.iter().any(|other| set.is_subset(*other)) {
            found.retain(|other| !other.is_subset(set));
            found.push(set);
        }
    }
    found
}
