//! Tests of the programs in `examples/`: their output against independently computed values.

use std::f64::consts::{PI, SQRT_2};
use std::ops::Range;

use matmech::{Optimal, StrategySelector, Workload, mechanisms, strategies};

macro_rules! output_of {
    ($example:ident) => {{
        let mut out = Vec::new();
        $example::run(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }};
}

#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/add_a_strategy.rs"]
mod add_a_strategy;
#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/add_a_subspace_solver.rs"]
mod add_a_subspace_solver;
#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/certify_a_strategy.rs"]
mod certify_a_strategy;
#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/optimum_for_a_gram.rs"]
mod optimum_for_a_gram;
#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/plan_for_a_schema.rs"]
mod plan_for_a_schema;
#[allow(dead_code, reason = "the tests call `run`, not `main`")]
#[path = "../../examples/simulate_a_mechanism.rs"]
mod simulate_a_mechanism;

/// Returns the number that follows a label.
#[track_caller]
fn number(text: &str, label: &str) -> f64 {
    let index = text.find(label).unwrap_or_else(|| panic!("no `{label}` in\n{text}"));
    let word = text[index + label.len()..].split_whitespace().next().unwrap();
    word.trim_end_matches(',')
        .parse()
        .unwrap_or_else(|_| panic!("`{word}` after `{label}` is not a number"))
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "expected {expected} within {tolerance:e}, found {found}"
    );
}

fn ranges(cells: usize) -> impl Iterator<Item = Range<usize>> {
    (0..cells).flat_map(move |start| (start + 1..=cells).map(move |end| start..end))
}

/// Returns the error of all ranges for the strategy of √(1 − w) times every cell and √w times every
/// block. By the Sherman–Morrison formula, the variance of query q is
/// `(‖q‖² − Σ w q(block)² / (1 − w + w·|block|)) / (1 − w)`.
fn cells_and_blocks(cells: usize, size: usize, w: f64) -> f64 {
    let variance = |query: Range<usize>| {
        let reductions = (0..cells).step_by(size).map(|start| {
            let end = cells.min(start + size);
            let overlap = end.min(query.end).saturating_sub(start.max(query.start)) as f64;
            w * overlap * overlap / (1.0 - w + w * (end - start) as f64)
        });
        (query.len() as f64 - reductions.sum::<f64>()) / (1.0 - w)
    };
    ranges(cells).map(variance).sum()
}

/// Returns the SVD bound of all ranges. Their Gram matrix is `(n + 1) T⁻¹` with T the second
/// difference, whose eigenvalues are `4 sin²(kπ/(2n + 2))`.
fn svd_bound_of_ranges(cells: usize) -> f64 {
    let n = cells as f64;
    let roots = (1..=cells).map(|k| 0.5 / (k as f64 * PI / (2.0 * n + 2.0)).sin());
    (n + 1.0) * roots.sum::<f64>().powi(2) / n
}

#[test]
fn a_certified_strategy_lies_between_its_bounds() {
    let text = output_of!(certify_a_strategy);
    let (error, bound) = (number(&text, "\nerror"), number(&text, "\nSVD bound"));
    // Unscaled, cells and blocks have squared sensitivity 2: w = 1/2.
    assert_close(error, cells_and_blocks(64, 8, 0.5), 1e-8);
    assert_close(bound, svd_bound_of_ranges(64), 1e-8);
    let (lower, optimum) = (number(&text, "\nlower bound"), number(&text, "\noptimum"));
    assert!(bound < lower && lower <= optimum && optimum < error, "{text}");
    assert!(number(&text, "within") < 1e-6, "{text}");
    assert!(text.contains("(2080 queries over 64 cells)"), "{text}");
}

