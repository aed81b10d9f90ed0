//! The banded inverse square root of the prefix sums.

use super::banded_square_root::positive;
use super::factorisation::{Factorisation, Factorised};
use super::toeplitz::{error, of_coefficients, power, series_inverse};
use crate::Problem;
use crate::call::Call;
use crate::error::Result;

/// The strategy whose inverse has the first bands of the inverse square root of the prefix sums
/// (BISR).
///
/// C⁻¹ has the first p coefficients of (1 − x)^½. *Source*: Kalinin, McKenna, Upadhyay and Lampert,
/// Back to square roots: an optimal bound on the matrix factorization error for multi-epoch
/// differentially private SGD (2025).
#[derive(Debug, Clone, Copy, Default)]
pub struct BandedInverseSquareRoot {
    /// p. By default the power of two with the smallest error.
    pub bands: Option<usize>,
}

impl Factorised for BandedInverseSquareRoot {
    const NAME: &'static str = "bisr";
    const SUMMARY: &'static str = "banded inverse square root of the prefix sums";
    const OPTIONS: &'static [&'static str] = &["bands"];

    fn factorise(&self, problem: &Problem<'_>, n: usize) -> Result<Factorisation> {
        let with = |bands: usize| {
            let mut inverse = power(n, 0.5);
            inverse[bands.min(n)..].fill(0.0);
            let c = series_inverse(&inverse);
            (error(problem, &c, &inverse), bands.min(n), c)
        };
        let (_, bands, c) = match self.bands {
            Some(bands) => with(bands),
            None => std::iter::successors(Some(1), |bands| (bands * 2 <= n).then_some(bands * 2))
                .map(with)
                .reduce(|best, next| if next.0 < best.0 { next } else { best })
                .unwrap_or_else(|| with(n)),
        };
        of_coefficients(&c, bands - 1, bands)
    }

    fn configured(&self, call: &Call<'_>) -> Result<Self> {
        Ok(BandedInverseSquareRoot { bands: positive(call, "bands")? })
    }
}
