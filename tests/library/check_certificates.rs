//! Tests of `scripts/check_certificates.py`: the workloads that it draws, and what it refuses.

use std::path::Path;

use matmech::matrix_file::{NpzArray, npz_arrays, npz_bytes};
use matmech::workload::{RangeSample, Workload};
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::python;

/// Compares Gram matrices: its arguments are the folder of the scripts, and pairs of an expression
/// and a file.
const COMPARISON: &str = "\
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import drawn_workloads as drawn
from certificate_workloads import factors
def permuted(workload, seed):
    gram, = factors(workload)[0]
    order = drawn.Generator(seed).permutation(len(gram))
    return gram[np.ix_(order, order)]
for expression, file in zip(sys.argv[2::2], sys.argv[3::2]):
    assert np.array_equal(eval(expression), np.load(file)), expression
";

fn parsed(text: &str) -> Array2<f64> {
    Workload::parse(text).unwrap().gram().unwrap().to_dense().unwrap()
}

fn covering(shape: &[usize], queries: usize, coverage: f64, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    RangeSample::covering(shape, queries, coverage, &mut rng).unwrap().gram()
}

/// 20,000 ranges reach all cases of normal and exponential numbers.
#[test]
fn the_scripts_draw_the_same_workloads() {
    let Some(python) = python::python() else { return };
    let cases = [
        (
            "factors('two-step-range-sample(queries=300,seed=3):8x6x5')[0][0]",
            parsed("two-step-range-sample(queries=300,seed=3):8x6x5"),
        ),
        (
            "factors('predicate-sample(queries=1500,p=0.3,seed=2):6x7')[0][0]",
            parsed("predicate-sample(queries=1500,p=0.3,seed=2):6x7"),
        ),
        (
            "factors('random-marginals(count=20,seed=1):4x3x2')[0][0]",
            parsed("random-marginals(count=20,seed=1):4x3x2"),
        ),
        ("permuted('range:300', 1)", parsed("permuted(range:300; seed=1)")),
        (
            "drawn.gram_of_ranges([64], *drawn.biased_ranges(64, 200, 10.0, 4))",
            parsed("range-sample(queries=200,bias=10,seed=4):64"),
        ),
        (
            "drawn.gram_of_ranges([100], *drawn.covering_ranges([100], 500, 0.95, 5))",
            covering(&[100], 500, 0.95, 5),
        ),
        (
            "drawn.gram_of_ranges([8, 4], *drawn.covering_ranges([8, 4], 20000, 0.25, 6))",
            covering(&[8, 4], 20_000, 0.25, 6),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("compare.py");
    std::fs::write(&script, COMPARISON).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut words = vec![scripts.to_str().unwrap().to_owned()];
    for (k, (expression, gram)) in cases.iter().enumerate() {
        let file = folder.path().join(format!("{k}.npy"));
        matmech::write_npy(&file, gram).unwrap();
        words.extend([(*expression).to_owned(), file.to_str().unwrap().to_owned()]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = python::run(&python, script.to_str().unwrap(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a table with all lower bounds 1e-6 larger.
fn with_larger_bounds(table: &str) -> String {
    let column =
        table.lines().next().unwrap().split(',').position(|name| name == "lower_bound").unwrap();
    let lines: Vec<String> = table
        .lines()
        .map(|line| {
            let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            if let Some(bound) = fields.get_mut(column)
                && let Ok(number) = bound.parse::<f64>()
            {
                *bound = (number * (1.0 + 1e-6)).to_string();
            }
            fields.join(",")
        })
        .collect();
    lines.join("\n")
}

/// A headline value holds in interval arithmetic, where python-flint is installed, and a larger bound
/// does not.
#[test]
fn headline_values_hold_in_interval_arithmetic() {
    let Some(python) = python::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let probe = folder.path().join("probe.py");
    std::fs::write(&probe, "import flint\n").unwrap();
    if !python::run(&python, probe.to_str().unwrap(), &[]).status.success() {
        return python::skip();
    }
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/beyond");
    let table = std::fs::read_to_string(committed.join("optima.csv")).unwrap();
    let tables = folder.path().join("beyond");
    std::fs::create_dir(&tables).unwrap();
    let weights = "optima.certificates.npz";
    std::fs::copy(committed.join(weights), tables.join(weights)).unwrap();
    for (table, status) in [(table.clone(), 0), (with_larger_bounds(&table), 1)] {
        std::fs::write(tables.join("optima.csv"), table).unwrap();
        let words = [folder.path().to_str().unwrap(), "--only", "prefix:128/"];
        let output = python::run(&python, "scripts/rigorous_bounds.py", &words);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(said.contains(&format!("1 recomputed in interval arithmetic, {status} too low")));
    }
}

/// The certified optima of prefix sums over 16 steps hold; with another weight or a larger bound
/// they do not.
#[test]
fn damaged_weights_and_bounds_are_refused() {
    let Some(python) = python::python() else { return };
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/beyond");
    let table = std::fs::read_to_string(committed.join("optima.csv")).unwrap();
    let weights = std::fs::read(committed.join("optima.certificates.npz")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("beyond");
    std::fs::create_dir(&tables).unwrap();
    let checked = |table: &str, weights: &[u8]| {
        std::fs::write(tables.join("optima.csv"), table).unwrap();
        std::fs::write(tables.join("optima.certificates.npz"), weights).unwrap();
        let words = [folder.path().to_str().unwrap(), "--only", "workload=prefix:16/"];
        let output = python::run(&python, "scripts/check_certificates.py", &words);
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };

    let (holds, said) = checked(&table, &weights);
    assert!(holds && said.contains("2 rows checked, 0 refusals"), "{said}");

    let (holds, said) = checked(&with_larger_bounds(&table), &weights);
    assert!(!holds && said.contains("lower bound"), "{said}");

    let other: Vec<(String, NpzArray)> = npz_arrays(&weights)
        .unwrap()
        .into_iter()
        .map(|(name, mut array)| {
            if let NpzArray::Numbers(numbers) = &mut array {
                numbers[0] *= 1.5;
            }
            (name, array)
        })
        .collect();
    let (holds, said) = checked(&table, &npz_bytes(&other).unwrap());
    assert!(!holds && said.contains("lower bound"), "{said}");
}