/// The Gram matrix is the Kronecker product of [[6, 1], [1, 1]] and a circulant matrix, so the
/// optimum is the product of their optima: that of V = [[1, t], [t, 1]] with the best t, and the
/// SVD bound.
#[test]
fn the_optimum_for_a_gram_matches_its_closed_form() {
    let text = output_of!(optimum_for_a_gram);
    let windows = |distance: usize| {
        (1..=8).map(|length: usize| length.saturating_sub(distance)).sum::<usize>() as f64
    };
    let root = |k: usize| {
        let wave = |d: usize| windows(d.min(24 - d)) * (2.0 * PI * (k * d) as f64 / 24.0).cos();
        (0..24).map(wave).sum::<f64>().max(0.0).sqrt()
    };
    let circular = (0..24).map(root).sum::<f64>().powi(2) / 24.0;
    let t = (7.0 - 45f64.sqrt()) / 2.0;
    let optimum = circular * (7.0 - 2.0 * t) / (1.0 - t * t);
    let (upper, lower) = (number(&text, "upper"), number(&text, "lower"));
    assert!(
        lower <= optimum * (1.0 + 1e-9) && optimum <= upper * (1.0 + 1e-9),
        "{optimum}\n{text}"
    );
    assert!(
        upper / lower - 1.0 < 1e-6 && number(&text, "gap") < 1e-6 && text.contains("Converged"),
        "{text}"
    );
    // (tr √M)² = tr M + 2 √det M for a 2 × 2 matrix M.
    assert_close(number(&text, "SVD bound"), circular * (7.0 + 2.0 * 5f64.sqrt()) / 2.0, 1e-8);
    let variances: Vec<f64> =
        text.lines().filter(|l| l.starts_with("variance")).map(|l| number(l, "variance")).collect();
    assert_close(variances[1] / variances[0], 2.0 * (1.0 - t), 1e-3);
}

/// An attribute of a workload of products: the energy `Σ (mean of q)²` of its family's queries, the
/// error of the strategy on its residual subspace, and the number of queries.
struct Axis {
    energy: f64,
    residual: f64,
    queries: f64,
}

impl Axis {
    /// `V ∝ I − J/n` is optimal for marginals.
    fn identity(n: usize) -> Self {
        let queries = n as f64;
        Axis { energy: 1.0 / queries, residual: (queries - 1.0).powi(2) / queries, queries }
    }

    fn of(lengths: &[usize], n: usize, residual: f64) -> Self {
        let energy = lengths.iter().map(|&length| (length as f64 / n as f64).powi(2)).sum();
        Axis { energy, residual, queries: lengths.len() as f64 }
    }
}

/// Returns the root mean square error of the products over all sets of `ways` axes, at unit privacy
/// cost. By S3, the total is `(Σ_A √L_A)²`, with `L_A` the sum over the groups S ⊇ A of the product
/// of the residuals of A and the energies of `S \ A`.
fn rmse(axes: &[Axis], ways: &[u32]) -> f64 {
    let groups = || (0u32..1 << axes.len()).filter(|set| ways.contains(&set.count_ones()));
    let product = |of: &dyn Fn(usize) -> f64| (0..axes.len()).map(of).product::<f64>();
    let has = |set: u32, axis: usize| set >> axis & 1 == 1;
    let queries: f64 =
        groups().map(|s| product(&|k| if has(s, k) { axes[k].queries } else { 1.0 })).sum();
    let subspace = |a: u32| {
        let term = |s: u32| {
            product(&|k| match (has(a, k), has(s, k)) {
                (true, _) => axes[k].residual,
                (false, true) => axes[k].energy,
                (false, false) => 1.0,
            })
        };
        groups().filter(|s| s & a == a).map(term).sum::<f64>().sqrt()
    };
    (0..1 << axes.len()).map(subspace).sum::<f64>() / queries.sqrt()
}

