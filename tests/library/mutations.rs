//! Damaged texts are read or refused with a message that has a remedy; none is a panic.
//!
//! What holds for those that are read is in `fuzz/src/lib.rs`, with the fuzz targets.

use matmech::Error;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../fuzz/src/lib.rs"]
mod properties;

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
    assert_mixed(read_mutants(&strategies, 1, properties::strategy));
    let planners = ["query-smasher(objective=balanced:0.5)", "hdmm", "anova(measure=uniform)"];
    assert_mixed(read_mutants(&planners, 2, properties::planner));
    let mechanisms = ["staged(stages=2,threshold=4)", "aim-grem", "planned"];
    assert_mixed(read_mutants(&mechanisms, 3, properties::mechanism));
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
        "permuted-range(seed=3):16",
        "decay(rate=0.5):16",
        "momentum(rate=0.9):16",
    ];
    assert_mixed(read_mutants(&workloads, 4, properties::workload));
}

#[test]
fn schemas_and_workload_files() {
    assert_mixed(read_mutants(&[properties::SCHEMA], 5, properties::schema));
    let workload = "[[queries]]\nfamily = \"hybrid\"\nways = [1, 2]\nweight = 2.0\n\n\
        [[queries]]\nfamily = \"prefix\"\nattributes = [\"age\"]\n\n[[queries]]\n\
        family = \"random\"\nattributes = [\"job\"]\nseed = 3\nqueries_per_cell = 2\n";
    assert_mixed(read_mutants(&[workload], 6, properties::workload_file));
}

#[test]
fn tables() {
    let table = "age,other,job\n5,\"a,b\",clerk\n99.5,,True\n0,x,2024-02-29\n";
    assert_mixed(read_mutants(&[table], 7, |text| properties::csv(text.as_bytes())));
}

/// Almost all mutants are refused, because every line has the hash of the line before.
#[test]
fn ledgers() {
    let read = |text: &str| properties::ledger(text.as_bytes());
    let [_, refused] = read_mutants(&[properties::LEDGER], 8, read);
    assert!(refused > MUTANTS / 2, "{refused}");
}

#[test]
fn measurements() {
    for (seed, (file, text)) in (9..).zip(properties::MEASUREMENTS) {
        let read = |text: &str| properties::measurements(file, text.as_bytes());
        assert_mixed(read_mutants(&[text], seed, read));
    }
}
