//! The certificate of the error: noisy distances between published marginals and the records.
//!
//! ```text
//! E_g = Σ_cells |2^s x_g − t_g|,      t_g the published marginal in units of 2^−s
//! ```
//!
//! Nine tenths of the budget pay for every E_g with noise N_ℤ(0, S²), and one tenth for their sum.
//! All bounds add one-sided 95 % quantiles of the discrete noise itself. A noisy distance below 0
//! counts as 0, so that no bound is below the quantile: noise alone does not show a small error.
//!
//! The records of a marginal add up to N, the number of records, so the error of the total of a
//! published marginal is T_g − N with T_g its sum. N is within
//!
//! ```text
//! Ñ ± t σ              the total measured in the first stage, t for 0.25 % on each side
//! T_h ± L_h            for every published marginal h, L_h for 0.5 %/m of m marginals
//! ```
//!
//! all together with a probability of at least 99 %, and the bound of a sum of absolute errors that
//! is used with it misses with at most 4 %. A public number of records is known without noise: then
//! it takes no part of the 5 %.

use super::marginal_errors::MarginalErrors;
use crate::access::DistanceQuestion;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation, Rho};
use crate::release::reach::one_sided;

/// The probability with which a bound does not hold.
const MISS_PROBABILITY: f64 = 0.05;

/// The part of it with which the number of records is not in its interval, unless it is public.
const MISSED_BY_RECORDS: f64 = 0.01;

/// The share of the certificate's budget for the sum of all distances.
const SHARE_OF_SUM: f64 = 0.1;

/// The relative rounding errors of bounds that are covered.
const ROUNDING: f64 = 1e-12;

/// The bits after the binary point of published marginals, unless fine noise needs more.
pub(super) const MIN_BITS: u32 = 10;

/// Maximum magnitude of a published number in units, so that doubles represent it exactly.
const MAX_UNITS: f64 = (1u64 << 53) as f64;

/// Maximum bits after the binary point of published marginals.
const MAX_BITS: u32 = 40;

/// The noise of the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateNoise {
    /// s: the bits after the binary point of the published marginals.
    pub bits: u32,
    /// S: the deviation of every distance.
    pub each: RationalDeviation,
    /// The deviation of the sum of all distances.
    pub sum: RationalDeviation,
}

impl CertificateNoise {
    /// Plans the certificate of a number of marginals: the fewest bits for which the noise is fine.
    ///
    /// # Errors
    /// A budget for which the noise would not be fine.
    pub(super) fn of(marginals: usize, rho: Rho, unit: PrivacyUnit) -> Result<Self> {
        let count = marginals as f64;
        let cells = if unit.neighbours == Neighbours::AddOrRemoveOneRecord { 1.0 } else { 2.0 };
        let change = cells * f64::from(unit.rows);
        for bits in MIN_BITS..=MAX_BITS {
            let sensitivity = change * f64::from(bits).exp2();
            let deviation = |norm: f64, share: f64| {
                let square = norm * norm / (2.0 * share * rho.get());
                RationalDeviation::rounded_up(square.sqrt())
            };
            let each = deviation(sensitivity * count.sqrt(), 1.0 - SHARE_OF_SUM)?;
            let sum = deviation(sensitivity * count, SHARE_OF_SUM)?;
            if each.is_fine() && sum.is_fine() {
                return Ok(CertificateNoise { bits, each, sum });
            }
        }
        let remedy = "use a smaller budget, or --certificate 0";
        Err(Error::too_large(
            "certificate with fine noise",
            "rho of the certificate",
            0.5 * f64::from(MAX_BITS - 16).exp2().powi(2),
            rho.get(),
            remedy,
        ))
    }

    /// Returns the question for the distances of published marginals.
    pub(super) fn question<'a>(
        &self,
        marginals: &'a [(AttributeSet, Vec<i64>)],
    ) -> DistanceQuestion<'a> {
        let CertificateNoise { bits, each, sum } = *self;
        DistanceQuestion { marginals, bits, each, sum }
    }

    /// Returns the exact cost for a number of marginals, whatever their values.
    pub(super) fn cost(&self, marginals: usize, unit: PrivacyUnit) -> Result<ExactRho> {
        self.question(&vec![(AttributeSet::EMPTY, Vec::new()); marginals]).cost(unit)
    }
}

