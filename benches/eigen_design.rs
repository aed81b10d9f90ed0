//! Program 1 and Eigen-Design on one thread: `cargo bench --bench eigen_design`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use matmech::strategy::by_name;
use matmech::strategy::eigen_design::EigenQueries;
use matmech::strategy::eigen_design::weighting::{ColumnNorm, WeightingOptions, WeightingProblem};
use matmech::workload::Workload;

/// Program 1 to a relative gap of 1e-6, without the time for the eigen-queries.
fn program_1(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("program-1");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    for (text, norm) in [
        ("range:512", ColumnNorm::L2),
        ("range:2048", ColumnNorm::L2),
        ("cdf:2048", ColumnNorm::L2),
        ("cdf:512", ColumnNorm::L1),
        ("range-marginals(ways=2):8x16x16", ColumnNorm::L2),
    ] {
        let eigen = Workload::parse(text).and_then(|w| w.gram()).and_then(|g| EigenQueries::of(&g));
        let problem = eigen.and_then(|e| WeightingProblem::new(e.values, &e.rows, norm));
        let Ok(problem) = problem else { continue };
        let options = WeightingOptions { tolerance: 1e-6, ..WeightingOptions::default() };
        let name = format!("{text} {norm:?}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(&problem).solve(&options).map(|w| w.upper_bound))
        });
    }
    group.finish();
}

/// From a Gram to a strategy and its error.
fn eigen_design(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("eigen-design");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    for (text, strategy) in [
        ("range:2048", "eigen-design"),
        ("cdf:2048", "eigen-design"),
        ("permuted-range:1024", "eigen-design"),
        ("range:8x8x8x4", "eigen-design"),
        ("range:64x64x64", "eigen-design(completion=factors)"),
        ("identity-marginals(ways=2):8x8x16x2", "eigen-design"),
        ("range:2048", "eigen-separation(group=16)"),
        ("range:2048", "principal-vectors(share=0.1)"),
        ("permuted-range:1024", "eigen-design:wavelet"),
    ] {
        let (Ok(gram), Ok(selector)) =
            (Workload::parse(text).and_then(|w| w.gram()), by_name(strategy))
        else {
            continue;
        };
        let name = format!("{strategy} {text}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| selector.select(black_box(&gram)).map(|s| s.error))
        });
    }
    group.finish();
}

criterion_group!(benches, program_1, eigen_design);
criterion_main!(benches);
