//! Tests of the data sets of experiments: real if available, otherwise stand-ins, always labelled.

use std::fs;
use std::sync::Arc;

use clap::Parser;
use experiments::cli::{Arguments, execute};
use experiments::config::{self, Profile};
use experiments::datasets::{Catalogue, STAND_IN};
use experiments::engine::{Display, ExperimentPlan};
use experiments::error::Result;
use experiments::experiment::{Cell, Experiment, Row};
use experiments::files::sha256_hex;
use experiments::registry::{self, Kinds};
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

use crate::engine::toy::Project;

const CONFIG: &str = "experiment = 'count/one'\nkind = 'count'\ntitle = 'Counts'\n\
                      reproduces = 'Nothing, Table 1'\n\
                      seed = 7\nexpected_seconds = 1\nexpected_mb = 20\n[grid]\n\
                      tables = ['titanic', 'loans']\n";

const LOANS: &str = "rate,state\n3,0\n3,1\n9,1\n";

/// Counts the records of tables.
#[derive(Debug)]
struct Count {
    catalogue: Catalogue,
    /// Label of every cell, regardless of the table.
    label: Option<&'static str>,
}

impl Experiment for Count {
    fn kind(&self) -> &'static str {
        "count"
    }

    fn summary(&self) -> &'static str {
        "numbers of records"
    }

    fn revision(&self) -> u32 {
        1
    }

    fn key_columns(&self) -> &'static [&'static str] {
        &["dataset", "data"]
    }

    fn error_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    fn bounded_by(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn lower_bound_method(&self) -> Option<&'static str> {
        None
    }

    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>> {
        let tables = grid["tables"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let cell = |name: &str| {
            let data = self.catalogue.identify(name)?;
            let label = self.label.unwrap_or(data.label());
            Ok(Cell {
                key: vec![
                    ("dataset".to_owned(), name.to_owned()),
                    ("data".to_owned(), label.to_owned()),
                ],
                method: "count".to_owned(),
                params: json!({ "data": data }),
            })
        };
        tables.map(cell).collect()
    }

    fn run(&self, cell: &Cell, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let table = self.catalogue.load(&cell.key[0].1)?;
        Ok(vec![Row::new("records", table.records.len() as f64)])
    }
}

/// Returns a project with the config `count/one`.
fn project() -> Project {
    let project = Project::new();
    fs::remove_file(project.root().join("configs/toy/one.toml")).unwrap();
    project.write("configs/count/one.toml", CONFIG);
    project
}

fn catalogue(project: &Project) -> Catalogue {
    Catalogue::new(project.root(), project.folders())
}

/// Runs `reproduce <words>` with a new catalogue, like a new process.
fn reproduce(project: &Project, words: &[&str]) {
    let catalogue = catalogue(project);
    let experiments: Vec<Box<dyn Experiment>> =
        vec![Box::new(Count { catalogue: catalogue.clone(), label: None })];
    let kinds = Kinds { experiments, figures: registry::figures() };
    let root = project.root().to_str().unwrap();
    let words = ["reproduce", "--root", root].into_iter().chain(words.iter().copied());
    execute(&Arguments::try_parse_from(words).unwrap(), &kinds, &catalogue, &Display::plain())
        .unwrap();
}

/// Returns (data set, label, records) of every row of the result table.
fn results(project: &Project) -> Vec<(String, String, String)> {
    let table = project.table("results/stand-in/count/one.csv");
    let field = |column: &str, row| table.field(column, row).to_owned();
    (0..table.len())
        .map(|row| (field("dataset", row), field("data", row), field("value", row)))
        .collect()
}

fn row(name: &str, label: &str, records: &str) -> (String, String, String) {
    (name.to_owned(), label.to_owned(), records.to_owned())
}

fn provenance(project: &Project) -> Value {
    serde_json::from_str(&project.read("results/stand-in/count/one.provenance.json")).unwrap()
}

