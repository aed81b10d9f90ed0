//! Adds a strategy: implement `StrategySelector` to use it like the library's strategies.
//!
//! The strategy counts cells and blocks of about √n cells, with the best relative weight for the
//! workload.
//!
//! ```sh
//! cargo run --release --example add_a_strategy
//! ```

use std::error::Error;
use std::io::Write;

use matmech::{
    Gram, Selection, Strategy, StrategyFactor, StrategySelector, Workload, evaluated, strategies,
    svd_bound,
};
use ndarray::Array2;

/// Counts √(1 − w) times each cell and √w times each block, for the best of 20 weights w.
///
/// A workload over several attributes gets such a strategy for each of its factors.
#[derive(Debug)]
struct CellsAndBlocks;

impl StrategySelector for CellsAndBlocks {
    fn name(&self) -> &str {
        "cells-and-blocks"
    }

    fn summary(&self) -> &str {
        "cells and blocks of about √n cells, weighted for the workload"
    }

    fn select(&self, gram: &Gram) -> matmech::Result<Selection> {
        (1..20).try_fold(weighted(self.name(), gram, 0.0)?, |best, k| {
            let candidate = weighted(self.name(), gram, f64::from(k) / 20.0)?;
            Ok(if candidate.error < best.error { candidate } else { best })
        })
    }
}

fn weighted(name: &str, gram: &Gram, weight: f64) -> matmech::Result<Selection> {
    let queries = |cells: usize| {
        let size = (cells as f64).sqrt().round() as usize;
        Array2::from_shape_fn((cells + cells.div_ceil(size), cells), |(row, cell)| {
            match row.checked_sub(cells) {
                None if row == cell => (1.0 - weight).sqrt(),
                Some(block) if block == cell / size => weight.sqrt(),
                _ => 0.0,
            }
        })
    };
    let factors = gram
        .factors()
        .iter()
        .map(|g| StrategyFactor::from_queries(&g.shape, queries(g.matrix.nrows())));
    let strategy = Strategy::kronecker(name, factors.collect::<matmech::Result<_>>()?)?;
    Ok(Selection { details: vec![("weight", weight)], ..evaluated(strategy, gram)? })
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut selectors = strategies();
    selectors.push(Box::new(CellsAndBlocks));
    for workload in ["range:64", "range:10x12"] {
        let gram = Workload::parse(workload)?.gram()?;
        let bound = svd_bound(&gram)?;
        writeln!(out, "{workload}: SVD bound {bound:.4}")?;
        for selector in &selectors {
            match selector.select(&gram) {
                Ok(best) => writeln!(
                    out,
                    "  {:<20}{:>12.4}{:>10.6}",
                    selector.name(),
                    best.error,
                    best.error / bound
                )?,
                // Some strategies apply only to special workloads.
                Err(_) => writeln!(out, "  {:<20}{:>12}", selector.name(), "n/a")?,
            }
        }
    }
    Ok(())
}
