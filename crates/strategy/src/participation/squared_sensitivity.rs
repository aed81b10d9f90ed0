//! The squared sensitivity of a strategy under any participation.
//!
//! Under min-separation it is found by dynamic programming.

use ndarray::{ArrayView2, Axis};

use super::participation_schema::{Participation, PrivacyTarget};
use super::pattern::{ORTHOGONAL, pattern_sensitivity};
use crate::allocation::{AllocationAccountant, Bins, MonteCarloOptions};
use crate::error::{Error, Result};
use matmech_linalg::lower_factor;
use matmech_privacy::gaussian::analytic_sigma_rounded_up;

/// The squared sensitivity of a strategy under a participation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// The squared sensitivity, or an upper bound on it.
    pub squared: f64,
    /// A value that some contribution attains.
    pub attained: f64,
    /// The name of the upper bound, or `None` if the value is exact.
    pub bound: Option<&'static str>,
}

impl Sensitivity {
    /// Creates an exact value.
    pub(crate) fn exact(squared: f64) -> Self {
        Sensitivity { squared, attained: squared, bound: None }
    }
}

/// Maximum relative difference of the bounds of an exact sensitivity.
const EXACT: f64 = 1e-8;

/// Returns the squared sensitivity of a strategy with Gram matrix X, steps × steps.
///
/// - Single and fixed epochs: exact, by [`pattern_sensitivity`] of every pattern.
/// - Min-separation: exact if X_st = 0 for any two steps of one pattern, as for a banded strategy
///   with at most as many bands as the separation. Otherwise the `row-sum bound`: the largest
///   Σ_{s∈π} r_s, where r_s is the largest Σ_t |X_st| over the patterns with s. It bounds because
///   diag(r) ⪰ X_ππ.
///
/// O(steps · k³) per sweep for k epochs; O(steps² · k) for min-separation.
///
/// # Errors
/// The eigensolver fails.
pub fn sensitivity(gram: ArrayView2<'_, f64>, participation: Participation) -> Result<Sensitivity> {
    match participation {
        Participation::Single => {
            Ok(Sensitivity::exact(gram.diag().iter().copied().fold(0.0, f64::max)))
        }
        Participation::Epochs(_) => {
            let mut largest = Sensitivity::exact(0.0);
            for pattern in participation.partition(gram.nrows()) {
                let block = gram.select(Axis(0), &pattern).select(Axis(1), &pattern);
                if block.iter().map(|x| x.abs()).sum::<f64>() <= largest.squared {
                    continue;
                }
                let found = pattern_sensitivity(block.view())?;
                largest.squared = largest.squared.max(found.upper);
                largest.attained = largest.attained.max(found.lower);
            }
            if largest.squared > largest.attained * (1.0 + EXACT) {
                largest.bound = Some("dual bound of the pattern's semidefinite program");
            }
            Ok(largest)
        }
        Participation::MinSeparation { separation, count } => {
            sensitivity_of_min_separation(gram, separation, count)
        }
        Participation::Random { epochs, target: Some(target) } => {
            sensitivity_of_random_allocation(gram, epochs, target)
        }
        Participation::Random { target: None, .. } => Err(participation.without_target()),
    }
}

/// The name of the value for random allocation.
const EQUIVALENT: &str = "of Gaussian noise with the same epsilon and delta";

/// Returns the squared sensitivity for which Gaussian noise without random allocation needs the σ
/// that this strategy needs at (ε, δ), so that errors at unit privacy cost are multiples of those at
/// (ε, δ).
///
/// The accountant takes the lower triangular C with CᵀC = X.
fn sensitivity_of_random_allocation(
    gram: ArrayView2<'_, f64>,
    epochs: usize,
    PrivacyTarget { epsilon, delta }: PrivacyTarget,
) -> Result<Sensitivity> {
    let bins = Bins::of_strategy(lower_factor(gram)?.view(), epochs)?;
    let accountant = AllocationAccountant::new(&bins, MonteCarloOptions::default())?;
    let sigma = accountant.sigma(epsilon, delta)?.sigma;
    let squared = (sigma / analytic_sigma_rounded_up(1.0, epsilon, delta)?).powi(2);
    Ok(Sensitivity { squared, attained: squared, bound: Some(EQUIVALENT) })
}

/// The name of the upper bound for strategies with correlated steps of one pattern.
const ROW_SUM: &str = "row-sum bound";

