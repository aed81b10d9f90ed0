//! Damaged texts are read or refused with a message that has a remedy; none is a panic.

use std::path::Path;

use matmech::data::read_csv;
use matmech::schema::SchemaSource;
use matmech::workload::{GroupedWorkload, Workload};
use matmech::{Error, mechanism, planner, strategy};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MUTANTS: usize = 4000;

/// Parts of every format, which a mutation inserts.
const PARTS: [&str; 30] = [
    "(",
    ")",
    "=",
    ":",
    ",",
    ";",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "\"",
    "'",
    "\n",
    "\r",
    "#",
    ".",
    "-",
    "0",
    "1e309",
    "nan",
    "18446744073709551616",
    "-1",
    "true",
    "x",
    "^",
    " ",
    "\u{0}",
    "é",
    "\\",
];

/// Returns a text with one to four parts inserted, removed, replaced or repeated.
fn mutant(text: &str, rng: &mut ChaCha8Rng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.random_range(1..=4) {
        let start = rng.random_range(0..=chars.len());
        let end = (start + rng.random_range(0..6)).min(chars.len());
        let part: Vec<char> = match rng.random_range(0..4) {
            0 => Vec::new(),
            1 => chars[start..end].repeat(2),
            _ => PARTS.choose(rng).unwrap().chars().collect(),
        };
        chars.splice(start..end, part);
    }
    chars.into_iter().collect()
}

/// Reads mutants of texts; returns how many were read and how many refused.
fn read_mutants(texts: &[&str], seed: u64, read: impl Fn(&str) -> Result<(), Error>) -> [usize; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts = [0, 0];
    for text in texts {
        read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    for _ in 0..MUTANTS {
        let text = mutant(texts.choose(&mut rng).unwrap(), &mut rng);
        match read(&text) {
            Ok(()) => counts[0] += 1,
            Err(error) => {
                counts[1] += 1;
                let message = error.to_string();
                assert!(message.contains("remedy"), "{text:?}: {message}");
            }
        }
    }
    counts
}

/// Both outcomes occur, so the mutations are neither harmless nor all fatal.
fn assert_mixed(counts: [usize; 2]) {
    assert!(counts.iter().all(|count| *count > MUTANTS / 50), "{counts:?}");
}

#[test]
fn calls_of_the_registries() {
    let strategies = [
        "optimal(tolerance=1e-9,max-iterations=9)",
        "eigen-design:wavelet",
        "hierarchical",
        "blt(buffers=4)",
        "eigen-separation(group=16)",
    ];
    assert_mixed(read_mutants(&strategies, 1, |text| strategy::by_name(text).map(drop)));
    let planners = ["query-smasher(objective=balanced:0.5)", "hdmm", "anova(measure=uniform)"];
    assert_mixed(read_mutants(&planners, 2, |text| planner::by_name(text).map(drop)));
    let mechanisms = ["staged(stages=2,threshold=4)", "aim-grem", "planned"];
    assert_mixed(read_mutants(&mechanisms, 3, |text| mechanism::by_name(text).map(drop)));
}

#[test]
fn workloads() {
    let workloads = [
        "prefix:64",
        "range:8x8",
        "residual(abs:6x6)",
        "union(range:16; cdf:16)",
        "normalised(range:16)",
        "identity-marginals(ways=2):4x4x2",
        "affine:5x5",
        "permuted(seed=3):range:16",
        "decay(rate=0.5):16",
        "momentum(rate=0.9):16",
    ];
    let known: Vec<&str> =
        workloads.into_iter().filter(|text| Workload::parse(text).is_ok()).collect();
    assert!(known.len() > 5, "{known:?}");
    assert_mixed(read_mutants(&known, 4, |text| Workload::parse(text).map(drop)));
}

const SCHEMA: &str = "[[attribute]]\nname = \"age\"\nsize = 10\nkind = \"numeric\"\n\
    bins = { low = 0, high = 100, count = 10 }\n\n[[attribute]]\nname = \"job\"\nsize = 3\n\
    kind = \"categorical\"\nvalues = [\"clerk\", true, 2024-02-29]\nother = \"clerk\"\n";

#[test]
fn schemas_and_workload_files() {
    let read = |text: &str| SchemaSource::Text(text.to_owned()).read().map(drop);
    assert_mixed(read_mutants(&[SCHEMA], 5, read));
    let (schema, _) = SchemaSource::Text(SCHEMA.to_owned()).read().unwrap();
    let workload = "[[queries]]\nfamily = \"hybrid\"\nways = [1, 2]\nweight = 2.0\n\n\
        [[queries]]\nfamily = \"prefix\"\nattributes = [\"age\"]\n\n[[queries]]\n\
        family = \"random\"\nattributes = [\"job\"]\nseed = 3\nqueries_per_cell = 2\n";
    let read =
        |text: &str| GroupedWorkload::from_toml(&schema, text, "W.toml", Path::new(".")).map(drop);
    assert_mixed(read_mutants(&[workload], 6, read));
}

#[test]
fn tables() {
    let (schema, _) = SchemaSource::Text(SCHEMA.to_owned()).read().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("X.csv");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read_csv(&path, &schema, None).map(drop)
    };
    let table = "age,other,job\n5,\"a,b\",clerk\n99.5,,True\n0,x,2024-02-29\n";
    assert_mixed(read_mutants(&[table], 7, read));
}
