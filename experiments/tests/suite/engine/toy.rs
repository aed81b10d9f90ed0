//! A kind of experiment whose cells draw pseudo-random numbers, and a project folder for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use experiments::columns::COSTS;
use experiments::config::{self, Config, Profile};
use experiments::datasets::Folders;
use experiments::engine::{
    Display, ExperimentPlan, Prepared, RunOptions, Summary, prepare, run_all,
};
use experiments::error::{Error, Result};
use experiments::experiment::{Cell, Experiment, Row};
use experiments::registry::{self, Kinds};
use experiments::table::Table;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

/// The toy kind, with variable properties that a `Kind` has as constants. Clones share the list of
/// computed cells.
#[derive(Debug, Clone)]
pub struct Toy {
    pub revision: u32,
    /// Names whose cells return an error.
    pub failing: Vec<&'static str>,
    /// Names whose cells panic.
    pub panicking: Vec<&'static str>,
    /// Names whose cells return NaN.
    pub undefined: Vec<&'static str>,
    /// Whether the bound of the sum is that of the product too.
    pub bounded: bool,
    /// Minimum time of a cell.
    pub pause: Duration,
    /// Computed cells, as name/method.
    pub computed: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    names: Vec<String>,
    methods: Vec<String>,
    draws: usize,
}

impl Toy {
    pub fn new() -> Self {
        Self {
            revision: 1,
            failing: vec![],
            panicking: vec![],
            undefined: vec![],
            bounded: false,
            pause: Duration::ZERO,
            computed: Arc::default(),
        }
    }

    /// Returns the cells computed since the last call, sorted.
    pub fn take_computed(&self) -> Vec<String> {
        let mut computed = std::mem::take(&mut *self.computed.lock().unwrap());
        computed.sort();
        computed
    }

    pub fn boxed(&self) -> Vec<Box<dyn Experiment>> {
        vec![Box::new(self.clone())]
    }

    /// Returns the toy kind, and the figures of the artifact.
    pub fn kinds(&self) -> Kinds {
        Kinds { experiments: self.boxed(), figures: registry::figures() }
    }
}

impl Experiment for Toy {
    fn kind(&self) -> &'static str {
        "toy"
    }

    fn summary(&self) -> &'static str {
        "sums of pseudo-random numbers"
    }

    fn revision(&self) -> u32 {
        self.revision
    }

    fn key_columns(&self) -> &'static [&'static str] {
        &["name"]
    }

    fn error_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>> {
        let grid: Grid = config::typed(grid)?;
        let mut cells = Vec::new();
        for name in &grid.names {
            for method in &grid.methods {
                if !["sum", "product"].contains(&method.as_str()) {
                    return Err(Error::unknown_name(
                        "methods",
                        "method",
                        method,
                        &["sum", "product"],
                    ));
                }
                cells.push(Cell {
                    key: vec![("name".to_owned(), name.clone())],
                    method: method.clone(),
                    params: json!({ "name": name, "method": method, "draws": grid.draws }),
                });
            }
        }
        Ok(cells)
    }

    fn bounded_by(&self, method: &str) -> Option<&'static str> {
        (self.bounded && method == "product").then_some("sum")
    }

    fn lower_bound_method(&self) -> Option<&'static str> {
        None
    }

    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let name = cell.key[0].1.as_str();
        self.computed.lock().unwrap().push(format!("{name}/{}", cell.method));
        thread::sleep(self.pause + Duration::from_millis(u64::from(rng.next_u32() % 8)));
        if self.failing.contains(&name) {
            return Err(Error::bug("a toy", "a name that is to be computed", name));
        }
        assert!(!self.panicking.contains(&name), "the name {name} panics");
        let draws = cell.params["draws"].as_u64().unwrap();
        // Division by a number that is not a power of two uses every bit of the result.
        let numbers: Vec<f64> = (0..draws).map(|_| (rng.next_u64() as f64 + 1.0) / 3e18).collect();
        let value: f64 = match cell.method.as_str() {
            "sum" => numbers.iter().sum(),
            _ => numbers.iter().product(),
        };
        let value = if self.undefined.contains(&name) { f64::NAN } else { value };
        let certified = Row::certified("value", value, value / 1.7, 0.7);
        Ok(vec![
            if self.bounded && cell.method == "product" {
                Row::new("value", value)
            } else {
                certified
            },
            Row::text("formula", format!("{} of {draws}, \"quoted\"", cell.method)),
        ])
    }
}