#[test]
fn a_plan_for_a_schema_matches_the_formula() {
    let text = output_of!(plan_for_a_schema);
    let cost = number(&text, "privacy cost");
    // The privacy curve of Gaussian noise, δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), at ε = 1 and
    // μ² = β.
    let (mu, normal) = (cost.sqrt(), |x: f64| libm::erfc(-x / SQRT_2) / 2.0);
    assert_close(
        normal(mu / 2.0 - 1.0 / mu) - 1f64.exp() * normal(-mu / 2.0 - 1.0 / mu),
        1e-9,
        1e-5,
    );
    let optimum = |workload: &str| {
        Optimal::default()
            .select(&Workload::parse(workload).unwrap().gram().unwrap())
            .unwrap()
            .error
    };
    let lengths: Vec<usize> = ranges(50).map(|range| range.len()).collect();
    let prefixes: Vec<usize> = (1..=32).collect();
    let axes = [
        Axis::of(&lengths, 50, optimum("residual(range:50)")),
        Axis::of(&prefixes, 32, optimum("residual(prefix:32)")),
        Axis::identity(12),
        Axis::identity(2),
    ];
    assert_close(number(&text, "\nrmse"), rmse(&axes, &[1, 2]) / mu, 1e-6);
    assert_close(number(&text, "\nrmse"), number(&text, "lower bound"), 1e-6);
    // The mean square over all queries is the weighted mean of those of the groups.
    let groups = text.lines().skip_while(|line| !line.contains("attributes")).skip(1);
    let (mut squares, mut queries) = (0.0, 0.0);
    for group in groups {
        let fields: Vec<&str> = group.split_whitespace().collect();
        let (count, rmse): (f64, f64) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
        (squares, queries) = (squares + count * rmse * rmse, queries + count);
    }
    assert_close((squares / queries).sqrt(), number(&text, "\nrmse"), 1e-5);
    assert!(queries == 60443.0 && text.contains("income, region"), "{text}");
}

#[test]
fn an_added_strategy_is_compared_with_all_others() {
    let text = output_of!(add_a_strategy);
    let (line, plane) = text.split_at(text.find("range:10x12").unwrap());
    let weights = || (0..20).map(|k| f64::from(k) / 20.0);
    let on_line = weights().map(|w| cells_and_blocks(64, 8, w)).fold(f64::INFINITY, f64::min);
    let on_plane = weights()
        .map(|w| cells_and_blocks(10, 3, w) * cells_and_blocks(12, 3, w))
        .fold(f64::INFINITY, f64::min);
    for (text, error, bound) in [
        (line, on_line, svd_bound_of_ranges(64)),
        (plane, on_plane, svd_bound_of_ranges(10) * svd_bound_of_ranges(12)),
    ] {
        assert_close(number(text, "\n  cells-and-blocks"), error, 1e-8);
        assert_close(number(text, "SVD bound"), bound, 1e-8);
        let optimum = number(text, "\n  optimal");
        for selector in strategies() {
            let entry = text
                .lines()
                .find(|line| line.split_whitespace().next() == Some(selector.name()))
                .unwrap();
            let refused = entry.ends_with("n/a");
            assert!(refused || number(entry, selector.name()) >= optimum * (1.0 - 1e-6), "{entry}");
            // For special workloads: predicates and marginals; prefix sums.
            let special = [
                "variable-agnostic",
                "lsa-separated",
                "datacube",
                "fourier",
                "toeplitz",
                "bsr",
                "bisr",
                "bandmf",
                "blt",
                "circulant",
                "binary-tree",
                "recurrence",
                "chains",
                "truncated",
            ];
            assert!(!refused || special.contains(&selector.name()), "{entry}");
        }
        assert!(optimum < error && error < number(text, "\n  identity"), "{text}");
    }
}

