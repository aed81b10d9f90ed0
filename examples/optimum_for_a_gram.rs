//! Computes the certified optimum for a given Gram matrix, without listing the queries.
//!
//! Events are counted by hour, on working days and on other days: 2 x 24 cells. The queries are all
//! circular windows of 1 to 8 hours, on working days and on all days. Queries on working days have
//! five times the weight.
//!
//! ```sh
//! cargo run --release --example optimum_for_a_gram
//! ```

use std::error::Error;
use std::io::Write;

use matmech::{Gram, Optimal, OptimalOptions, StrategySelector, svd_bound};
use ndarray::Array2;

const HOURS: usize = 24;
const MAX_LENGTH: usize = 8;
const WORKING_DAY_WEIGHT: f64 = 5.0;
const ALL_DAY_WEIGHT: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // G[i, j] is the total weight of the queries that contain cells i and j. Of the windows of one
    // length, `length − distance` contain both.
    let gram = Array2::from_shape_fn((2 * HOURS, 2 * HOURS), |(i, j)| {
        let difference = (i % HOURS).abs_diff(j % HOURS);
        let distance = difference.min(HOURS - difference);
        let windows: usize = (1..=MAX_LENGTH).map(|length| length.saturating_sub(distance)).sum();
        let both_on_working_days = i < HOURS && j < HOURS;
        windows as f64
            * if both_on_working_days {
                WORKING_DAY_WEIGHT + ALL_DAY_WEIGHT
            } else {
                ALL_DAY_WEIGHT
            }
    });
    let gram = Gram::dense(&[2, HOURS], gram)?;

    let options = OptimalOptions { tolerance: 1e-8, ..OptimalOptions::default() };
    let best = Optimal::new(options)?.select(&gram)?;
    let certificate = best.certificate.ok_or("the optimum comes with a certificate")?;
    writeln!(out, "upper      {:.6}   error of the strategy", certificate.upper_bound)?;
    writeln!(
        out,
        "lower      {:.6}   lower bound on the error of every strategy matrix",
        certificate.lower_bound
    )?;
    writeln!(out, "gap        {:.1e}", certificate.gap())?;
    writeln!(
        out,
        "status     {:?} after {} iterations",
        certificate.status, certificate.iterations
    )?;
    writeln!(out, "SVD bound  {:.6}", svd_bound(&gram)?)?;

    // The variance of single answers at privacy cost 1: the window from 9 to 17 on working days,
    // and on all days.
    let strategy = best.strategy.factors().first().ok_or("a strategy has a factor")?;
    for (kinds, name) in [(1, "working days"), (2, "all days")] {
        let contains = |cell: usize| cell / HOURS < kinds && (9..17).contains(&(cell % HOURS));
        let query: Vec<f64> =
            (0..2 * HOURS).map(|cell| f64::from(u8::from(contains(cell)))).collect();
        writeln!(out, "variance   {:.6}   from 9 to 17 on {name}", strategy.variance(&query)?)?;
    }
    Ok(())
}