/// The published marginals with their noisy distances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistanceCertificate {
    /// The noise of the distances, and s: the bits after the binary point.
    pub noise: CertificateNoise,
    /// The published marginals in units of 2^−s.
    pub marginals: Vec<(AttributeSet, Vec<i64>)>,
    /// The noisy distances.
    pub distances: Vec<i128>,
    /// The noisy sum of all distances.
    pub sum_of_distances: i128,
}

/// A noisy number of records with its deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NoisyTotal {
    pub(super) records: f64,
    pub(super) scale: f64,
    pub(super) deviation: RationalDeviation,
}

/// Certified bounds of the errors of all published marginals.
#[derive(Debug, Clone, PartialEq)]
pub struct CertifiedErrors {
    /// Per marginal: bounds for it alone at 95 %.
    pub each: Vec<MarginalErrors>,
    /// Per marginal: bounds that hold for all marginals together at 95 %.
    pub together: Vec<MarginalErrors>,
}

/// Upper bounds of the L1 errors of published marginals, in records.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ErrorBounds {
    /// Per marginal: holds for it alone with a probability of at least 95 %.
    pub each: Vec<f64>,
    /// Per marginal: all of them together hold with a probability of at least 95 %.
    pub together: Vec<f64>,
    /// The bound of the mean over all marginals, at 95 %.
    pub mean: f64,
    /// The same per record of the table; none if the number of records may be 0.
    pub mean_per_record: Option<f64>,
}

/// The error bounds of published marginals as a statement has them, in records.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BoundSummary {
    /// The 95 % upper bound of the mean L1 error of the marginals.
    pub mean_error_bound_95: f64,
    /// The same per record of the table; absent if the number of records may be 0.
    pub mean_error_bound_95_per_record: Option<f64>,
    /// The largest of the bounds that hold for all marginals together at 95 %.
    pub largest_error_bound_95_of_all: f64,
}

