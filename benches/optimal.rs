//! The certified optimum and dense linear algebra, on one thread: `cargo bench --bench optimal`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use matmech::linalg;
use matmech::strategy::{Optimal, StrategySelector, svd_bound};
use matmech::workload::{Family, Workload};

fn certified_optimum(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("optimal");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    for text in [
        "range:256",
        "range:512",
        "range:1024",
        "range:2048",
        "range:64x64x64",
        "prefix:1024",
        "permuted-range:1024",
        "residual(affine:40x40)",
        "residual(affine:50x50)",
        "residual(abs:40x40)",
        "residual(abs:50x50)",
    ] {
        let Ok(gram) = Workload::parse(text).and_then(|w| w.gram()) else {
            continue;
        };
        let options = matmech::strategy::OptimalOptions { tolerance: 1e-6, ..Default::default() };
        let Ok(selector) = Optimal::new(options) else {
            continue;
        };
        group.bench_function(text, |bencher| {
            bencher.iter(|| selector.select(black_box(&gram)).map(|s| s.error))
        });
    }
    group.finish();
}

fn grams_and_bounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bounds");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    for text in
        ["range:1024", "range-sample(queries=100000,seed=1):32x32", "residual(affine:40x40)"]
    {
        let Ok(workload) = Workload::parse(text) else {
            continue;
        };
        group.bench_function(format!("gram {text}"), |bencher| {
            bencher.iter(|| black_box(&workload).gram())
        });
        let Ok(gram) = workload.gram() else {
            continue;
        };
        group.bench_function(format!("svd-bound {text}"), |bencher| {
            bencher.iter(|| svd_bound(black_box(&gram)))
        });
    }
    group.finish();
}

fn dense(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linalg");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3));
    for n in [256usize, 512, 1024] {
        let Ok(gram) = Family::RANGE.gram(&[n]) else {
            continue;
        };
        group.throughput(Throughput::Elements((2 * n * n * n) as u64));
        group.bench_function(format!("product {n}"), |b| {
            b.iter(|| linalg::product(black_box(gram.view()), gram.view()))
        });
        group.bench_function(format!("eigh {n}"), |b| {
            b.iter(|| linalg::eigh(black_box(gram.view())))
        });
        group.bench_function(format!("eigvalsh {n}"), |b| {
            b.iter(|| linalg::eigvalsh(black_box(gram.view())))
        });
        group.bench_function(format!("cholesky {n}"), |b| {
            b.iter(|| linalg::cholesky(black_box(gram.view())))
        });
        group.bench_function(format!("spd_inverse {n}"), |b| {
            b.iter(|| linalg::spd_inverse(black_box(gram.view())))
        });
    }
    group.finish();
}

criterion_group!(benches, certified_optimum, grams_and_bounds, dense);
criterion_main!(benches);
