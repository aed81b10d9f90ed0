//! Tests that results do not depend on jobs, shards and order, and that no cell is computed twice.

use experiments::config::{self, Profile};
use experiments::engine::{Display, ExperimentPlan, RunOptions, TableOutcome, prepare, run_all};
use serde_json::Value;

use crate::engine::toy::{CONFIG, Project, Toy, jobs, only};

const TABLE: &str = "results/toy/one.csv";

#[test]
fn one_job_and_four_jobs_give_equal_bits() {
    let (one, four) = (Project::new(), Project::new());
    one.run(&Toy::new(), &jobs(1)).unwrap();
    four.run(&Toy::new(), &jobs(4)).unwrap();
    let table = one.deterministic_table(TABLE);
    assert_eq!(table, four.deterministic_table(TABLE));
    assert_eq!(table.len(), 1 + 7 * 2 * 2);
    let header = [
        "experiment",
        "cell",
        "name",
        "method",
        "metric",
        "value",
        "lower_bound",
        "gap",
        "text",
        "seed",
    ];
    assert_eq!(table[0], header);
    assert_eq!(table[1][..5], ["toy/one", "toy/one/name=ann/method=sum", "ann", "sum", "value"]);
    assert_eq!(table[2][4..], ["formula", "", "", "", "sum of 5, \"quoted\"", "7"]);
    // Streams differ between cells: no two values are equal.
    let mut values: Vec<&String> =
        table[1..].iter().map(|line| &line[5]).filter(|value| !value.is_empty()).collect();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 14);
}

#[test]
fn numbers_keep_their_bits_in_the_store_and_the_table() {
    let project = Project::new();
    project.run(&Toy::new(), &jobs(2)).unwrap();
    // Every cell is computed again from the documented stream.
    let config = project.config();
    let kinds = Toy::new().boxed();
    let plan = ExperimentPlan::new(&config, &kinds, Profile::Standard).unwrap();
    for (index, planned) in plan.cells.iter().enumerate() {
        let mut rng = experiments::engine::cell_rng(7, "toy/one", &planned.address);
        let rows = kinds[0].run(&planned.cell, &mut rng).unwrap();
        let line = &project.deterministic_table(TABLE)[1 + 2 * index];
        for (column, number) in [(5, rows[0].value), (6, rows[0].lower_bound), (7, rows[0].gap)] {
            let written: f64 = line[column].parse().unwrap();
            assert_eq!(
                written.to_bits(),
                number.unwrap().to_bits(),
                "{} column {column}",
                planned.address
            );
        }
    }
}

#[test]
fn bound_of_another_method_is_used_where_it_holds() {
    let project = Project::new();
    project.run(&Toy { bounded: true, ..Toy::new() }, &jobs(2)).unwrap();
    let table = project.deterministic_table(TABLE);
    let number = |line: &[String], column: usize| line[column].parse::<f64>().unwrap();
    let values: Vec<&Vec<String>> = table[1..].iter().filter(|line| line[4] == "value").collect();
    assert_eq!(values.len(), 14);
    for pair in values.chunks(2) {
        let (sum, product) = (pair[0], pair[1]);
        assert_eq!(
            (sum[2].as_str(), sum[3].as_str(), product[3].as_str()),
            (product[2].as_str(), "sum", "product")
        );
        // The toy's sum certifies 1/1.7 of itself, and with this seed every product is above that.
        let (bound, value) = (number(sum, 5) / 1.7, number(product, 5));
        let (shown, gap) = (number(product, 6), number(product, 7));
        assert!((shown / bound - 1.0).abs() < 1e-12, "{product:?}");
        assert!(gap > 0.0 && ((1.0 + gap) * bound / value - 1.0).abs() < 1e-12, "{product:?}");
    }
    // A text has no bound.
    assert!(
        table[1..]
            .iter()
            .filter(|line| line[4] == "formula")
            .all(|line| line[6].is_empty() && line[7].is_empty())
    );
}

