//! Tests of `reproduce verify`: committed results against their provenance.

use std::fs;

use clap::Parser;
use experiments::cli::{Arguments, execute};
use experiments::config::{self, Profile};
use experiments::datasets::Catalogue;
use experiments::engine::{Display, TableOutcome};
use experiments::error::Error;
use experiments::files::sha256_hex;
use experiments::verify::{self, Check, Verified};
use serde_json::Value;

use crate::engine::toy::{Project, Toy, jobs};

const TABLE: &str = "results/toy/one.csv";
const RECORD: &str = "results/toy/one.provenance.json";
const CONFIG: &str = "configs/toy/one.toml";
const NONE: [Check; 0] = [];

fn computed() -> Project {
    let project = Project::new();
    project.run(&Toy::new(), &jobs(2)).unwrap();
    project
}

fn verified_with(project: &Project, toy: &Toy) -> Verified {
    let configs = config::load_all(project.root()).unwrap();
    let catalogue = Catalogue::new(project.root(), project.folders());
    verify::run(project.root(), &configs, &toy.boxed(), &catalogue, Profile::Standard, false)
        .unwrap()
}

fn verified(project: &Project) -> Verified {
    verified_with(project, &Toy::new())
}

fn checks(verified: &Verified) -> Vec<Check> {
    verified.findings.iter().map(|finding| finding.check).collect()
}

fn edit(project: &Project, file: &str, from: &str, to: &str) {
    let text = project.read(file);
    assert!(text.contains(from), "{from} in {file}");
    project.write(file, &text.replacen(from, to, 1));
}

/// Changes the provenance record.
fn record(project: &Project, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
    let mut record: Value = serde_json::from_str(&project.read(RECORD)).unwrap();
    change(record.as_object_mut().unwrap());
    project.write(RECORD, &record.to_string());
}

/// Changes the table together with its hash in the record.
fn rewrite(project: &Project, change: impl Fn(&str) -> String) {
    let table = change(&project.read(TABLE));
    project.write(TABLE, &table);
    record(project, |record| {
        record.insert("table_sha256".to_owned(), sha256_hex(table.as_bytes()).into());
    });
}

#[test]
fn new_results_match_their_provenance() {
    let verified = verified(&computed());
    assert_eq!(checks(&verified), NONE);
    assert_eq!((verified.tables, verified.rows, verified.certificates), (1, 28, 14));
    assert!(
        verified
            .to_string()
            .ends_with("1 tables, 28 rows, 14 certificates: all match their provenance")
    );
}

#[test]
fn only_config_values_make_a_result_stale() {
    let project = computed();
    let before = (project.read(TABLE), project.read(RECORD));
    edit(&project, CONFIG, "title = \"Numbers\"", "title = \"Other words\" # and a comment");
    edit(&project, CONFIG, "names = [\"bob\", \"eve\"]", "names = [\"eve\"]");
    assert_eq!(checks(&verified(&project)), NONE, "neither a title nor another profile");
    // A run that computes nothing does not change the record.
    let again = project.run(&Toy::new(), &jobs(2)).unwrap();
    assert!(matches!(again.table, TableOutcome::Unchanged { .. }));
    assert_eq!((project.read(TABLE), project.read(RECORD)), before);

    edit(&project, CONFIG, "draws = 5", "draws = 6");
    let verified = verified(&project);
    assert_eq!(checks(&verified), [Check::Config]);
    assert!(verified.to_string().contains("toy/one: another kind, seed or grid"), "{verified}");
}

#[test]
fn records_without_values_hash_are_checked_by_config_file() {
    let project = computed();
    record(&project, |record| {
        record.remove("values_sha256").unwrap();
    });
    assert_eq!(checks(&verified(&project)), NONE);
    edit(&project, CONFIG, "title = \"Numbers\"", "title = \"Other words\"");
    assert_eq!(checks(&verified(&project)), [Check::Config]);
}

#[test]
fn every_part_of_a_record_is_checked() {
    let other = "0".repeat(64);
    for (key, value, expected) in [
        ("revision", Value::from(2), Check::Revision),
        ("kind", "toyy".into(), Check::Revision),
        ("profile", "quick".into(), Check::Config),
        ("cargo_lock_sha256", other.clone().into(), Check::Lock),
        ("table_sha256", other.clone().into(), Check::Contents),
        ("other_sources", Value::from(vec![other.clone()]), Check::Source),
        (
            "data",
            serde_json::json!([
                { "name": "adult", "real": false, "sha256": null, "stand_in_revision": 1 }
            ]),
            Check::Data,
        ),
    ] {
        let project = computed();
        record(&project, |record| {
            record.insert(key.to_owned(), value).unwrap();
        });
        let found = checks(&verified(&project));
        assert!(
            !found.is_empty() && found.iter().all(|check| *check == expected),
            "{key}: {found:?}"
        );
    }
    let project = computed();
    project.write(RECORD, "{}");
    // Without a record there is no source.
    assert!(checks(&verified(&project)).contains(&Check::Record));
    fs::remove_file(project.root().join(RECORD)).unwrap();
    assert!(checks(&verified(&project)).contains(&Check::Record));
}

