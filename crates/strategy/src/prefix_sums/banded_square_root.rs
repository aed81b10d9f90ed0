//! The banded square root of the prefix sums.

use super::factorisation::{Factorisation, select_gram, separation_and_count, steps};
use super::toeplitz::{of_coefficients, square_root};
use crate::call::Call;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Problem, Selection, StrategySelector};

/// The first bands of the square root of the prefix sums (BSR).
///
/// C has the first p coefficients of (1 − x)^(−½). *Source*: Kalinin and Lampert, Banded square root
/// matrix factorization for differentially private model training (2024), Definition 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct BandedSquareRoot {
    /// p. By default the smallest distance of two steps of one person, n for one participation.
    pub bands: Option<usize>,
}

impl StrategySelector for BandedSquareRoot {
    fn name(&self) -> &str {
        "bsr"
    }

    fn summary(&self) -> &str {
        "banded square root of the prefix sums"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        select_gram(self, gram)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        self.factorise(problem)?.selection(self.name(), problem)
    }

    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        self.factorise(problem)?.query_errors(problem)
    }

    fn options(&self) -> &'static [&'static str] {
        &["bands"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Ok(Box::new(BandedSquareRoot { bands: positive(call, "bands")? }))
    }
}

impl BandedSquareRoot {
    fn factorise(&self, problem: &Problem<'_>) -> Result<Factorisation> {
        let n = steps(self.name(), problem)?;
        let (separation, _) = separation_and_count(n, problem.participation);
        let bands = self.bands.unwrap_or(separation).min(n);
        let mut c = square_root(n);
        c[bands..].fill(0.0);
        of_coefficients(&c, bands - 1, bands)
    }
}

/// Returns the value of an option that is a positive integer.
///
/// # Errors
/// Any other value.
pub(super) fn positive(call: &Call<'_>, key: &str) -> Result<Option<usize>> {
    match call.option(key)? {
        Some(0) => Err(call.refuse(format!("a positive number for `{key}`"), "0")),
        value => Ok(value),
    }
}
