//! An example of a kind of experiment: the total error of the identity strategy on all ranges.

use experiments::error::{Error, Result};
use experiments::experiment::{CellOf, Kind, Row};
use matmech::strategy;
use matmech::workload::Workload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

/// Domain sizes: `total_error` of the method `identity` at unit privacy cost.
#[derive(Debug)]
pub struct IdentityErrors;

/// The contents of `[grid]` in a config.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Domain sizes.
    sizes: Vec<usize>,
}

/// Everything that determines the result of a cell, except its method and the seed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    size: usize,
}

impl Kind for IdentityErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "identity-errors";
    const SUMMARY: &'static str = "total error of the identity strategy on all ranges";
    const KEYS: &'static [&'static str] = &["size"];
    const ERRORS: &'static [&'static str] = &["total_error"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let cell = |(index, size): (usize, usize)| {
            if size == 0 {
                let key = format!("sizes[{index}]");
                return Err(Error::config(key, "at least one cell", "0", "remove this size"));
            }
            Ok(CellOf::new([&size], "identity", Params { size }))
        };
        grid.sizes.into_iter().enumerate().map(cell).collect()
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let gram = Workload::parse(&format!("range:{}", params.size))?.gram()?;
        Ok(vec![Row::new("total_error", strategy::by_name(method)?.select(&gram)?.error)])
    }
}
