//! Gram matrices and counts against the rows, on small domains.

use super::*;
use crate::test_support::gram;
use approx::assert_abs_diff_eq;
use ndarray::Array2;
use proptest::prelude::*;

fn gram_from_rows(workload: &Workload) -> (usize, Array2<f64>) {
    let cells = workload.cells();
    let mut gram = Array2::zeros((cells, cells));
    let mut count = 0;
    for row in workload.rows().unwrap() {
        assert_eq!(row.len(), cells);
        count += 1;
        for i in 0..cells {
            for j in 0..cells {
                gram[[i, j]] += row[i] * row[j];
            }
        }
    }
    (count, gram)
}

fn check(text: &str) {
    let workload = Workload::parse(text).unwrap();
    let (count, gram) = gram_from_rows(&workload);
    assert_eq!(workload.count(), QueryCount::exact(count as u128), "{text}");
    assert_abs_diff_eq!(workload.gram().unwrap().to_dense().unwrap(), gram, epsilon = 1e-10);
}

#[test]
fn grams_and_counts_match_the_rows() {
    for text in [
        "identity:7",
        "total:5",
        "prefix:9",
        "cdf:4",
        "range:8",
        "range:1",
        "circular:7",
        "circular:8",
        "affine:4x6",
        "affine:5x5",
        "abs:5x5",
        "abs:3x6",
        "abs:6x3",
        "predicate:5",
        "range:3x4",
        "prefix:2x3x4",
        "range:2^4",
        "predicate:2x3",
        "permuted-range:9",
        "permuted-prefix(seed=7):3x4",
        "residual(range:6)",
        "residual(prefix:3x4)",
        "residual(affine:4x5)",
        "residual(abs:4x4)",
        "residual(permuted-range:6)",
        "predicate-sample(queries=9,p=0.3):6",
        "range-sample(queries=20,seed=2):4x5",
        "residual(range-sample(queries=10,bias=5):3x3)",
        "range-marginals:4x3",
        "range-marginals(ways=2):3x2x4",
        "range-marginals(ways=1+2):2x3x2",
        "residual(prefix-marginals(ways=1):2x2x3)",
        "identity-marginals(ways=all):3x2x2",
        "random-marginals(count=5,seed=3):3x2x2",
        "two-step-range-sample(queries=20,seed=4):4x5",
        "permuted(identity-marginals(ways=2):2x3x2; seed=4)",
        "permuted(range:6)",
        "union(range:6; permuted-cdf(seed=2):6; predicate:6)",
        "union(identity-marginals(ways=1):3x4; range-marginals(ways=1):3x4)",
        "union(range:2x3; residual(prefix:2x3))",
        "union(range:5)",
        "normalised(identity:4)",
        "normalised(total:4)",
        "normalised(prefix:7)",
        "normalised(cdf:5)",
        "normalised(range:8)",
        "normalised(range:1)",
        "normalised(circular:6)",
        "normalised(affine:4x3)",
        "normalised(abs:3x4)",
        "normalised(predicate:6)",
        "normalised(predicate:1)",
        "normalised(range:3x4x3)",
        "normalised(range-marginals(ways=1+2):3x2x4)",
        "normalised(random-marginals(count=4):3x2x4)",
        "normalised(range-sample(queries=20,seed=2):4x5)",
        "normalised(predicate-sample(queries=9,p=0.3):6)",
        "normalised(permuted-range(seed=2):7)",
        "normalised(union(range:6; cdf:6))",
        "normalised(normalised(range:5))",
        "normalised(residual(range:5))",
        "residual(normalised(range:5))",
    ] {
        check(text);
    }
}

#[test]
fn query_counts_match_the_published_ones() {
    for (text, count) in [
        ("range:1024", "524800"),
        ("range:32x32", "278784"),
        ("range:16x8x8", "176256"),
        ("range:8x8x4x4", "129600"),
        ("range:2^10", "59049"),
        ("predicate:1024", "2^1024"),
        ("circular:30", "900"),
        ("affine:20x20", "39"),
        ("abs:20x20", "20"),
        ("range-marginals:32x32", "1056"),
        ("identity-marginals(ways=1+2):2x3x4", "35"),
    ] {
        assert_eq!(Workload::parse(text).unwrap().count().to_string(), count, "{text}");
    }
}

#[test]
fn large_predicate_workloads_have_finite_grams() {
    let huge = Workload::parse("predicate:1024").unwrap();
    let gram = huge.gram().unwrap();
    assert_eq!((gram.max_diagonal(), gram.factors()[0].matrix[[0, 1]]), (0.5, 0.25));
    assert_eq!(huge.query_weight(), (-512f64).exp2());
    assert_eq!(Workload::parse("predicate:512").unwrap().query_weight(), 1.0);
}