pub const CONFIG: &str = r#"
experiment = "toy/one"
kind = "toy"
title = "Numbers"
reproduces = "Nothing, Table 0"
seed = 7
expected_seconds = 1
expected_mb = 20
[grid]
names = ["ann", "bob", "cleo", "dan", "eve", "fay", "gus"]
methods = ["sum", "product"]
draws = 5
[profile.quick.grid]
names = ["bob", "eve"]
"#;

/// A temporary folder with the config `toy/one`.
#[derive(Debug)]
pub struct Project {
    pub dir: TempDir,
}

impl Project {
    pub fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        project.write("configs/toy/one.toml", CONFIG);
        project
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root().join(file)).unwrap()
    }

    /// Returns the folders of data sets below the project folder; the user's does not exist yet.
    pub fn folders(&self) -> Folders {
        Folders {
            user: Some(self.root().join("own")),
            tables: self.root().join("data/tables"),
            downloads: self.root().join("data/downloads"),
        }
    }

    pub fn config(&self) -> Config {
        config::load(&self.root().join("configs/toy/one.toml")).unwrap()
    }

    /// Runs `toy/one`.
    pub fn run_profile(
        &self,
        toy: &Toy,
        profile: Profile,
        options: &RunOptions,
    ) -> Result<Summary> {
        let config = self.config();
        let kinds = toy.boxed();
        let plan = ExperimentPlan::new(&config, &kinds, profile)?;
        finish(prepare(self.root(), vec![plan], options)?, options)
    }

    /// Runs `toy/one` under the profile `standard`.
    pub fn run(&self, toy: &Toy, options: &RunOptions) -> Result<Summary> {
        self.run_profile(toy, Profile::Standard, options)
    }

    /// Returns the files of stored cells, sorted.
    pub fn cell_files(&self) -> Vec<PathBuf> {
        let dir = self.root().join("results/cells/toy/one");
        let mut files: Vec<PathBuf> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Reads a table below the root.
    pub fn table(&self, file: &str) -> Table {
        Table::read(&self.root().join(file), file, "run the experiment").unwrap()
    }

    /// Returns header and rows of a result table without the columns of costs.
    pub fn deterministic_table(&self, file: &str) -> Vec<Vec<String>> {
        let table = self.table(file);
        let columns: Vec<&str> =
            table.columns().into_iter().filter(|column| !COSTS.contains(column)).collect();
        assert_eq!(columns.len() + COSTS.len(), table.columns().len());
        let header = columns.iter().map(|column| (*column).to_owned()).collect();
        let row = |row| columns.iter().map(|column| table.field(column, row).to_owned()).collect();
        [header].into_iter().chain((0..table.len()).map(row)).collect()
    }
}

/// Runs one prepared experiment.
pub fn finish(prepared: Vec<Prepared<'_>>, options: &RunOptions) -> Result<Summary> {
    let mut summary = Vec::new();
    run_all(prepared, options, &Display::plain(), |outcome| summary.push(outcome))?;
    summary.remove(0)
}

pub fn jobs(count: usize) -> RunOptions {
    RunOptions { jobs: count.try_into().unwrap(), ..RunOptions::default() }
}

pub fn only(key: &str) -> RunOptions {
    RunOptions { only: vec![key.to_owned()], ..jobs(2) }
}
