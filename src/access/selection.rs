//! Selection by the exponential mechanism, exactly, looking only at candidates that can win.

use std::collections::{BinaryHeap, HashMap};

use super::candidates::{Candidate, Candidates};
use super::counts::Counts;
use super::interval::Interval;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::privacy::{Rho, SeededNoise};

/// A choice by the exponential mechanism among all candidates: Pr ∝ exp(ε score / (2 max w)) with
/// score = w_γ (‖μ_γ − μ̂_γ‖₁ − penalty · n_γ), whose sensitivity is at most max w.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateSelection {
    /// ε of the mechanism.
    pub epsilon: f64,
    /// Taken off the L1 error for every cell of a candidate.
    pub penalty_per_cell: f64,
}

impl CandidateSelection {
    /// ρ = ε²/8, to nearest: the exponential mechanism has bounded range, which halves the usual
    /// ε²/2 twice (S4, App. B).
    ///
    /// # Errors
    /// An ε that is not positive, or not of ordinary size.
    pub fn cost(&self) -> Result<Rho> {
        Ok(Rho::new(self.epsilon * self.epsilon / 8.0)?)
    }
}

/// Counts of candidates are kept up to this many cells in all (256 MiB); the others are counted
/// again.
const CELLS_KEPT: usize = 1 << 26;

/// What is known of the candidates between selections, on the private side of the door.
///
/// Scores are bounded by intervals, which every change of the estimates widens, and a candidate's
/// marginal is looked at only while its upper bound is the largest: the winner is the same as if
/// all had been computed. *Memory*: one marginal, and the counts of the candidates looked at, up to
/// 256 MiB.
#[derive(Default)]
pub(super) struct Selector {
    /// The candidates of the last selection, in their order, with the bounds on their errors.
    known: Vec<(AttributeSet, Interval)>,
    counts: HashMap<AttributeSet, Vec<u32>>,
    cells_kept: usize,
    counted: Vec<f64>,
    looks: usize,
}

impl Selector {
    /// How often a candidate's marginal was compared with its estimate, over all selections.
    pub(super) fn looks(&self) -> usize {
        self.looks
    }

    /// The place of the winner. The caller has paid.
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
        let scale = 0.5 * selection.epsilon / candidates.largest_weight();
        let noisy_score = |place: usize, error: f64| {
            let candidate = &list[place];
            let score =
                candidate.weight * (error - selection.penalty_per_cell * candidate.cells as f64);
            scale * score + noise[place]
        };
        let floor = (0..list.len())
            .map(|place| noisy_score(place, self.known[place].1.low()))
            .fold(f64::NEG_INFINITY, f64::max);
        let mut leaders: BinaryHeap<Leader> = (0..list.len())
            .map(|place| Leader { bound: noisy_score(place, self.known[place].1.high()), place })
            .filter(|leader| leader.bound >= floor)
            .collect();
        while let Some(Leader { place, .. }) = leaders.pop() {
            if self.known[place].1.is_exact() {
                return Ok(place);
            }
            let error = self.error(counts, &list[place], estimates)?;
            self.known[place].1 = Interval::exact(error);
            leaders.push(Leader { bound: noisy_score(place, error), place });
        }
        Err(Error::bug("selection", "at least one candidate with a finite score", "none"))
    }

    /// Widens the bounds by what the estimates may have changed. Bounds that hold before any look:
    /// ‖μ_γ‖₁ is the number of records, ‖μ̂_γ‖₁ at most what the estimates say.
    fn update_bounds(
        &mut self,
        counts: &dyn Counts,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) {
        let sets = candidates.list().iter().map(|c| c.attributes);
        if self.known.iter().map(|(set, _)| *set).eq(sets.clone()) {
            for (set, interval) in &mut self.known {
                interval.widen(estimates.change_bound(*set));
            }
        } else {
            let total = counts.total();
            let before: HashMap<AttributeSet, Interval> = self.known.drain(..).collect();
            let of = |set: AttributeSet| match before.get(&set) {
                Some(&(mut interval)) => {
                    interval.widen(estimates.change_bound(set));
                    interval
                }
                None => Interval::at_most(total + estimates.norm_bound(set)),
            };
            self.known = sets.map(|set| (set, of(set))).collect();
        }
    }

    /// ‖μ_γ − μ̂_γ‖₁.
    fn error(
        &mut self,
        counts: &dyn Counts,
        candidate: &Candidate,
        estimates: &dyn MarginalEstimates,
    ) -> Result<f64> {
        self.looks += 1;
        let estimate = estimates.marginal(candidate.attributes)?;
        if let Some(counts) = self.counts.get(&candidate.attributes) {
            return Ok(estimate.iter().zip(counts).map(|(e, &c)| (e - f64::from(c)).abs()).sum());
        }
        counts.count_into(candidate.attributes, &mut self.counted)?;
        let whole =
            |count: f64| (0.0..=f64::from(u32::MAX)).contains(&count) && count.fract() == 0.0;
        if self.cells_kept + candidate.cells <= CELLS_KEPT
            && self.counted.iter().all(|&count| whole(count))
        {
            self.cells_kept += candidate.cells;
            let counts = self.counted.iter().map(|&count| count as u32).collect();
            self.counts.insert(candidate.attributes, counts);
        }
        Ok(estimate.iter().zip(&self.counted).map(|(e, c)| (e - c).abs()).sum())
    }
}

/// A candidate by its upper bound; of equal ones the first wins.
#[derive(PartialEq)]
struct Leader {
    bound: f64,
    place: usize,
}

impl Eq for Leader {}

impl PartialOrd for Leader {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Leader {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound).then_with(|| other.place.cmp(&self.place))
    }
}