/// Long cells of all experiments come first, by the times in the tables of the last run; then the
/// others, in the order of the experiments and grids.
#[test]
fn the_longest_cells_start_first_across_experiments() {
    let project = Project::new();
    let toy = Toy { revision: 2, ..Toy::new() };
    let two = CONFIG.replace("toy/one", "toy/two").replace("\"ann\", \"bob\", ", "\"zoe\", ");
    project.write("configs/toy/two.toml", &two);
    let rows = |name: &str, cells: &[(&str, f64)]| {
        let rows: String = cells
            .iter()
            .map(|(cell, seconds)| format!("toy/{name}/name={cell},{seconds}\n"))
            .collect();
        project.write(&format!("results/toy/{name}.csv"), &format!("cell,seconds\n{rows}"));
    };
    // A cell without a time has the mean of its table, which is below that of a long cell.
    rows(
        "one",
        &[
            ("dan/method=sum", 60.0),
            ("gus/method=sum", 5.0),
            ("gus/method=product", 1.0),
            ("bob/method=product", 40.0),
        ],
    );
    rows(
        "two",
        &[
            ("eve/method=product", 80.0),
            ("eve/method=product", 1.0),
            ("eve/method=sum", 1.0),
            ("dan/method=sum", 1.0),
        ],
    );
    let configs = ["one", "two"].map(|name| {
        config::load(&project.root().join(format!("configs/toy/{name}.toml"))).unwrap()
    });
    let kinds = toy.boxed();
    let plans = configs
        .iter()
        .map(|config| ExperimentPlan::new(config, &kinds, Profile::Standard).unwrap())
        .collect();
    let options = jobs(1);
    let mut finished = Vec::new();
    let prepared = prepare(project.root(), plans, &options).unwrap();
    run_all(prepared, &options, &Display::plain(), |outcome| {
        finished.push(outcome.unwrap().experiment);
    })
    .unwrap();
    let computed = toy.computed.lock().unwrap();
    assert_eq!(computed[..4], ["eve/product", "dan/sum", "bob/product", "ann/sum"]);
    assert_eq!((computed[4].as_str(), computed.len()), ("ann/product", 14 + 12));
    assert_eq!(finished, ["toy/one", "toy/two"]);
}

#[test]
fn all_shards_together_give_the_whole_table() {
    let (whole, parts) = (Project::new(), Project::new());
    whole.run(&Toy::new(), &jobs(2)).unwrap();
    let toy = Toy::new();
    for index in 1..=3 {
        let options = RunOptions { shard: Some(format!("{index}/3").parse().unwrap()), ..jobs(2) };
        let summary = parts.run(&toy, &options).unwrap();
        let expected_missing = [9, 4, 0][index - 1];
        match summary.table {
            TableOutcome::Incomplete { missing } => assert_eq!(missing, expected_missing),
            TableOutcome::Written { .. } => assert_eq!(expected_missing, 0),
            TableOutcome::Unchanged { .. } => {
                panic!("the table cannot be there before the last part")
            }
        }
        assert_eq!(parts.root().join(TABLE).exists(), expected_missing == 0);
    }
    assert_eq!(toy.take_computed().len(), 14, "no cell is computed by two shards");
    assert_eq!(whole.deterministic_table(TABLE), parts.deterministic_table(TABLE));
}

#[test]
fn second_run_computes_nothing_and_changes_no_file() {
    let project = Project::new();
    let toy = Toy::new();
    let first = project.run(&toy, &jobs(2)).unwrap();
    assert_eq!((first.computed, first.reused), (14, 0));
    assert_eq!(toy.take_computed().len(), 14);
    let table = project.read(TABLE);
    let provenance = project.read("results/toy/one.provenance.json");
    let second = project.run(&toy, &jobs(2)).unwrap();
    assert_eq!((second.computed, second.reused), (0, 14));
    assert!(matches!(second.table, TableOutcome::Unchanged { .. }));
    assert!(toy.take_computed().is_empty());
    assert_eq!(table, project.read(TABLE));
    assert_eq!(provenance, project.read("results/toy/one.provenance.json"));
    // A table that was edited is written again from the store.
    project.write(TABLE, "edited");
    assert!(matches!(project.run(&toy, &jobs(2)).unwrap().table, TableOutcome::Written { .. }));
    assert_eq!(table, project.read(TABLE));
}

#[test]
fn cells_are_recomputed_only_when_their_inputs_change() {
    let project = Project::new();
    let mut toy = Toy::new();
    project.run(&toy, &jobs(2)).unwrap();
    toy.take_computed();
    let edit = |from: &str, to: &str| {
        let text = project.read("configs/toy/one.toml");
        assert!(text.contains(from));
        project.write("configs/toy/one.toml", &text.replacen(from, to, 1));
    };
    edit("title = \"Numbers\"", "title = \"Other words\"");
    project.run(&toy, &jobs(2)).unwrap();
    assert!(toy.take_computed().is_empty(), "a title is not an input");
    edit("\"ann\", ", "\"ann\", \"new\", ");
    project.run(&toy, &jobs(2)).unwrap();
    assert_eq!(toy.take_computed(), ["new/product", "new/sum"], "a new value adds its cells");
    edit("draws = 5", "draws = 6");
    project.run(&toy, &jobs(2)).unwrap();
    assert_eq!(toy.take_computed().len(), 16, "params are an input");
    edit("seed = 7", "seed = 8");
    project.run(&toy, &jobs(2)).unwrap();
    assert_eq!(toy.take_computed().len(), 16, "the seed is an input");
    toy.revision = 2;
    project.run(&toy, &jobs(2)).unwrap();
    assert_eq!(toy.take_computed().len(), 16, "the revision is an input");
    edit("draws = 6", "draws = 5");
    edit("seed = 8", "seed = 7");
    toy.revision = 1;
    project.run(&toy, &jobs(2)).unwrap();
    assert!(toy.take_computed().is_empty(), "the cells of the first inputs are still stored");
}

