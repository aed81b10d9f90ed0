//! Decomp and Recon compared with a plain copy of the marginal and with the Kronecker baselines.
//!
//! One thread: `cargo bench --bench residual`.
//!
//! Bandwidth counts each input and output value once, 8 bytes each: `16 n_γ` bytes for the copy,
//! `8 (n_γ + Π (n_i − 1))` bytes for Decomp and Recon with all axes kept. Everything writes into
//! allocated memory. All operations take turns within a round, so that other load affects all
//! alike. The table shows the median of the rounds.

use std::hint::black_box;
use std::time::Instant;

use matmech::domain::AxisSet;
use matmech::residual::kronecker::{apply_dense, apply_structured, decomp_factors, recon_factors};
use matmech::residual::{add_spread, centre_in_place, decomp_into, recon_into};

/// The target time of one measurement in seconds.
///
/// Short calls are repeated.
const TARGET: f64 = 2e-3;

/// The maximum number of multiplications per call of the dense baseline.
///
/// Larger cases run without baselines.
const MAX_PRODUCTS: f64 = 4e9;

fn main() -> matmech::Result<()> {
    // The smoke test of `cargo test --benches` runs small sizes only.
    let full = std::env::args().any(|argument| argument == "--bench");
    let rounds = if full { 21 } else { 3 };
    println!("GB/s (ns per cell of the marginal); all axes kept\n");
    header();
    for n in [32, 48, 64, 96, 128, 192, 256].into_iter().filter(|&n| full || n == 32) {
        compare(&[n; 3], rounds)?;
    }
    // 16^7 cells and their results do not fit in 3 GB.
    for degree in (2..=6).filter(|&d| full || d < 4) {
        compare(&vec![16; degree], rounds)?;
    }
    println!(
        "\nadd_spread on 64 x 64 x 64 and on Adult-like 42 x 16 x 5, ns per cell of the marginal"
    );
    for kept in AxisSet::subsets(3) {
        println!(
            "{kept:?}: {:.3} {:.3}",
            spread(&[64; 3], kept, rounds),
            spread(&[42, 16, 5], kept, rounds)
        );
    }
    Ok(())
}

fn header() {
    println!(
        "{:>10} {:>16} {:>16} {:>6} {:>16} {:>6} {:>16} {:>12} {:>12} {:>12} {:>12}",
        "sizes",
        "copy",
        "Decomp",
        "share",
        "Recon",
        "share",
        "centring",
        "D dense",
        "D struct",
        "R dense",
        "R struct"
    );
}

fn compare(sizes: &[usize], rounds: usize) -> matmech::Result<()> {
    let kept = AxisSet::all(sizes.len());
    let cells: usize = sizes.iter().product();
    let marginal: Vec<f64> = (0..cells).map(|i| ((i % 1009) as f64).sqrt()).collect();
    let mut residual = Vec::new();
    decomp_into(&marginal, sizes, kept, &mut residual)?;
    let (mut copy, mut part, mut centred) = (marginal.clone(), Vec::new(), marginal.clone());
    recon_into(&residual, sizes, kept, &mut part)?;
    let (down, up) = (decomp_factors(sizes, kept), recon_factors(sizes, kept));
    let baselines = cells as f64 * sizes.iter().sum::<usize>() as f64 <= MAX_PRODUCTS;

    let mut times: [Vec<f64>; 8] = Default::default();
    let given = residual.clone();
    for round in 0..rounds {
        times[0].push(timed(|| black_box(&mut copy).copy_from_slice(black_box(&marginal))));
        times[1].push(timed(|| {
            drop(black_box(decomp_into(black_box(&marginal), sizes, kept, &mut residual)))
        }));
        times[2]
            .push(timed(|| drop(black_box(recon_into(black_box(&given), sizes, kept, &mut part)))));
        times[3].push(timed(|| drop(black_box(centre_in_place(sizes, black_box(&mut centred))))));
        if baselines && round < 5 {
            times[4]
                .push(timed(|| drop(black_box(apply_dense(&down, black_box(marginal.clone()))))));
            times[5].push(timed(|| {
                drop(black_box(apply_structured(&down, black_box(marginal.clone()))))
            }));
            times[6].push(timed(|| drop(black_box(apply_dense(&up, black_box(given.clone()))))));
            times[7]
                .push(timed(|| drop(black_box(apply_structured(&up, black_box(given.clone()))))));
        }
    }
    let seconds = times.map(median);
    let through = [2 * cells, cells + residual.len(), cells + residual.len(), 2 * cells];
    let shown = |which: usize| {
        let speed = 8.0 * through[which] as f64 / seconds[which] / 1e9;
        (speed, format!("{speed:.1} ({:.3})", seconds[which] * 1e9 / cells as f64))
    };
    let ((reference, copy), (down, decomp), (up, recon), (_, centring)) =
        (shown(0), shown(1), shown(2), shown(3));
    let slower = |which: usize| {
        if seconds[which] > 0.0 {
            format!("({:.3})", seconds[which] * 1e9 / cells as f64)
        } else {
            "–".into()
        }
    };
    println!(
        "{:>10} {copy:>16} {decomp:>16} {:>6.2} {recon:>16} {:>6.2} {centring:>16} {:>12} {:>12} \
         {:>12} {:>12}",
        format!("{}^{}", sizes[0], sizes.len()),
        down / reference,
        up / reference,
        slower(4),
        slower(5),
        slower(6),
        slower(7)
    );
    Ok(())
}

/// Returns nanoseconds per cell for adding a centred residual.
fn spread(sizes: &[usize], kept: AxisSet, rounds: usize) -> f64 {
    let kept_cells: usize =
        sizes.iter().enumerate().filter(|&(axis, _)| kept.contains(axis)).map(|(_, n)| n).product();
    let centred: Vec<f64> = (0..kept_cells).map(|i| i as f64).collect();
    let mut marginal = vec![0.0; sizes.iter().product()];
    let times = (0..rounds).map(|_| {
        timed(|| {
            drop(black_box(add_spread(black_box(&mut marginal), sizes, kept, black_box(&centred))))
        })
    });
    median(times.collect()) * 1e9 / marginal.len() as f64
}

/// Returns seconds per call, after a warm-up call that fills the cache.
fn timed(mut call: impl FnMut()) -> f64 {
    let started = Instant::now();
    call();
    let once = started.elapsed().as_secs_f64();
    let calls = (TARGET / once.max(1e-9)).ceil().min(1e6) as u32;
    let started = Instant::now();
    (0..calls).for_each(|_| call());
    started.elapsed().as_secs_f64() / f64::from(calls)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
