//! The noise of releases, on one thread, and of streams, on up to 8 threads:
//! `cargo bench --bench noise`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use matmech::Workload;
use matmech::privacy::{OperatingSystemNoise, RationalDeviation};
use matmech::strategy::stream::{Form, Stream, StreamOptions, StreamedNoise};
use matmech::strategy::{Participation, Problem};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

/// The number of values, too few for a second thread.
const VALUES: usize = 4000;

/// The discrete Gaussian sampler, for several σ.
fn of_releases(c: &mut Criterion) {
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

const COORDINATES: usize = 1_000_000;

/// One step of noise, next to as many independent normals on one thread. With four epochs the time
/// is the mean of their steps, which draw one to four normals per coordinate.
fn of_streams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("draw");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .throughput(Throughput::Elements(COORDINATES as u64));
    let mut noise = vec![0.0; COORDINATES];
    let mut generator = ChaCha12Rng::seed_from_u64(1);
    group.bench_function("normals", |b| {
        b.iter(|| {
            noise.iter_mut().for_each(|z| *z = StandardNormal.sample(&mut generator));
            black_box(&noise);
        })
    });
    let Ok(workload) = Workload::parse("prefix:64") else {
        return;
    };
    for (form, participation) in [
        (Form::Recurrence, Participation::Single),
        (Form::Recurrence, Participation::Epochs(4)),
        (Form::Chains, Participation::Single),
    ] {
        let problem = Problem { participation, ..Problem::new(&workload) };
        let Ok(stream) = Stream::fit(&problem, form, 4, &StreamOptions::default()) else {
            continue;
        };
        let new = || StreamedNoise::seeded(stream.coefficients.clone(), COORDINATES, 1);
        let mut stream = new();
        group.bench_function(format!("{form}, 4 buffers, {participation}"), |b| {
            b.iter(|| {
                if stream.fill(&mut noise).is_err() {
                    stream = new();
                }
                black_box(&noise);
            })
        });
    }
    group.finish();
}

criterion_group!(benches, of_releases, of_streams);
criterion_main!(benches);
