//! The certified optimum for a Gram matrix that you wrote down yourself, without listing a single
//! query.
//!
//! Events are counted by hour, on working days and on other days: 2 x 24 cells. The queries are all
//! windows of 1 to 8 hours around the clock, on working days and on all days; those on working days
//! matter five times as much.
//!
//! ```sh
//! cargo run --release --example optimum_for_a_gram
//! ```

use std::error::Error;
use std::io::Write;

use matmech::{Gram, Optimal, OptimalOptions, StrategySelector, svd_bound};
use ndarray::Array2;

const HOURS: usize = 24;
const LONGEST: usize = 8;
const ON_WORKING_DAYS: f64 = 5.0;
const ON_ALL_DAYS: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// All of the program; apart from `main`, so that a test can read what it prints.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // G[i, j] is the weight of all queries that contain cells i and j. Of windows of one length,
    // `length − distance` do.
    let gram = Array2::from_shape_fn((2 * HOURS, 2 * HOURS), |(i, j)| {
        let apart = (i % HOURS).abs_diff(j % HOURS);
        let distance = apart.min(HOURS - apart);
        let windows: usize = (1..=LONGEST).map(|length| length.saturating_sub(distance)).sum();
        let both_on_working_days = i < HOURS && j < HOURS;
        windows as f64
            * if both_on_working_days { ON_WORKING_DAYS + ON_ALL_DAYS } else { ON_ALL_DAYS }
    });
    let gram = Gram::dense(&[2, HOURS], gram)?;

    let options = OptimalOptions { tolerance: 1e-8, ..OptimalOptions::default() };
    let best = Optimal::new(options)?.select(&gram)?;
    let certificate = best.certificate.ok_or("the optimum comes with a certificate")?;
    writeln!(out, "upper      {:.6}   the error of the strategy found", certificate.upper_bound)?;
    writeln!(out, "lower      {:.6}   no strategy has a smaller one", certificate.lower_bound)?;
    writeln!(out, "gap        {:.1e}", certificate.gap())?;
    writeln!(
        out,
        "status     {:?} after {} eigendecompositions",
        certificate.status, certificate.iterations
    )?;
    writeln!(out, "SVD bound  {:.6}", svd_bound(&gram)?)?;

    // The variance of one answer at privacy cost 1: the window from 9 to 17, on working days and on
    // all days.
    let strategy = best.strategy.factors().first().ok_or("a strategy has a factor")?;
    for (kinds, name) in [(1, "working days"), (2, "all days")] {
        let asked = |cell: usize| cell / HOURS < kinds && (9..17).contains(&(cell % HOURS));
        let query: Vec<f64> = (0..2 * HOURS).map(|cell| f64::from(u8::from(asked(cell)))).collect();
        writeln!(out, "variance   {:.6}   from 9 to 17 on {name}", strategy.variance(&query)?)?;
    }
    Ok(())
}
