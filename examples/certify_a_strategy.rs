//! Certifies a strategy: its error on a workload, compared with two lower bounds.
//!
//! The strategy counts every cell and every block of 8 cells. The workload is all ranges over 64
//! cells.
//!
//! ```sh
//! cargo run --release --example certify_a_strategy
//! ```

use std::error::Error;
use std::io::Write;

use matmech::{Optimal, Strategy, StrategyFactor, StrategySelector, Workload, svd_bound};
use ndarray::{Array2, Axis, concatenate};

const CELLS: usize = 64;
const BLOCK: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // The expected error depends on the workload W only through its Gram matrix WᵀW.
    let workload = Workload::parse(&format!("range:{CELLS}"))?;
    let gram = workload.gram()?;

    // One row per query, one column per cell. The matrix may have any scale: the error includes its
    // sensitivity.
    let cells: Array2<f64> = Array2::eye(CELLS);
    let blocks = Array2::from_shape_fn((CELLS / BLOCK, CELLS), |(block, cell)| {
        if cell / BLOCK == block { 1.0 } else { 0.0 }
    });
    let queries = concatenate(Axis(0), &[cells.view(), blocks.view()])?;
    let strategy =
        Strategy::single("cells-and-blocks", StrategyFactor::from_queries(&[CELLS], queries)?);
    // The total expected squared error at privacy cost 1, or an error if the strategy cannot answer
    // the workload.
    let error = strategy.error(&gram)?;

    // Both bounds hold for every strategy matrix. The first needs one eigendecomposition; the
    // second is part of the optimum's certificate.
    let bound = svd_bound(&gram)?;
    let best = Optimal::default().select(&gram)?;
    let certificate = best.certificate.ok_or("the optimum comes with a certificate")?;

    writeln!(
        out,
        "workload     {} ({} queries over {CELLS} cells)",
        workload.name(),
        workload.count()
    )?;
    writeln!(
        out,
        "strategy     {}, squared sensitivity {}",
        strategy.name(),
        strategy.sensitivity_squared()
    )?;
    writeln!(out, "error        {error:.4}")?;
    writeln!(out, "SVD bound    {bound:.4}   error/bound {:.6}", error / bound)?;
    writeln!(
        out,
        "lower bound  {:.4}   error/bound {:.6}",
        certificate.lower_bound,
        error / certificate.lower_bound
    )?;
    writeln!(
        out,
        "optimum      {:.4}   within {:.1e} of the lower bound",
        best.error,
        certificate.gap()
    )?;
    Ok(())
}