impl ErrorBounds {
    /// Returns the bounds as a statement has them.
    pub(super) fn summary(&self) -> BoundSummary {
        BoundSummary {
            mean_error_bound_95: self.mean,
            mean_error_bound_95_per_record: self.mean_per_record,
            largest_error_bound_95_of_all: self.together.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl DistanceCertificate {
    /// Returns the question that the certificate answers.
    pub(super) fn question(&self) -> DistanceQuestion<'_> {
        self.noise.question(&self.marginals)
    }

    /// Returns the error bounds.
    ///
    /// The bound per record divides by a lower bound of the number of records; each of the two
    /// bounds misses with a probability of at most 2.5 %.
    pub(super) fn bounds(&self, total: Option<NoisyTotal>) -> ErrorBounds {
        self.bounds_plus(total, &vec![0.0; self.distances.len()])
    }

    /// Returns the error bounds of other marginals, whose L1 distances to the published marginals
    /// are given in records.
    pub(super) fn bounds_plus(&self, total: Option<NoisyTotal>, to_others: &[f64]) -> ErrorBounds {
        let count = self.distances.len().max(1) as f64;
        let of_each = |missed: f64| -> Vec<f64> {
            let bounds = self.each_bound(missed).into_iter().zip(to_others);
            bounds.map(|(bound, distance)| bound + distance).collect()
        };
        let distance: f64 = to_others.iter().sum();
        let of_sum = |missed| self.bound(self.sum_of_distances, self.noise.sum, missed);
        let of_mean = |missed| (of_sum(missed) + distance) / count;
        let mean_per_record = total.and_then(|total| {
            let deviation = total.deviation.to_f64() / total.scale;
            let missed = 0.5 * MISS_PROBABILITY;
            let at_least = total.records - one_sided(missed, total.deviation) * deviation;
            let at_least = at_least * (1.0 - 1e-12);
            (at_least > 0.0).then(|| of_mean(missed) / at_least)
        });
        ErrorBounds {
            each: of_each(MISS_PROBABILITY),
            together: of_each(MISS_PROBABILITY / count),
            mean: of_mean(MISS_PROBABILITY),
            mean_per_record,
        }
    }

    /// Returns the bounds of the errors of sums over the marginals.
    pub(super) fn errors(&self, total: Option<NoisyTotal>) -> CertifiedErrors {
        let is_public = total.is_some_and(|total| total.deviation == RationalDeviation::ZERO);
        let missed_by_records = if is_public { 0.0 } else { MISSED_BY_RECORDS };
        let (low, high) = self.number_of_records(total, missed_by_records);
        let of = |marginals: f64| -> Vec<MarginalErrors> {
            let [alone, with_total] = [MISS_PROBABILITY, MISS_PROBABILITY - missed_by_records]
                .map(|missed| self.each_bound(missed / marginals));
            let sums = alone.into_iter().zip(with_total).zip(&self.marginals);
            let of_marginal = |((sum_alone, sum), (_, units)): ((f64, f64), &(_, Vec<i64>))| {
                let estimate = self.total_of(units);
                let farthest = f64::max((estimate - low).abs(), (high - estimate).abs());
                // The rounding errors of totals and differences; those of integers have none.
                let size = estimate.abs() + low.abs() + farthest;
                let is_exact = is_public && size * f64::from(self.noise.bits).exp2() < MAX_UNITS;
                let rounding = if is_exact { 0.0 } else { ROUNDING * size };
                let total = to_millionths(farthest + rounding).min(sum);
                MarginalErrors { sum_alone, sum, total }
            };
            sums.map(of_marginal).collect()
        };
        let together = of(self.distances.len().max(1) as f64);
        CertifiedErrors {
            each: of(1.0),
            together: together.iter().map(MarginalErrors::together).collect(),
        }
    }

    /// Returns the interval of the number of records that misses with at most this probability; the
    /// number itself if it is public.
    fn number_of_records(&self, total: Option<NoisyTotal>, missed: f64) -> (f64, f64) {
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        if let Some(total) = total {
            if total.deviation == RationalDeviation::ZERO {
                return (total.records, total.records);
            }
            let deviation = total.deviation.to_f64() / total.scale;
            let length = one_sided(0.25 * missed, total.deviation) * deviation;
            (low, high) = (low.max(total.records - length), total.records + length);
        }
        let count = self.distances.len().max(1) as f64;
        let bounds = self.each_bound(0.5 * missed / count);
        for (bound, (_, units)) in bounds.into_iter().zip(&self.marginals) {
            let estimate = self.total_of(units);
            (low, high) = (low.max(estimate - bound), high.min(estimate + bound));
        }
        (low, high)
    }

    /// Returns the sum of a published marginal, in records.
    fn total_of(&self, units: &[i64]) -> f64 {
        let sum: i128 = units.iter().map(|t| i128::from(*t)).sum();
        sum as f64 * (-f64::from(self.noise.bits)).exp2()
    }

    /// Returns a bound per marginal, each of which misses with at most this probability.
    fn each_bound(&self, missed: f64) -> Vec<f64> {
        let bound = |noisy: &i128| self.bound(*noisy, self.noise.each, missed);
        self.distances.iter().map(bound).collect()
    }

    /// Returns the bound of a distance in records, rounded up.
    fn bound(&self, noisy: i128, deviation: RationalDeviation, missed: f64) -> f64 {
        let units = noisy.max(0) as f64 + one_sided(missed, deviation) * deviation.to_f64();
        rounded_up(units, self.noise.bits)
    }
}

/// Rounds values to integer multiples of 2^−bits.
pub(super) fn in_units(values: &[f64], bits: u32) -> Vec<i64> {
    let scale = f64::from(bits).exp2();
    let unit = |value: &f64| (value * scale).round().clamp(-MAX_UNITS, MAX_UNITS) as i64;
    values.iter().map(unit).collect()
}

/// Returns a number of units 2^−bits in records, rounded up.
///
/// The rounding errors of this computation are covered.
fn rounded_up(units: f64, bits: u32) -> f64 {
    to_millionths(units * (-f64::from(bits)).exp2() * (1.0 + ROUNDING))
}

/// Rounds a bound up to a multiple of 10⁻⁶.
fn to_millionths(bound: f64) -> f64 {
    (bound * 1e6).ceil() / 1e6
}

/// Returns `Σ_cells |x − t/2^bits|` of public counts x in records, rounded up.
pub(super) fn distance(counts: &[f64], units: &[i64], bits: u32) -> f64 {
    // Counts of at most 2³² − 1 records are integers, exact as doubles.
    let cell = |(count, t): (&f64, &i64)| {
        ((i128::from(*count as u32) << bits) - i128::from(*t)).unsigned_abs()
    };
    rounded_up(counts.iter().zip(units).map(cell).sum::<u128>() as f64, bits)
}
