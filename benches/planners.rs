//! Time and memory of plans and of their runs on records: `cargo bench --bench planners`.
//!
//! Criterion times both at n = 10, d = 10 on the workloads of S3, Tables 4, 5 and 7. Then every
//! planner runs once per case, in a separate process, for growing n (at d = 10) and growing d (at n
//! = 10). The exponents of its times in n, in d and in the number of views are fitted. Memory is
//! the peak resident set of the process minus that of a process without a plan.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use matmech::Result;
use matmech::access::PrivateTable;
use matmech::data::Records;
use matmech::mechanism::run_plan;
use matmech::planner::{self, Plan};
use matmech::privacy::PrivacyCost;
use matmech::schema::Schema;
use matmech::workload::{Family, GroupFamily, GroupedWorkload, attribute_sets, groups_of};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// The workloads by name.
///
/// All 1- and 2-way queries of a family (Table 4); `mixed` has 1-way ranges, 2-way affine queries
/// and 3-way prefix sums (Tables 5, 7).
const WORKLOADS: [&str; 4] = ["prefix", "range", "affine", "mixed"];

/// The number of synthetic records on which plans run.
const RECORDS: usize = 10_000;

/// The fixed value of n or d while the other grows.
const FIXED: usize = 10;

/// The command-line argument for running one case.
const CASE: &str = "--one-case";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(index) = arguments.iter().position(|argument| argument == CASE) {
        return run_case(&arguments[index + 1..]);
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    for name in WORKLOADS {
        let workload = workload(name, FIXED, FIXED)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let records = Records::uniform(workload.schema(), RECORDS, &mut rng)?;
        for planner in planner::planners() {
            let Ok(plan) = planner.plan(&workload, PrivacyCost::UNIT) else { continue };
            let mut group = criterion.benchmark_group(format!("planners/{name}"));
            group.bench_function(format!("plan {}", planner.name()), |b| {
                b.iter(|| black_box(planner.plan(&workload, PrivacyCost::UNIT)));
            });
            if run(&plan, &workload, &records, &mut rng).is_ok() {
                group.bench_function(format!("run {}", planner.name()), |b| {
                    b.iter(|| run(&plan, &workload, &records, &mut rng));
                });
            }
            group.finish();
        }
    }
    criterion.final_summary();
    // Not in the smoke test of `cargo test --benches`.
    if arguments.iter().any(|argument| argument == "--bench") {
        growth();
    }
    Ok(())
}

/// Runs a plan on the records with the plan's budget: measures and answers everything.
fn run(
    plan: &Plan,
    workload: &GroupedWorkload,
    records: &Records,
    rng: &mut ChaCha20Rng,
) -> Result<()> {
    let mut table = PrivateTable::of_records(records, plan.privacy_cost().rho(), rng)?;
    run_plan(plan, workload, &mut table, &mut |_, answers| {
        black_box(answers);
        Ok(())
    })
}

fn workload(name: &str, n: usize, d: usize) -> Result<GroupedWorkload> {
    let schema = Schema::uniform(n, d)?;
    let product = GroupFamily::Product;
    match name {
        "mixed" => {
            let mut groups = Vec::new();
            for (way, family) in [
                product(Family::RANGE),
                GroupFamily::Pairs(Family::AFFINE),
                product(Family::PREFIX),
            ]
            .iter()
            .enumerate()
            {
                groups.extend(groups_of(
                    &schema,
                    family,
                    &attribute_sets(&schema, &[way + 1])?,
                    &[1.0],
                )?);
            }
            GroupedWorkload::new(schema, groups)
        }
        "range" => GroupedWorkload::all_ways(schema, &product(Family::RANGE), &[1, 2]),
        "affine" => GroupedWorkload::all_ways(schema, &GroupFamily::Pairs(Family::AFFINE), &[1, 2]),
        _ => GroupedWorkload::all_ways(schema, &product(Family::PREFIX), &[1, 2]),
    }
}

/// Returns the peak memory of the process in MB (10⁶ bytes); NaN without `/proc` (macOS).
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<f64>().ok()).map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}

