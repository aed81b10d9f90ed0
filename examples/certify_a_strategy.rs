//! How good is a strategy of your own? Its error on a workload beside two bounds that no strategy
//! can beat.
//!
//! The strategy: count every cell, and every block of 8 cells. The workload: all ranges over 64
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

/// All of the program; apart from `main`, so that a test can read what it prints.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // A mechanism's expected error depends on the workload W through its Gram matrix WᵀW alone.
    let workload = Workload::parse(&format!("range:{CELLS}"))?;
    let gram = workload.gram()?;

    // One query per row, one column per cell. Any matrix will do, scaled as you like: the error
    // counts its sensitivity.
    let cells: Array2<f64> = Array2::eye(CELLS);
    let blocks = Array2::from_shape_fn((CELLS / BLOCK, CELLS), |(block, cell)| {
        if cell / BLOCK == block { 1.0 } else { 0.0 }
    });
    let queries = concatenate(Axis(0), &[cells.view(), blocks.view()])?;
    let own =
        Strategy::single("cells-and-blocks", StrategyFactor::from_queries(&[CELLS], queries)?);
    // The total expected squared error at privacy cost 1. It fails if the strategy cannot answer
    // the workload.
    let error = own.error(&gram)?;

    // Both bounds hold for every strategy. The first takes one eigendecomposition; the second comes
    // with the optimum.
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
        own.name(),
        own.sensitivity_squared()
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
