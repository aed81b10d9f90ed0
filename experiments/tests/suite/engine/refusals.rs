//! Tests of invalid configs: each is refused before anything runs, with file, key, expected, found
//! and remedy.

use experiments::config::{self, Profile};
use experiments::engine::ExperimentPlan;
use experiments::error::Error;

use crate::engine::toy::{CONFIG, Project, Toy};

/// Loads and plans `toy/one` with `from` replaced by `to`.
fn refused(from: &str, to: &str) -> String {
    assert!(CONFIG.contains(from), "{from} is not in the config");
    let project = Project::new();
    let file = project.write("configs/toy/one.toml", &CONFIG.replacen(from, to, 1));
    let kinds = Toy::new().boxed();
    let error: Error = config::load(&file)
        .and_then(|config| ExperimentPlan::new(&config, &kinds, Profile::Standard).map(|_| ()))
        .expect_err(to);
    let message = error.to_string();
    assert!(message.contains("configs/toy/one.toml"), "names the file: {message}");
    assert!(message.lines().count() <= 6, "fits a screen: {message}");
    message
}

#[track_caller]
fn assert_parts(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` in\n{message}");
    }
}

#[test]
fn unknown_keys() {
    let message = refused("seed = 7", "sede = 7");
    assert_parts(&message, &["line 6\n", "6 | sede", "unknown field", "did you mean `seed`?"]);
    let message = refused("draws = 5", "drawz = 5");
    assert_parts(
        &message,
        &["line 12", "key:      grid.drawz", "`methods`, `draws`", "did you mean `draws`?"],
    );
    let message = refused("[profile.quick.grid]\nnames", "[profile.quick.grid]\nnmes");
    assert_parts(&message, &["key:      profile.quick.grid.nmes", "did you mean `names`?"]);
    let message = refused(
        "[profile.quick.grid]",
        "[profile.quick]\nexpected_second = 3\n[profile.quick.grid]",
    );
    assert_parts(&message, &["| expected_second = 3", "did you mean `expected_seconds`?"]);
    let message = refused("[profile.quick.grid]", "[[compare]]\nfoo = 1\n[profile.quick.grid]");
    assert_parts(&message, &["line 13", "unknown field `foo`", "`published`", "`join`"]);
}

#[test]
fn unknown_profile() {
    let message = refused("[profile.quick.grid]", "[profile.quik.grid]");
    assert_parts(&message, &["[profile.quik.grid]", "`quick` or `paper`", "did you mean `quick`?"]);
    let message = refused("[profile.quick.grid]", "[profile.standard.grid]");
    assert_parts(&message, &["[profile.standard.grid]", "`quick` or `paper`"]);
}

#[test]
fn missing_keys() {
    let message = refused("seed = 7\n", "");
    assert_parts(&message, &["missing field `seed`"]);
    let message = refused("draws = 5\n", "");
    assert_parts(&message, &["line 9", "key:      grid", "missing field `draws`"]);
}

#[test]
fn wrong_types_and_negative_sizes() {
    let message = refused("seed = 7", "seed = \"seven\"");
    assert_parts(&message, &["line 6\n", "string \"seven\", expected u64"]);
    let message = refused("seed = 7", "seed = -7");
    assert_parts(&message, &["seed = -7", "integer `-7`, expected u64"]);
    let message = refused("draws = 5", "draws = -5");
    assert_parts(&message, &["line 12", "key:      grid.draws", "integer `-5`, expected"]);
    let message = refused("names = [\"ann\"", "names = [3, \"ann\"");
    assert_parts(&message, &["line 10", "key:      grid.names", "integer `3`, expected a string"]);
    let message = refused("expected_mb = 20", "expected_mb = -1");
    assert_parts(&message, &["key:      expected_mb", "a positive number", "found:    -1"]);
    let message = refused("title = \"Numbers\"", "title = \" \"");
    assert_parts(&message, &["key:      title", "empty string"]);
}

#[test]
fn unknown_names() {
    let message = refused("kind = \"toy\"", "kind = \"toi\"");
    assert_parts(
        &message,
        &["key:      kind", "one of the kinds toy", "\"toi\"", "did you mean \"toy\"?"],
    );
    let message = refused("\"product\"]", "\"prodct\"]");
    assert_parts(
        &message,
        &[
            "line 11",
            "key:      grid.methods",
            "sum, product",
            "\"prodct\"",
            "did you mean \"product\"?",
        ],
    );
}

#[test]
fn wrong_experiment_id() {
    let message = refused("experiment = \"toy/one\"", "experiment = \"toy/two\"");
    assert_parts(
        &message,
        &[
            "key:      experiment",
            "expected: \"toy/one\"",
            "found:    \"toy/two\"",
            "configs/toy/two.toml",
        ],
    );
}

#[test]
fn impossible_grids() {
    let message = refused("\"ann\", \"bob\"", "\"bob\", \"bob\"");
    assert_parts(
        &message,
        &["key:      grid", "distinct addresses", "toy/one/name=bob/method=sum", "listed twice"],
    );
    let message = refused("methods = [\"sum\", \"product\"]", "methods = []");
    assert_parts(&message, &["key:      grid", "at least one cell", "remedy"]);
    let message = refused("\"ann\"", "\"a/n\"");
    assert_parts(&message, &["key:      grid", "without '/'", "a/n"]);
    // The grids of all profiles are checked.
    let message = refused("names = [\"bob\", \"eve\"]", "names = [\"bob\", \"bob\"]");
    assert_parts(
        &message,
        &["line 13", "key:      profile.quick.grid", "toy/one/name=bob/method=sum"],
    );
}

#[test]
fn invalid_toml() {
    let message = refused("seed = 7", "seed = = 7");
    assert_parts(&message, &["line 6\n", "seed = = 7"]);
}

#[test]
fn paths_of_configs() {
    let project = Project::new();
    let outside = project.write("elsewhere/one.toml", CONFIG);
    let message = config::load(&outside).unwrap_err().to_string();
    assert_parts(&message, &["elsewhere/one.toml", "below a folder named configs", "remedy"]);
    let reserved = project.write("configs/cells/x.toml", CONFIG);
    assert_parts(&config::load(&reserved).unwrap_err().to_string(), &["cells", "move the file"]);
    let message = config::find(project.root(), "configs/toy/onn.toml").unwrap_err().to_string();
    assert_parts(
        &message,
        &["configs/toy/onn.toml", "no such file", "did you mean configs/toy/one.toml"],
    );
    for name in ["toy/one", "configs/toy/one.toml"] {
        assert!(config::find(project.root(), name).is_ok(), "{name}");
    }
    let empty = tempfile::tempdir().unwrap();
    let message = config::load_all(empty.path()).unwrap_err().to_string();
    assert_parts(&message, &["configs", "--root"]);
}

#[test]
fn profiles_replace_keys_of_the_grid() {
    let config = Project::new().config();
    let names = |profile| config.grid(profile)["names"].as_array().unwrap().len();
    assert_eq!([Profile::Quick, Profile::Standard, Profile::Paper].map(names), [2, 7, 7]);
    assert_eq!(config.grid(Profile::Quick)["draws"].as_integer(), Some(5));
    assert_eq!(config.expected(Profile::Quick), (1.0, 20.0));
}