#[test]
fn tables_from_different_sources_are_found() {
    let project = computed();
    project.write("configs/toy/two.toml", &project.read(CONFIG).replace("toy/one", "toy/two"));
    let missing = verified(&project);
    assert_eq!(checks(&missing), [Check::Missing]);
    assert!(missing.to_string().contains("toy/two: no results/toy/two.csv"), "{missing}");

    let table = project.read(TABLE).replace("toy/one", "toy/two");
    project.write("results/toy/two.csv", &table);
    let mut record: Value = serde_json::from_str(&project.read(RECORD)).unwrap();
    record["experiment"] = "toy/two".into();
    record["table_sha256"] = sha256_hex(table.as_bytes()).into();
    record["values_sha256"] = config::load(&project.root().join("configs/toy/two.toml"))
        .unwrap()
        .values_hash(Profile::Standard)
        .into();
    project.write("results/toy/two.provenance.json", &record.to_string());
    assert_eq!(checks(&verified(&project)), NONE);

    record["code"]["source"] = "f".repeat(64).into();
    project.write("results/toy/two.provenance.json", &record.to_string());
    let text = verified(&project).to_string();
    assert!(text.contains("ffffffffffff…: toy/two"), "{text}");
    assert!(text.contains("… (this program): toy/one"), "{text}");
    // A single source other than this program's is found too.
    fs::remove_file(project.root().join(CONFIG)).unwrap();
    fs::remove_file(project.root().join(TABLE)).unwrap();
    assert_eq!(checks(&verified(&project)), [Check::Source]);
}

#[test]
fn tables_are_checked_row_by_row() {
    let sum = |text: &str| {
        let row = text.lines().find(|line| line.contains(",sum,value,")).unwrap().to_owned();
        let fields: Vec<String> = row.split(',').map(str::to_owned).collect();
        (row, fields)
    };
    // experiment,cell,name,method,metric,value,lower_bound,gap,text,seconds,peak_mb,seed
    let with = |column: usize, field: &str| {
        let project = computed();
        rewrite(&project, |text| {
            let (row, mut fields) = sum(text);
            fields[column] = field.to_owned();
            text.replacen(&row, &fields.join(","), 1)
        });
        checks(&verified(&project))
    };
    assert_eq!(with(5, "1e-30"), [Check::Certificates], "below its bound");
    assert_eq!(with(7, "0.1"), [Check::Certificates], "another gap");
    assert_eq!(with(7, "-1"), [Check::Certificates]);
    assert_eq!(with(5, "inf"), [Check::Values]);
    assert_eq!(with(5, "much"), [Check::Values]);
    assert_eq!(with(11, "8"), [Check::Values], "another seed");
    assert_eq!(with(0, "toy/two"), [Check::Values]);
    assert_eq!(with(1, "toy/one/name=zoe/method=sum"), [Check::Cells]);

    let project = computed();
    rewrite(&project, |text| text.lines().take(20).map(|line| format!("{line}\n")).collect());
    let text = verified(&project).to_string();
    assert!(text.contains("missing, such as toy/one/name="), "{text}");
    let project = computed();
    rewrite(&project, |text| text.replacen("name,method", "who,method", 1));
    assert_eq!(checks(&verified(&project)), [Check::Columns]);
}

#[test]
fn changed_kinds_and_tables_without_config_are_found() {
    let project = computed();
    let mut toy = Toy::new();
    toy.revision = 2;
    assert_eq!(checks(&verified_with(&project, &toy)), [Check::Revision]);
    project.write("results/toy/old.csv", "experiment\n");
    project.write("results/quick/toy/old.csv", "experiment\n");
    project.write("results/bench.csv", "name\n");
    let verified = verified(&project);
    assert_eq!(
        checks(&verified),
        [Check::Orphan],
        "other profiles and files outside the papers' folders are not checked"
    );
    assert_eq!(verified.findings[0].location, "toy/old.csv");
}

#[test]
fn figures_without_config_and_stale_pages_are_found() {
    let project = computed();
    project.write("figures/toy/old.svg", "<svg/>");
    let found = verified(&project);
    assert_eq!(checks(&found), [Check::OrphanFigure]);
    assert_eq!(found.findings[0].location, "figures/toy/old.svg");
    fs::remove_file(project.root().join("figures/toy/old.svg")).unwrap();
    project.write("README.md", "<!-- results\nrows = []\n");
    let found = verified(&project);
    assert_eq!(checks(&found), [Check::Page], "{found}");
}

#[test]
fn verify_ends_with_code_1_if_there_are_findings() {
    let project = computed();
    let run = || {
        let words = ["reproduce", "--root", project.root().to_str().unwrap(), "verify"];
        let catalogue = Catalogue::new(project.root(), project.folders());
        execute(
            &Arguments::try_parse_from(words).unwrap(),
            &Toy::new().kinds(),
            &catalogue,
            &Display::plain(),
        )
    };
    run().unwrap();
    edit(&project, TABLE, "toy/one", "toy/onf");
    let error = run().unwrap_err();
    assert!(matches!(error, Error::Unverified { findings: 2 }), "the contents and a row: {error}");
    assert_eq!(error.exit_code(), 1);
}
