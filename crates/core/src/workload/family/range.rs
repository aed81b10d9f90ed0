//! All ranges.

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::query_family::{QueryFamily, Rows};
use crate::error::Result;
use crate::workload::{Lanes, QueryCount, Recurrence};

/// [`Family::RANGE`](super::Family::RANGE).
#[derive(Debug)]
pub(super) struct Range;

impl QueryFamily for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        let n = sizes[0] as u128;
        QueryCount::exact(n * (n + 1) / 2)
    }

    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let n = sizes[0];
        by_entries(n, |i, j| (i.min(j) + 1) as f64 * (n - i.max(j)) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        let from = move |s: usize| (s..n).map(move |e| indicator(n, |cell| s <= cell && cell <= e));
        Ok(Box::new((0..n).flat_map(from)))
    }

    /// Answers ranges as differences of prefix sums.
    fn answers(&self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        let (n, inner) = (sizes[0], lanes.inner());
        let mut out = Vec::with_capacity(lanes.values().len() * (n + 1) / 2);
        for sums in lanes.prefix_sums() {
            for s in 0..n {
                let before = &sums[s * inner..][..inner];
                for e in s..n {
                    let through = &sums[(e + 1) * inner..][..inner];
                    out.extend(through.iter().zip(before).map(|(a, b)| a - b));
                }
            }
        }
        Ok(out)
    }

    /// Computes entry (i, j), i ≤ j, as `S(n) − S(n−i−1) − S(j) + S(j−i−1)` with the sums of
    /// harmonic numbers `S(m) = H₁ + … + H_m`. The ranges from s ≤ i to j or beyond contribute
    /// `H_(n−s) − H_(j−s)`.
    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        let n = sizes[0];
        let mut sums = vec![0.0; n + 1];
        let mut harmonic = 0.0;
        for m in 1..=n {
            harmonic += 1.0 / m as f64;
            sums[m] = sums[m - 1] + harmonic;
        }
        Ok(by_entries(n, |a, b| {
            let (i, j) = (a.min(b), a.max(b));
            // S(−1) = S(0) = 0.
            sums[n] - sums[n - i - 1] - sums[j] + sums[(j - i).saturating_sub(1)]
        }))
    }

    /// The inverse of the Gram matrix has 2/(n+1) on the diagonal and −1/(n+1) next to it. Its
    /// factorisation LDLᵀ has `D_k = (k+2)/((k+1)(n+1))` and `L_{k+1,k} = −(k+1)/(k+2)`.
    fn recurrence(&self, sizes: &[usize]) -> Option<Recurrence> {
        let n = sizes[0] as f64;
        Recurrence::of_gram(sizes[0], |k| {
            let k = k as f64;
            (k / (k + 2.0), (n + 1.0) * (k + 1.0) / (k + 2.0))
        })
    }
}
