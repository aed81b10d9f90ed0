//! The discrete Gaussian sampler of releases: 4,000 values on one thread, for several σ.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use matmech::privacy::{OperatingSystemNoise, RationalDeviation};

/// The number of values, too few for a second thread.
const VALUES: usize = 4000;

fn draw(c: &mut Criterion) {
    let mut group = c.benchmark_group("discrete_gaussian");
    group.throughput(Throughput::Elements(VALUES as u64));
    for sigma in [0.7, 10.0, 1e3, 1e6, 1e9, 1e15] {
        let Ok(deviation) = RationalDeviation::rounded_up(sigma) else { continue };
        group.bench_function(format!("sigma={sigma:e}"), |b| {
            let mut noise = OperatingSystemNoise::new();
            let mut values = vec![0i128; VALUES];
            b.iter(|| noise.add(&mut values, deviation).is_ok());
        });
    }
    group.finish();
}

criterion_group!(benches, draw);
criterion_main!(benches);
