//! The banded inverse square root of the prefix sums.

use super::banded_square_root::positive;
use super::factorisation::{Factorisation, select_gram, steps};
use super::toeplitz::{error, of_coefficients, power, series_inverse};
use crate::call::Call;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Problem, Selection, StrategySelector};

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

impl StrategySelector for BandedInverseSquareRoot {
    fn name(&self) -> &str {
        "bisr"
    }

    fn summary(&self) -> &str {
        "banded inverse square root of the prefix sums"
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
        Ok(Box::new(BandedInverseSquareRoot { bands: positive(call, "bands")? }))
    }
}

impl BandedInverseSquareRoot {
    fn factorise(&self, problem: &Problem<'_>) -> Result<Factorisation> {
        let n = steps(self.name(), problem)?;
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
}