/// Plans and runs one case.
///
/// Prints views, seconds of planning, seconds of running (NaN for a plan of the full domain, which
/// is refused) and peak memory in MB. Prints nothing if there is no plan. Without arguments, prints
/// the peak memory only.
fn run_case(arguments: &[String]) -> Result<()> {
    let [name, planner, n, d] = arguments else {
        println!("{}", peak_mb());
        return Ok(());
    };
    let workload = workload(name, n.parse().unwrap_or(FIXED), d.parse().unwrap_or(FIXED))?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let records = Records::uniform(workload.schema(), RECORDS, &mut rng)?;
    let started = Instant::now();
    let Ok(plan) = planner::by_name(planner)?.plan(&workload, PrivacyCost::UNIT) else {
        return Ok(());
    };
    let planning = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let ran = run(&plan, &workload, &records, &mut rng);
    let running = ran.map_or(f64::NAN, |()| started.elapsed().as_secs_f64());
    println!("{} {planning} {running} {}", workload.groups().len(), peak_mb());
    Ok(())
}

/// Runs a case in a separate process.
///
/// Returns the numbers that it prints.
fn measured(arguments: &[&str]) -> Vec<f64> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let Ok(output) = Command::new(program).arg(CASE).args(arguments).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Prints the times and memory of every planner for growing n and d.
fn growth() {
    let base = measured(&[]).first().copied().unwrap_or(f64::NAN);
    for name in WORKLOADS {
        for planner in planner::planners() {
            println!("\n{name}, {}", planner.name());
            println!(
                "{:>4} {:>4} {:>7} {:>10} {:>10} {:>9}",
                "n", "d", "views", "plan s", "run s", "peak MB"
            );
            let (mut by_n, mut by_d, mut by_views) =
                (Fit::default(), Fit::default(), Fit::default());
            let max = if name == "mixed" { [30, 20] } else { [40, 40] };
            for (n, d) in [(10, 10), (20, 10), (max[0], 10), (10, 15), (10, max[1])] {
                let found = measured(&[name, planner.name(), &n.to_string(), &d.to_string()]);
                let [views, planning, running, peak] = found[..] else {
                    println!("{n:>4} {d:>4} {:>7}", "refused");
                    continue;
                };
                let ran =
                    if running.is_nan() { "refused".to_owned() } else { format!("{running:.4}") };
                println!(
                    "{n:>4} {d:>4} {views:>7} {planning:>10.4} {ran:>10} {:>9.1}",
                    peak - base
                );
                if d == FIXED {
                    by_n.add(n as f64, planning, running);
                }
                if n == FIXED {
                    by_d.add(d as f64, planning, running);
                    by_views.add(views, planning, running);
                }
            }
            println!("plan ~ n^{} d^{} views^{}", by_n.plan(), by_d.plan(), by_views.plan());
            println!("run  ~ n^{} d^{} views^{}", by_n.run(), by_d.run(), by_views.run());
        }
    }
}

/// Points (ln x, ln planning time, ln running time).
#[derive(Default)]
struct Fit {
    points: Vec<(f64, f64, f64)>,
}

impl Fit {
    fn add(&mut self, x: f64, planning: f64, running: f64) {
        self.points.push((x.ln(), planning.ln(), running.ln()));
    }

    fn plan(&self) -> String {
        slope(self.points.iter().map(|p| (p.0, p.1)).collect())
    }

    fn run(&self) -> String {
        slope(self.points.iter().filter(|p| p.2.is_finite()).map(|p| (p.0, p.2)).collect())
    }
}

/// Returns the least-squares slope, or `?` for fewer than three points.
fn slope(points: Vec<(f64, f64)>) -> String {
    if points.len() < 3 {
        return "?".to_owned();
    }
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / count, y + p.1 / count));
    let (covariance, variance) = points
        .iter()
        .fold((0.0, 0.0), |(c, v), p| (c + (p.0 - x) * (p.1 - y), v + (p.0 - x).powi(2)));
    format!("{:.1}", covariance / variance)
}
