//! Exact selection by the exponential mechanism that reads only candidates that can win.

use std::collections::{BinaryHeap, HashMap};

use super::counts::Counts;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::privacy::{Rho, SeededNoise};

/// A selection among all candidates by the exponential mechanism.
///
/// Pr ∝ exp(ε score / (2 max w)) with score = w_γ (‖μ_γ − μ̂_γ‖₁ − penalty · n_γ), whose
/// sensitivity is at most max w.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateSelection {
    /// The ε of the exponential mechanism.
    pub epsilon: f64,
    /// The penalty per cell of a candidate, subtracted from its L1 error.
    pub penalty_per_cell: f64,
}

impl CandidateSelection {
    /// Returns the privacy cost ρ = ε²/8, rounded to nearest.
    ///
    /// The exponential mechanism has bounded range, which gives a quarter of the usual ε²/2 (S4,
    /// App. B).
    ///
    /// # Errors
    /// An ε that is not positive, or ε²/8 is not a valid [`Rho`].
    pub fn cost(&self) -> Result<Rho> {
        if self.epsilon <= 0.0 {
            let found = self.epsilon.to_string();
            let remedy = "use a positive epsilon";
            return Err(Error::bad_input("epsilon of a selection", "above 0", found, remedy));
        }
        Ok(Rho::new(self.epsilon * self.epsilon / 8.0)?)
    }
}

/// Maximum number of cells of cached counts (256 MiB). Other candidates are counted again.
const MAX_CACHED_CELLS: usize = 1 << 26;

/// The private state between selections: bounds on the candidates' errors, and cached counts.
///
/// Scores are bounded by intervals, which every change of the estimates widens. A candidate's
/// marginal is read only while its upper bound is the largest, so the winner is the same as if all
/// scores had been computed. *Memory*: one marginal, and the counts of the candidates read, up to
/// 256 MiB.
#[derive(Default)]
pub(super) struct Selector {
    /// The candidates of the last selection, in order, with bounds on their errors.
    bounds: Vec<(AttributeSet, Interval)>,
    cached_counts: HashMap<AttributeSet, Vec<u32>>,
    cached_cells: usize,
    counted: Vec<f64>,
    looks: usize,
}

impl Selector {
    /// Returns the number of comparisons of a candidate's marginal with its estimate in all
    /// selections.
    pub(super) fn looks(&self) -> usize {
        self.looks
    }

    /// Returns the index of the winner. The caller has paid.
    pub(super) fn select(
        &mut self,
        counts: &dyn Counts,
        noise: &mut SeededNoise<'_>,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize> {
        self.update_bounds(counts, candidates, estimates);
        let list = candidates.list();
        let noise = noise.gumbel(list.len());
        let scale = 0.5 * selection.epsilon / candidates.max_weight();
        let noisy_score = |index: usize, error: f64| {
            let candidate = &list[index];
            let score =
                candidate.weight * (error - selection.penalty_per_cell * candidate.cells as f64);
            scale * score + noise[index]
        };
        let best_lower_bound = (0..list.len())
            .map(|index| noisy_score(index, self.bounds[index].1.low()))
            .fold(f64::NEG_INFINITY, f64::max);
        let mut leaders: BinaryHeap<Leader> = (0..list.len())
            .map(|index| Leader { bound: noisy_score(index, self.bounds[index].1.high()), index })
            .filter(|leader| leader.bound >= best_lower_bound)
            .collect();
        while let Some(Leader { index, .. }) = leaders.pop() {
            if self.bounds[index].1.is_exact() {
                return Ok(index);
            }
            let error = self.error(counts, &list[index], estimates)?;
            self.bounds[index].1 = Interval::exact(error);
            leaders.push(Leader { bound: noisy_score(index, error), index });
        }
        Err(Error::bug("selection", "at least one candidate with a finite score", "none"))
    }

    /// Widens the bounds by the maximum change of the estimates.
    ///
    /// New candidates get bounds that hold without reading the marginal: ‖μ_γ‖₁ is the number of
    /// records, and the estimates bound ‖μ̂_γ‖₁.
    fn update_bounds(
        &mut self,
        counts: &dyn Counts,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) {
        let sets = candidates.list().iter().map(|c| c.attributes);
        if self.bounds.iter().map(|(set, _)| *set).eq(sets.clone()) {
            for (set, interval) in &mut self.bounds {
                interval.widen(estimates.change_bound(*set));
            }
        } else {
            let total = counts.total();
            let before: HashMap<AttributeSet, Interval> = self.bounds.drain(..).collect();
            let of = |set: AttributeSet| match before.get(&set) {
                Some(&(mut interval)) => {
                    interval.widen(estimates.change_bound(set));
                    interval
                }
                None => Interval::at_most(total + estimates.norm_bound(set)),
            };
            self.bounds = sets.map(|set| (set, of(set))).collect();
        }
    }

