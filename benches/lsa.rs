//! Time of the Level Selection Algorithm on AllRange(n), and its growth with n.
//!
//! `cargo bench --bench lsa` times n = 128, 256, 512 with criterion. Then it runs n = 128 … 2048
//! once each and fits the exponent of the time per level, which should be at most 3. The time per
//! level is used because the number of levels is irregular in n (22, 11, 33, 13, 28).

use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion};
use matmech::strategy::lsa::separated::{self, SeparatedOptions};
use matmech::strategy::lsa::{self, LsaOptions, Reading};
use matmech::workload::Workload;

fn main() -> matmech::Result<()> {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("lsa");
    for n in [128, 256, 512] {
        let gram = Workload::parse(&format!("range:{n}"))?.gram()?;
        group.bench_with_input(BenchmarkId::new("range", n), &gram, |bencher, gram| {
            bencher.iter(|| black_box(lsa::run(gram, Reading::JointSweep, &LsaOptions::default())));
        });
    }
    let gram = Workload::parse("range-marginals:32x32")?.gram()?;
    group.bench_function("separated range-marginals:32x32", |bencher| {
        let terms = gram.marginals().unwrap_or_default();
        bencher.iter(|| black_box(separated::run(&[32, 32], terms, &SeparatedOptions::default())));
    });
    group.finish();
    criterion.final_summary();
    // Not in the smoke test of `cargo test --benches`.
    if std::env::args().any(|argument| argument == "--bench") { growth() } else { Ok(()) }
}

/// Prints the time per level for growing n, and the slope of its logarithm.
fn growth() -> matmech::Result<()> {
    let mut points = Vec::new();
    println!("{:>6} {:>7} {:>9} {:>12} {:>11}", "n", "levels", "queries", "seconds", "s per level");
    for n in [128, 256, 512, 1024, 2048] {
        let gram = Workload::parse(&format!("range:{n}"))?.gram()?;
        let started = Instant::now();
        let outcome = lsa::run(&gram, Reading::JointSweep, &LsaOptions::default())?;
        let seconds = started.elapsed().as_secs_f64();
        let levels = outcome.levels.len();
        println!(
            "{n:>6} {levels:>7} {:>9} {seconds:>12.3} {:>11.4}",
            outcome.queries.total(),
            seconds / levels as f64
        );
        points.push((f64::from(n).ln(), (seconds / levels as f64).ln()));
    }
    println!("time per level ~ n^{:.2}", slope(&points));
    Ok(())
}

/// Returns the least-squares slope.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / count, y + p.1 / count));
    let (covariance, variance) = points
        .iter()
        .fold((0.0, 0.0), |(c, v), p| (c + (p.0 - x) * (p.1 - y), v + (p.0 - x).powi(2)));
    covariance / variance
}