#[test]
fn table_is_a_stand_in_until_the_file_exists() {
    let project = project();
    let tables = catalogue(&project);
    let stand_in = tables.load("titanic").unwrap();
    assert_eq!((stand_in.records.len(), stand_in.schema.attributes().len()), (1304, 9));
    assert_eq!((stand_in.data.label(), &stand_in.data.sha256), (STAND_IN, &None));
    assert!(stand_in.data.stand_in_revision.is_some());
    assert!(
        Arc::ptr_eq(&stand_in, &tables.clone().load("titanic").unwrap()),
        "read once per process"
    );

    project.write("own/loans.csv", LOANS);
    let real = tables.load("loans").unwrap();
    assert_eq!(
        (real.records.sizes(), real.records.len(), real.data.real),
        ([2, 2].as_slice(), 3, true)
    );
    assert_eq!(real.data.sha256, Some(sha256_hex(LOANS.as_bytes())));
    let message = format!("{:#}", tables.identify("lones").unwrap_err());
    assert!(message.contains("adult, loans, acs"), "{message}");
}

#[test]
fn file_of_the_manifest_needs_its_checksum() {
    let project = project();
    let text = "a,b\n1,2\n0,2\n";
    let manifest = |hash: &str| {
        format!(
            "[[dataset]]\nname = \"titanic\"\nfile = \"titanic.csv\"\n\
             url = \"file:///no/such/file\"\nsha256 = \"{hash}\"\n\
             licence = \"none\"\nsource = \"the archive\"\nrequired = false\n"
        )
    };
    project.write("data/manifest.toml", &manifest(&sha256_hex(text.as_bytes())));
    project.write("own/titanic.csv", text);
    assert_eq!(catalogue(&project).load("titanic").unwrap().records.len(), 2);
    project.write("data/manifest.toml", &manifest(&"0".repeat(64)));
    let message = format!("{:#}", catalogue(&project).identify("titanic").unwrap_err());
    assert!(message.contains("titanic.csv") && message.contains(&"0".repeat(64)), "{message}");
}

#[test]
fn results_are_labelled_and_a_new_file_is_used_at_once() {
    let project = project();
    reproduce(&project, &["run", "count/one"]);
    assert_eq!(
        results(&project),
        [row("titanic", "stand-in", "1304"), row("loans", "stand-in", "42535")]
    );
    let data = &provenance(&project)["data"];
    assert_eq!((&data[0]["name"], &data[0]["real"]), (&json!("loans"), &json!(false)));
    assert_eq!(data.as_array().unwrap().len(), 2);

    project.write("own/loans.csv", LOANS);
    reproduce(&project, &["run", "count/one"]);
    assert_eq!(results(&project), [row("titanic", "stand-in", "1304"), row("loans", "real", "3")]);
    let record = provenance(&project);
    assert_eq!(record["data"][0]["sha256"], json!(sha256_hex(LOANS.as_bytes())));
    assert_eq!((&record["cells_computed"], &record["cells_reused"]), (&json!(1), &json!(1)));

    // Another file with the same name is different data.
    project.write("own/loans.csv", &format!("{LOANS}9,0\n"));
    reproduce(&project, &["run", "count/one"]);
    assert_eq!(results(&project)[1], row("loans", "real", "4"));
}

#[test]
fn cell_with_a_wrong_label_is_refused() {
    let project = project();
    let config = config::load(&project.root().join("configs/count/one.toml")).unwrap();
    let kinds = |label| -> Vec<Box<dyn Experiment>> {
        vec![Box::new(Count { catalogue: catalogue(&project), label })]
    };
    let correct = kinds(None);
    let plan = ExperimentPlan::new(&config, &correct, Profile::Standard).unwrap();
    let names: Vec<&str> = plan.data().iter().map(|data| data.name.as_str()).collect();
    assert_eq!(names, ["loans", "titanic"]);
    let wrong = kinds(Some("real"));
    let message =
        ExperimentPlan::new(&config, &wrong, Profile::Standard).err().unwrap().to_string();
    assert!(message.contains("key column `data` is its label"), "{message}");
}
