//! The banded square root of the prefix sums.

use super::factorisation::{Factorisation, Factorised, separation_and_count};
use super::toeplitz::{of_coefficients, square_root};
use crate::Problem;
use crate::call::Call;
use crate::error::Result;

/// The first bands of the square root of the prefix sums (BSR).
///
/// C has the first p coefficients of (1 − x)^(−½). *Source*: Kalinin and Lampert, Banded square root
/// matrix factorization for differentially private model training (2024), Definition 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct BandedSquareRoot {
    /// p. By default the smallest distance of two steps of one person, n for one participation.
    pub bands: Option<usize>,
}

impl Factorised for BandedSquareRoot {
    const NAME: &'static str = "bsr";
    const SUMMARY: &'static str = "banded square root of the prefix sums";
    const OPTIONS: &'static [&'static str] = &["bands"];

    fn factorise(&self, problem: &Problem<'_>, n: usize) -> Result<Factorisation> {
        let (separation, _) = separation_and_count(n, problem.participation);
        let bands = self.bands.unwrap_or(separation).min(n);
        let mut c = square_root(n);
        c[bands..].fill(0.0);
        of_coefficients(&c, bands - 1, bands)
    }

    fn configured(&self, call: &Call<'_>) -> Result<Self> {
        Ok(BandedSquareRoot { bands: positive(call, "bands")? })
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