#[test]
fn fresh_recomputes_only_selected_cells() {
    let project = Project::new();
    let toy = Toy::new();
    project.run(&toy, &jobs(2)).unwrap();
    toy.take_computed();
    let options = RunOptions { fresh: true, ..only("name=eve/method=sum") };
    let summary = project.run(&toy, &options).unwrap();
    assert_eq!(toy.take_computed(), ["eve/sum"]);
    assert_eq!((summary.computed, summary.reused), (1, 13));
}

#[test]
fn only_selects_a_union_and_suggests_similar_cells() {
    let project = Project::new();
    let toy = Toy::new();
    let options = RunOptions {
        only: vec!["name=bob".to_owned(), "toy/one/name=gus/method=sum".to_owned()],
        ..jobs(2)
    };
    let summary = project.run(&toy, &options).unwrap();
    assert_eq!(toy.take_computed(), ["bob/product", "bob/sum", "gus/sum"]);
    assert_eq!(summary.table, TableOutcome::Incomplete { missing: 11 });
    let failure = project.run(&toy, &only("name=cloe/method=sum")).unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    let message = failure.to_string();
    for part in ["--only", "14 cells", "name=cloe/method=sum", "toy/one/name=cleo/method=sum"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(toy.take_computed().is_empty());
}

#[test]
fn profiles_share_cells_but_not_tables() {
    let project = Project::new();
    let toy = Toy::new();
    project.run_profile(&toy, Profile::Quick, &jobs(2)).unwrap();
    assert_eq!(toy.take_computed(), ["bob/product", "bob/sum", "eve/product", "eve/sum"]);
    assert!(!project.root().join(TABLE).exists());
    let quick = project.deterministic_table("results/quick/toy/one.csv");
    let summary = project.run(&toy, &jobs(2)).unwrap();
    assert_eq!((summary.computed, summary.reused), (10, 4));
    let standard = project.deterministic_table(TABLE);
    assert!(quick.iter().all(|line| standard.contains(line)), "a quick cell is the standard cell");
    assert_eq!(quick, project.deterministic_table("results/quick/toy/one.csv"));
}

#[test]
fn provenance_records_inputs_machine_and_times() {
    let project = Project::new();
    let toy = Toy::new();
    project.run(&toy, &only("method=sum")).unwrap();
    project.run(&toy, &jobs(3)).unwrap();
    let provenance: Value =
        serde_json::from_str(&project.read("results/toy/one.provenance.json")).unwrap();
    let sha256 = |file: &str| experiments::files::sha256_hex(project.read(file).as_bytes());
    assert_eq!(provenance["config_sha256"], sha256("configs/toy/one.toml"));
    assert_eq!(provenance["table_sha256"], sha256(TABLE));
    let lock = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    assert_eq!(provenance["cargo_lock_sha256"], experiments::files::sha256_hex(&lock));
    assert_eq!(provenance["cells_computed"], 7);
    assert_eq!(provenance["cells_reused"], 7);
    assert_eq!(provenance["jobs"], 3);
    assert_eq!(provenance["profile"], "standard");
    assert!(provenance["rustc"].as_str().unwrap().starts_with("rustc 1."));
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(provenance["machine"]["cores"].as_u64(), Some(cores as u64));
    assert_eq!(provenance["code"]["source"].as_str().unwrap().len(), 64);
    let time = |key: &str| {
        let text = provenance[key].as_str().unwrap();
        assert!(text.len() == 20 && text.ends_with('Z'), "seconds in UTC: {text}");
        chrono::DateTime::parse_from_rfc3339(text).unwrap()
    };
    assert!(time("started") <= time("finished"));
    let age = chrono::Utc::now().signed_duration_since(time("finished")).num_seconds();
    assert!((0..600).contains(&age), "{age} s ago");
    assert_eq!(provenance["data"], Value::Array(vec![]));
}