#[test]
fn matrices_are_read_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("W.csv");
    std::fs::write(&path, "1,1,1,1\n1,1,0,0\n0,0,1,-1\n").unwrap();
    check(&format!("matrix:{}", path.display()));
    check(&format!("matrix(shape=2x2):{}", path.display()));
    check(&format!("residual(matrix(shape=2x2):{})", path.display()));
    assert!(Workload::parse(&format!("matrix(shape=3x2):{}", path.display())).is_err());
}

#[test]
fn errors_name_the_invalid_part() {
    for (text, part) in [
        ("range", "no colon"),
        ("rnage:10", "rnage"),
        ("range:0", "`0`"),
        ("range:-4", "`-4`"),
        ("range:3x", "`3x`"),
        ("affine:20", "two sizes"),
        ("affine:2x3x4", "two sizes"),
        ("range(seed=1):4", "no option"),
        ("permuted-range(sed=1):4", "`sed`"),
        ("permuted-range(seed=x):4", "`x`"),
        ("range-sample:10", "queries"),
        ("range-sample(queries=100):10", "55"),
        ("predicate-sample(queries=5,p=2):4", "probability"),
        ("range-marginals(ways=3):4x4", "1 to 2"),
        ("range-marginals(way=1):4x4", "`way`"),
        ("range-marginals(ways=1+1):4x4", "each number once"),
        ("range-marginals(ways=0+1):4x4", "1 to 2"),
        ("range-marginals(ways=1+):4x4", "`1+`"),
        ("affine-marginals:4x4", "single attributes"),
        ("residual(range:4", "`residual(range:4`"),
        ("union()", "no colon"),
        ("union(range:4; range:5)", "over 4"),
        ("union(range:600; predicate:600)", "weight 1"),
        ("permuted(range:4; seed=x)", "seed=x"),
        ("permuted(range:4; seed=1; 3)", "3 parts"),
        ("permuted(total:99999999999)", "at most 67108864 cells"),
        ("permuted-total:99999999999", "fewer cells"),
        ("predicate-sample(queries=99999999999):64", "fewer entries"),
        ("random-marginals(count=0):4x4", "at least one marginal"),
        ("two-step-range-sample(queries=0):4x4", "at least one query"),
        ("matrix:nowhere.npy", "nowhere.npy"),
        ("range:99999999999x99999999999", "cells"),
    ] {
        let message = Workload::parse(text).expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
        assert!(message.contains("remedy"), "{text}: {message}");
    }
    let too_large = Workload::parse("range:100000").unwrap().gram().unwrap_err().to_string();
    assert!(too_large.contains("GiB"), "{too_large}");
}

/// Sizes and numbers of queries beyond any memory: no allocation of that size is tried.
#[test]
fn workloads_of_any_size_are_refused_or_have_no_matrices() {
    let huge = "10000000000000";
    let mut texts = Vec::new();
    for family in Family::ALL {
        let size = if family.arity() == 2 { "10000000x10000000" } else { huge };
        let name = family.name();
        texts.extend([
            format!("{name}:{size}"),
            format!("permuted-{name}:{size}"),
            format!("permuted({name}:{size})"),
            format!("residual({name}:{size})"),
            format!("normalised({name}:{size})"),
            format!("union({name}:{size}; {name}:{size})"),
            format!("{name}-marginals(ways=1):{huge}x2"),
        ]);
    }
    for text in [
        "range-sample(queries=SIZE):64x32",
        "range-sample(queries=5):SIZE",
        "range-sample(queries=SIZE,bias=2):6000000x2",
        "two-step-range-sample(queries=SIZE):64x32",
        "predicate-sample(queries=SIZE):64",
        "predicate-sample(queries=2):SIZE",
        "random-marginals(count=SIZE):4x4",
        "decay(rate=0.9):SIZE",
        "momentum(rate=0.9):SIZE",
    ] {
        texts.push(text.replace("SIZE", huge));
    }
    for text in texts {
        if let Ok(workload) = Workload::parse(&text) {
            assert!(workload.recurrence().is_none(), "{text}");
            let _ = workload.count();
            assert!(workload.gram().is_err(), "{text}");
        }
    }
}

