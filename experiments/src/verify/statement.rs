//! Statements on the committed results: their form, and the values that they compare.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::columns;
use crate::table::Table;

/// Whether a statement holds, or what was found instead.
pub(super) type Holds = Result<(), String>;

/// A statement on committed results.
pub(super) struct Statement {
    /// The statement, in a few words.
    pub(super) says: &'static str,
    /// The results and pages that it is about; without one of them, it is not checked.
    pub(super) files: &'static [&'static str],
    /// Checks it below a root.
    pub(super) check: fn(&Path) -> Holds,
}

/// Refuses with a message unless a condition holds.
pub(super) fn ensure(condition: bool, found: impl FnOnce() -> String) -> Holds {
    if condition { Ok(()) } else { Err(found()) }
}

/// Reads a page.
pub(super) fn page(root: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
}

/// Checks that a page has a text, up to line breaks.
pub(super) fn says(root: &Path, name: &str, text: &str) -> Holds {
    let page = page(root, name)?.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure(page.contains(text), || format!("{name} lacks: {text}"))
}

/// Reads a result table.
pub(super) fn table(root: &Path, name: &str) -> Result<Table, String> {
    let file = format!("results/{name}.csv");
    Table::read(&root.join(&file), &file, "run the experiment again")
        .map_err(|error| error.to_string())
}

/// The values of the methods of one cell.
pub(super) type Methods = BTreeMap<String, f64>;

/// Values of a result table, by its key columns, then by method.
pub(super) struct Values {
    table: String,
    cells: BTreeMap<Vec<String>, Methods>,
}

impl Values {
    /// Reads the values of some metrics.
    pub(super) fn read(root: &Path, name: &str, metrics: &[&str]) -> Result<Self, String> {
        let table = table(root, name)?;
        let is_key = |column: &&str| !columns::is_fixed(column);
        let keys: Vec<&str> = table.columns().into_iter().filter(is_key).collect();
        let mut cells: BTreeMap<Vec<String>, Methods> = BTreeMap::new();
        for row in 0..table.len() {
            if metrics.contains(&table.field(columns::METRIC, row)) {
                let key = keys.iter().map(|column| table.field(column, row).to_owned()).collect();
                let value = table.number(columns::VALUE, row);
                let value = value.ok_or_else(|| format!("{name}: line {}", table.line(row)))?;
                let method = table.field(columns::METHOD, row).to_owned();
                cells.entry(key).or_default().insert(method, value);
            }
        }
        Ok(Self { table: name.to_owned(), cells })
    }

    /// Reads the errors of the plans of a table.
    pub(super) fn errors(root: &Path, name: &str) -> Result<Self, String> {
        Self::read(root, name, &["rmse", "wrmse"])
    }

    /// Iterates over the cells.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Vec<String>, &Methods)> {
        self.cells.iter()
    }

    /// Returns the values of a cell.
    pub(super) fn cell<K: AsRef<str>>(&self, key: &[K]) -> Result<&Methods, String> {
        let key: Vec<String> = key.iter().map(|field| field.as_ref().to_owned()).collect();
        self.cells.get(&key).ok_or_else(|| format!("{}: no {key:?}", self.table))
    }

    /// Returns a value.
    pub(super) fn value<K: AsRef<str>>(&self, key: &[K], method: &str) -> Result<f64, String> {
        of(self.cell(key)?, method).map_err(|error| format!("{}: {error}", self.table))
    }
}

/// Returns the value of a method.
pub(super) fn of(methods: &Methods, method: &str) -> Result<f64, String> {
    methods.get(method).copied().ok_or_else(|| format!("no {method} in {methods:?}"))
}