    /// Computes ‖μ_γ − μ̂_γ‖₁.
    fn error(
        &mut self,
        counts: &dyn Counts,
        candidate: &Candidate,
        estimates: &dyn MarginalEstimates,
    ) -> Result<f64> {
        self.looks += 1;
        let estimate = estimates.marginal(candidate.attributes)?;
        if estimate.iter().any(|x| !x.is_finite()) {
            return Err(Error::bad_input(
                format!("estimate of the marginal on {:?}", candidate.attributes),
                "finite numbers",
                "another one",
                "give estimates that are finite",
            ));
        }
        if let Some(counts) = self.cached_counts.get(&candidate.attributes) {
            return Ok(estimate.iter().zip(counts).map(|(e, &c)| (e - f64::from(c)).abs()).sum());
        }
        counts.count_into(candidate.attributes, &mut self.counted)?;
        let whole =
            |count: f64| (0.0..=f64::from(u32::MAX)).contains(&count) && count.fract() == 0.0;
        if self.cached_cells + candidate.cells <= MAX_CACHED_CELLS
            && self.counted.iter().all(|&count| whole(count))
        {
            self.cached_cells += candidate.cells;
            let counts = self.counted.iter().map(|&count| count as u32).collect();
            self.cached_counts.insert(candidate.attributes, counts);
        }
        Ok(estimate.iter().zip(&self.counted).map(|(e, c)| (e - c).abs()).sum())
    }
}

/// A candidate ordered by its upper bound; of equal bounds the smaller index wins.
#[derive(PartialEq)]
struct Leader {
    bound: f64,
    index: usize,
}

impl Eq for Leader {}

impl PartialOrd for Leader {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Leader {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound).then_with(|| other.index.cmp(&self.index))
    }
}

/// Bounds on ‖μ_γ − μ̂_γ‖₁.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    low: f64,
    high: f64,
}

/// Relative margin on every bound, so that the rounding of long sums cannot violate it.
const ROUNDING: f64 = 1e-9;

impl Interval {
    /// Returns the bounds of an exactly known error.
    pub(super) fn exact(error: f64) -> Self {
        Interval { low: error, high: error }
    }

    /// Returns the bounds before the marginal was read: 0 and ‖μ_γ‖₁ + ‖μ̂_γ‖₁.
    pub(super) fn at_most(high: f64) -> Self {
        Interval { low: 0.0, high: high * (1.0 + ROUNDING) }
    }

    /// Widens the bounds after the estimate changed by `norm` in L1.
    ///
    /// The error changes by at most `norm`.
    pub(super) fn widen(&mut self, norm: f64) {
        if norm > 0.0 {
            let norm = norm * (1.0 + ROUNDING) + ROUNDING * self.high;
            self.low = (self.low - norm).max(0.0);
            self.high += norm;
        }
    }

    pub(super) fn low(self) -> f64 {
        self.low
    }

    pub(super) fn high(self) -> f64 {
        self.high
    }

    pub(super) fn is_exact(self) -> bool {
        self.low >= self.high
    }
}

/// A marginal that may be selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The attributes γ.
    pub attributes: AttributeSet,
    /// The number n_γ of its cells.
    pub cells: usize,
    /// The weight w_γ of the marginal in the workload.
    pub weight: f64,
}

/// The marginals that may be selected, in a fixed order.
///
/// They are public: they depend only on the schema and the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    list: Vec<Candidate>,
    max_weight: f64,
}

impl Candidates {
    /// Collects candidates in the given order.
    pub fn new(list: Vec<Candidate>) -> Self {
        let max_weight = list.iter().map(|c| c.weight).fold(0.0, f64::max);
        Candidates { list, max_weight }
    }

    /// Returns the candidates.
    pub fn list(&self) -> &[Candidate] {
        &self.list
    }

    /// Returns the sensitivity of weighted scores, max_γ w_γ: one record changes no score by more.
    pub fn max_weight(&self) -> f64 {
        self.max_weight
    }

    /// Checks the candidates for a table with attributes of these sizes. The sensitivity is that of
    /// weights that are not negative.
    ///
    /// # Errors
    /// No candidate, a weight that is negative or not finite, no weight above 0, or a marginal that
    /// the table does not have.
    pub(super) fn check(&self, sizes: &[usize]) -> Result<()> {
        let refused = |expected: &str, found: String| {
            let remedy = "give candidates of the schema with weights of at least 0";
            Error::bad_input("candidates of a selection", expected, found, remedy)
        };
        if self.max_weight <= 0.0 {
            let found = format!("{} candidates without one", self.list.len());
            return Err(refused("a candidate with a weight above 0", found));
        }
        for candidate in &self.list {
            let (set, weight) = (candidate.attributes, candidate.weight);
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(refused("finite weights of at least 0", weight.to_string()));
            }
            if set.end() > sizes.len()
                || set.select(sizes).iter().product::<usize>() != candidate.cells
            {
                let found = format!("{} cells for {set:?}", candidate.cells);
                return Err(refused("the cells of the marginal", found));
            }
        }
        Ok(())
    }
}