#[test]
fn training_workloads_are_parsed() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let column = write("column.csv", "1\n0.5\n0.25\n");
    let row = write("row.csv", "1,0.5,0.25\n");
    let matrix = write("matrix.csv", "1,2\n3,4\n");
    let schedule = |path: &str| format!("schedule(file={path})");
    for (text, last) in [
        ("decay(rate=0.5):3".to_owned(), [0.25, 0.5, 1.0]),
        ("momentum(rate=0.5):3".to_owned(), [1.75, 1.5, 1.0]),
        (schedule(&column), [1.0, 0.5, 0.25]),
        (schedule(&row), [1.0, 0.5, 0.25]),
        (format!("schedule(file={row},momentum=0.5)"), [1.3125, 0.625, 0.25]),
    ] {
        let workload = Workload::parse(&text).unwrap();
        assert_eq!((workload.name(), workload.cells()), (text.as_str(), 3));
        assert_eq!(workload.count(), QueryCount::exact(3));
        assert_eq!(workload.rows().unwrap().last().unwrap(), last, "{text}");
    }
    for (text, part) in [
        ("decay:4".to_owned(), "rate"),
        ("decay(rate=0.5):4x4".to_owned(), "one size"),
        ("decay(rate=2):4".to_owned(), "at most 1"),
        ("momentum(rate=1):4".to_owned(), "less than 1"),
        ("momentum(decay=0.5):4".to_owned(), "rate"),
        ("schedule:4".to_owned(), "nothing after"),
        ("schedule(momentum=0.5)".to_owned(), "file"),
        (schedule(&matrix), "one column"),
    ] {
        let message = Workload::parse(&text).expect_err(&text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

/// With rows of unit length, the trace is the number of queries.
#[test]
fn normalised_queries_have_unit_length() {
    for text in [
        "range:9",
        "range:4x5",
        "predicate-sample(queries=7):12",
        "range-marginals(ways=1):4x3",
        "affine:3x4",
    ] {
        let workload = Workload::parse(text).unwrap();
        let trace = workload.clone().normalised().unwrap().gram().unwrap().trace();
        assert!((trace - workload.count().as_f64()).abs() < 1e-9 * trace, "{text}: {trace}");
    }
    assert!(
        Workload::parse("normalised(predicate:1024)")
            .unwrap()
            .gram()
            .unwrap_err()
            .to_string()
            .contains("sample")
    );
}

/// Unions of workloads over marginals are workloads over marginals.
#[test]
fn unions_keep_their_marginals() {
    assert_eq!(
        gram("union(identity-marginals(ways=2):3x4x2; range-marginals:3x4x2)")
            .marginals()
            .unwrap()
            .len(),
        6
    );
    assert!(gram("union(identity-marginals(ways=1):3x4; range:3x4)").marginals().is_none());
}

/// The queries of every family on attributes with cells outside the order: rows, closed forms and
/// answers agree, and no query of the order contains such a cell.
#[test]
fn cells_outside_the_order_have_one_query_each() {
    for base in Family::ALL.iter().filter(|family| family.arity() == 1) {
        for (ordered, extra) in [(1, 1), (1, 2), (5, 1), (5, 2)] {
            let (n, family) = (ordered + extra, base.with_extra_cells(extra));
            let what = format!("{family:?} on {n} cells");
            assert_eq!(family.extra_cells(), if base.needs_order() { extra } else { 0 });
            assert_eq!(family == *base, !base.needs_order(), "{what}");
            let rows: Vec<Vec<f64>> = family.rows(&[n]).unwrap().collect();
            assert_eq!(family.count(&[n]).unwrap(), QueryCount::exact(rows.len() as u128));
            if base.needs_order() {
                let of_base = base.rows(&[ordered]).unwrap().map(|row| [row, vec![0.0; extra]]);
                let of_base = of_base.map(|parts| parts.concat());
                let cells = (ordered..n).map(|k| (0..n).map(|j| f64::from(j == k)).collect());
                assert_eq!(rows, of_base.chain(cells).collect::<Vec<_>>(), "{what}");
                assert!(family.recurrence(&[n]).is_none());
                assert!(family.gram(&[extra]).is_err());
            }
            let mut gram = Array2::zeros((n, n));
            let mut normalised = Array2::zeros((n, n));
            for row in &rows {
                let row = ndarray::Array1::from(row.clone());
                let outer = Array2::from_shape_fn((n, n), |(i, j)| row[i] * row[j]);
                gram += &outer;
                if row.sum() > 0.0 {
                    normalised.scaled_add(1.0 / row.dot(&row), &outer);
                }
            }
            assert_abs_diff_eq!(family.gram(&[n]).unwrap(), gram, epsilon = 1e-12);
            let found = family.normalised_gram(&[n]).unwrap();
            assert_abs_diff_eq!(found, normalised, epsilon = 1e-12);
            let values: Vec<f64> = (0..2 * n * 3).map(|k| (k * k % 17) as f64).collect();
            let lanes = Lanes::new(&values, n, 3);
            let answers = family.answers(&[n], lanes).unwrap();
            assert_eq!(answers, lanes.by_rows(rows.into_iter()), "{what}");
        }
    }
}

proptest! {
    #[test]
    fn products_of_random_families_match_their_rows(
        a in 0usize..6, b in 0usize..6, n in 1usize..5, m in 1usize..5,
    ) {
        let factors = [(Family::ALL[a], &[n][..]), (Family::ALL[b], &[m][..])];
        let workload = Workload::product(&factors).unwrap();
        let (count, gram) = gram_from_rows(&workload);
        prop_assert_eq!(workload.count(), QueryCount::exact(count as u128));
        prop_assert_eq!(workload.gram().unwrap().to_dense().unwrap(), gram);
    }
}
