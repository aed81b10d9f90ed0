//! The dense linear algebra on one thread: `cargo bench --bench kernels`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use matmech::linalg;
use matmech::workload::Family;

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

criterion_group!(benches, dense);
criterion_main!(benches);