/// The residual Gram matrix of prefix sums is the pseudo-inverse of the Laplacian of a path, with
/// eigenvalues `1/(4 sin²(kπ/2n))` and cosines as eigenvectors.
#[test]
fn an_added_subspace_solver_matches_its_formula() {
    let text = output_of!(add_a_subspace_solver);
    let (prefix, affine) = text.split_at(text.find("affine").unwrap());
    let root = |k: usize| 0.5 / (k as f64 * PI / 40.0).sin();
    let trace: f64 = (1..20).map(root).sum();
    let entry = |i: usize| {
        (1..20)
            .map(|k| root(k) * (k as f64 * PI * (i as f64 + 0.5) / 20.0).cos().powi(2) / 10.0)
            .sum()
    };
    let largest = (0..20).map(entry).fold(0.0, f64::max);
    let with = |residual: f64| -> f64 {
        let lengths: Vec<usize> = (1..=20).collect();
        rmse(&std::array::from_fn::<_, 10, _>(|_| Axis::of(&lengths, 20, residual)), &[1, 2])
    };
    let line = prefix.lines().find(|line| line.contains("square-root")).unwrap();
    assert_close(number(line, "rmse"), with(largest * trace), 1e-6);
    assert_close(number(line, "lower bound"), with(trace * trace / 20.0), 1e-6);
    for part in [prefix, affine] {
        let [square_root, certified] = ["square-root", "certified-optimum"].map(|solver| {
            let line = part.lines().find(|line| line.contains(solver)).unwrap();
            [number(line, "lower bound"), number(line, "rmse"), number(line, "eigendecompositions")]
        });
        assert!(
            square_root[0] < certified[0]
                && certified[0] <= certified[1]
                && certified[1] < square_root[1],
            "{part}"
        );
        assert!(certified[1] / certified[0] < 1.0 + 1e-6, "{part}");
        assert!(square_root[2] < certified[2], "{part}");
    }
}

#[test]
fn simulated_errors_match_the_expected_errors() {
    let text = output_of!(simulate_a_mechanism);
    assert!(
        text.contains("neighbours: add or remove one record")
            && text.contains("25 marginals, 5800 cells"),
        "{text}"
    );
    let rho = number(&text, "\nrho");
    // zCDP to (ε, δ) at ε = 1: δ is the minimum of e^((α−1)(αρ−ε)) (1 − 1/α)^α / (α − 1) over the
    // orders α > 1.
    let ln_delta = |a: f64| (a - 1.0) * (a * rho - 1.0) + a * (1.0 - 1.0 / a).ln() - (a - 1.0).ln();
    let delta =
        (10_000..100_000).map(|k| ln_delta(f64::from(k) / 1000.0)).fold(0.0, f64::min).exp();
    assert_close(delta, 1e-9, 1e-6);
    let expected = rmse(&std::array::from_fn::<_, 5, _>(|_| Axis::identity(8)), &[1, 2, 3])
        / (2.0 * rho).sqrt();
    for mechanism in mechanisms() {
        let line = text.lines().find(|line| line.starts_with(mechanism.name())).unwrap();
        assert!(number(line, "spent") <= rho * (1.0 + 1e-9), "{line}");
        if !mechanism.is_linear() {
            assert!(line.contains("expected unknown") && number(line, "rmse") > 0.0, "{line}");
        } else {
            assert_close(number(line, "expected"), expected, 1e-6);
            // Five standard errors. The relative standard error of 40 runs is 0.23 %, from the
            // variances and ranks of the residual subspaces.
            assert_close(number(line, "rmse"), expected, 0.0116);
        }
    }
}

/// Every example in Rust is tested here, listed in docs/library.md, and says how to run it.
#[test]
fn every_example_is_tested_and_listed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/library.md")).unwrap();
    assert!(std::fs::read_to_string(root.join("README.md")).unwrap().contains("(docs/library.md)"));
    let mut found = 0;
    for entry in std::fs::read_dir(root.join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.starts_with("//! "), "{name} does not say what it shows");
        assert!(
            source.contains(&format!("//! cargo run --release --example {name}\n")),
            "{name} does not say how to run it"
        );
        assert!(
            include_str!("examples.rs").contains(&format!("output_of!({name})")),
            "{name} is not run here"
        );
        assert!(
            page.contains(&format!("examples/{name}.rs")),
            "docs/library.md does not list {name}"
        );
        found += 1;
    }
    assert_eq!(found, 6);
}