/// Returns the sensitivity of at most `count` participations, `separation` steps apart.
fn sensitivity_of_min_separation(
    gram: ArrayView2<'_, f64>,
    separation: usize,
    count: usize,
) -> Result<Sensitivity> {
    let steps = gram.nrows();
    let diagonal = gram.diag().to_vec();
    let zero = |s: usize, t: usize| {
        gram[[s, t]].abs() <= ORTHOGONAL * (diagonal[s] * diagonal[t]).max(0.0).sqrt()
    };
    if count == 1 || (0..steps).all(|s| (s + separation..steps).all(|t| zero(s, t))) {
        let (squared, _) = heaviest_pattern(&diagonal, separation, count);
        return Ok(Sensitivity::exact(squared));
    }
    let sums: Vec<f64> = (0..steps).map(|s| row_sum(gram, s, separation, count)).collect();
    let (squared, pattern) = heaviest_pattern(&sums, separation, count);
    let attained = |pattern: &[usize]| {
        let block = gram.select(Axis(0), pattern).select(Axis(1), pattern);
        Ok::<f64, Error>(pattern_sensitivity(block.view())?.lower)
    };
    let improved = improved_pattern(gram, separation, &pattern);
    let attained = attained(&pattern)?.max(attained(&improved)?);
    Ok(Sensitivity { squared, attained, bound: Some(ROW_SUM) })
}

/// Returns a pattern whose `Σ_{s,t∈π} |X_st|` no move of a single step increases.
///
/// `gram` is X, and `start` the pattern to begin with. O(steps · count²) per round of moves.
fn improved_pattern(gram: ArrayView2<'_, f64>, separation: usize, start: &[usize]) -> Vec<usize> {
    let mut pattern = start.to_vec();
    loop {
        let before = pattern.clone();
        for j in 0..pattern.len() {
            let weight = |t: usize| {
                let others = pattern.iter().enumerate().filter(|&(i, _)| i != j);
                gram[[t, t]] + 2.0 * others.map(|(_, &s)| gram[[s, t]].abs()).sum::<f64>()
            };
            let first = if j == 0 { 0 } else { pattern[j - 1] + separation };
            let end = pattern.get(j + 1).map_or(gram.nrows(), |&next| next + 1 - separation);
            let current = pattern[j];
            let best = (first..end).fold(current, |best, t| {
                if weight(t) > weight(best) * (1.0 + ORTHOGONAL) { t } else { best }
            });
            pattern[j] = best;
        }
        if pattern == before {
            return pattern;
        }
    }
}

/// Returns the largest `Σ_{t∈π} |X_st|` over the patterns π with step s. O(steps · count).
fn row_sum(gram: ArrayView2<'_, f64>, step: usize, separation: usize, count: usize) -> f64 {
    let weight = |t: usize| gram[[step, t]].abs();
    let left: Vec<f64> = (0..(step + 1).saturating_sub(separation)).map(weight).collect();
    let right: Vec<f64> = (step + separation..gram.nrows()).map(weight).collect();
    let (left, right) = (heaviest(&left, separation, count), heaviest(&right, separation, count));
    let others = (0..count).map(|j| left[j] + right[count - 1 - j]).fold(0.0, f64::max);
    weight(step) + others
}

/// Returns the largest weight of at most j steps that are `separation` apart, for j = 0 … count.
fn heaviest(weights: &[f64], separation: usize, count: usize) -> Vec<f64> {
    tables(weights, separation, count)
        .iter()
        .map(|table| table.last().copied().unwrap_or(0.0))
        .collect()
}

/// Returns, for j = 0 … count, the largest weight of at most j of the first i steps, i = 0 … n.
fn tables(weights: &[f64], separation: usize, count: usize) -> Vec<Vec<f64>> {
    let mut tables = vec![vec![0.0; weights.len() + 1]];
    for j in 1..=count {
        let previous = &tables[j - 1];
        let mut table = vec![0.0; weights.len() + 1];
        for i in 1..=weights.len() {
            let with = weights[i - 1] + previous[i.saturating_sub(separation)];
            table[i] = with.max(table[i - 1]);
        }
        tables.push(table);
    }
    tables
}

/// Returns the largest sum of nonnegative weights over a pattern, and the pattern.
/// O(steps · count).
fn heaviest_pattern(weights: &[f64], separation: usize, count: usize) -> (f64, Vec<usize>) {
    let tables = tables(weights, separation, count);
    let (mut i, mut j, mut pattern) = (weights.len(), count, Vec::new());
    while i > 0 && j > 0 {
        if tables[j][i] == tables[j][i - 1] {
            i -= 1;
        } else {
            pattern.push(i - 1);
            i = i.saturating_sub(separation);
            j -= 1;
        }
    }
    pattern.reverse();
    (tables[count][weights.len()], pattern)
}
