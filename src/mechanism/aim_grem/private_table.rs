//! The private side of AIM+GReM: records behind an accountant.

use std::collections::{BinaryHeap, HashMap};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::access::{PaidAccess, Selection};
use super::candidates::{Candidate, Candidates};
use super::interval::Interval;
use crate::data::{MarginalCounter, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::ResidualEstimates;
use crate::mechanism::measure_residual;
use crate::planner::privacy_coefficient;
use crate::privacy::ZcdpAccountant;

/// Counts of candidates are kept up to this many cells in all (256 MiB); the others are counted again from the records.
const CELLS_KEPT: usize = 1 << 26;

/// Records that can be asked only what the accountant pays for.
///
/// *Selection* is the exponential mechanism, exactly: Gumbel noise is added to every candidate's score and the largest sum
/// wins. Scores are bounded by intervals, which every change of the estimates widens, and a candidate's marginal is looked
/// at only while its upper bound is the largest: the winner is the same as if all had been computed.
///
/// *Memory*: one marginal, and the counts of the candidates looked at, up to 256 MiB. *Noise*: one stream of ChaCha with 8
/// rounds, seeded from the caller's generator; if that one is seeded, the results are **not private**.
pub struct PrivateTable<'a> {
    records: &'a Records,
    counter: MarginalCounter<'a>,
    accountant: ZcdpAccountant,
    noise: ChaCha8Rng,
    intervals: Vec<Interval>,
    counts: HashMap<usize, Vec<u32>>,
    cells_kept: usize,
    counted: Vec<f64>,
    looks: usize,
}

impl<'a> PrivateTable<'a> {
    /// Opens records for a total of ρ-zCDP.
    ///
    /// # Errors
    /// A ρ that is not positive, no record, or more of them than 32 bits count.
    pub fn new(records: &'a Records, rho: f64, rng: &mut dyn Rng) -> Result<Self> {
        if records.is_empty() || u32::try_from(records.len()).is_err() {
            return Err(Error::invalid(
                "records",
                format!("1 to {} of them", u32::MAX),
                records.len().to_string(),
                "check the file that they were read from",
            ));
        }
        Ok(PrivateTable {
            records,
            counter: MarginalCounter::new(records)?,
            accountant: ZcdpAccountant::new(rho)?,
            noise: ChaCha8Rng::from_rng(rng),
            intervals: Vec::new(),
            counts: HashMap::new(),
            cells_kept: 0,
            counted: Vec::new(),
            looks: 0,
        })
    }

    /// What was paid, and for what.
    pub fn accountant(&self) -> &ZcdpAccountant {
        &self.accountant
    }

    /// How often a candidate's marginal was compared with its estimate, over all selections.
    pub fn looks(&self) -> usize {
        self.looks
    }

    /// ‖μ_γ − μ̂_γ‖₁.
    fn error(&mut self, place: usize, candidate: &Candidate, estimates: &ResidualEstimates) -> Result<f64> {
        self.looks += 1;
        let estimate = estimates.marginal(&candidate.positions)?;
        if let Some(counts) = self.counts.get(&place) {
            return Ok(estimate.iter().zip(counts).map(|(e, &c)| (e - f64::from(c)).abs()).sum());
        }
        self.counter.count_into(&candidate.positions, &mut self.counted)?;
        if self.cells_kept + candidate.cells <= CELLS_KEPT {
            self.cells_kept += candidate.cells;
            // Counts are whole numbers of at most 32 bits, as `new` has checked.
            self.counts.insert(place, self.counted.iter().map(|&count| count as u32).collect());
        }
        Ok(estimate.iter().zip(&self.counted).map(|(e, c)| (e - c).abs()).sum())
    }

    /// Bounds that hold before any look: ‖μ_γ‖₁ is the number of records, ‖μ̂_γ‖₁ at most the sum over its residuals.
    fn first_bounds(&self, candidates: &Candidates, estimates: &ResidualEstimates) -> Vec<Interval> {
        let mut norms: HashMap<AttributeSet, f64> = HashMap::new();
        let mut norm = |set: AttributeSet| {
            *norms.entry(set).or_insert_with(|| {
                estimates.get(set).map_or(0.0, |estimate| estimate.centred().iter().map(|x| x.abs()).sum())
            })
        };
        let bound = |candidate: &Candidate| {
            Interval::at_most(self.records.len() as f64 + candidate.attributes.subsets().map(&mut norm).sum::<f64>())
        };
        candidates.list().iter().map(bound).collect()
    }
}

impl PaidAccess for PrivateTable<'_> {
    fn rho(&self) -> f64 {
        self.accountant.rho()
    }

    fn remaining(&self) -> f64 {
        self.accountant.remaining()
    }

    fn select(
        &mut self,
        selection: &Selection,
        candidates: &Candidates,
        estimates: &ResidualEstimates,
    ) -> Result<usize> {
        self.accountant.spend("selection", selection.epsilon * selection.epsilon / 8.0)?;
        if self.intervals.len() != candidates.list().len() {
            self.intervals = self.first_bounds(candidates, estimates);
        }
        let noise: Vec<f64> = candidates.list().iter().map(|_| standard_gumbel(&mut self.noise)).collect();
        let scale = 0.5 * selection.epsilon / candidates.largest_weight();
        let noisy_score = |place: usize, error: f64| {
            let candidate = &candidates.list()[place];
            let score = candidate.weight * (error - selection.penalty_per_cell * candidate.cells as f64);
            scale * score + noise[place]
        };
        let floor = (0..noise.len())
            .map(|place| noisy_score(place, self.intervals[place].low()))
            .fold(f64::NEG_INFINITY, f64::max);
        let mut leaders: BinaryHeap<Leader> = (0..noise.len())
            .map(|place| Leader { bound: noisy_score(place, self.intervals[place].high()), place })
            .filter(|leader| leader.bound >= floor)
            .collect();
        while let Some(Leader { place, .. }) = leaders.pop() {
            if self.intervals[place].is_exact() {
                return Ok(place);
            }
            let error = self.error(place, &candidates.list()[place], estimates)?;
            self.intervals[place] = Interval::exact(error);
            leaders.push(Leader { bound: noisy_score(place, error), place });
        }
        Err(Error::invalid("selection", "at least one candidate with a finite score", "none", "report this as a bug"))
    }

    fn measure(&mut self, attributes: AttributeSet, variance: f64) -> Result<Vec<f64>> {
        let positions: Vec<usize> = attributes.positions().collect();
        let sizes: Vec<usize> = positions.iter().filter_map(|&p| self.records.sizes().get(p)).copied().collect();
        let whole = (1 << sizes.len()) - 1;
        self.accountant.spend("measurement", privacy_coefficient(&sizes, whole) / (2.0 * variance))?;
        measure_residual(self.records.marginal(&positions)?, &sizes, variance, &mut self.noise)
    }

    fn estimates_changed(&mut self, measured: AttributeSet, norms: &[f64], candidates: &Candidates) {
        let positions: Vec<usize> = measured.positions().collect();
        for (interval, candidate) in self.intervals.iter_mut().zip(candidates.list()) {
            // The place of γ ∩ γ' among the subsets of γ.
            let shared = positions
                .iter()
                .enumerate()
                .map(|(bit, &position)| usize::from(candidate.attributes.contains(position)) << bit)
                .sum::<usize>();
            interval.widen(norms.get(shared).copied().unwrap_or(f64::INFINITY));
        }
    }
}

/// A draw from the standard Gumbel distribution, −ln E with E ~ Exp(1): argmax(s_i + G_i) is i with probability ∝ exp(s_i).
pub(super) fn standard_gumbel(rng: &mut impl Rng) -> f64 {
    let waiting: f64 = Exp1.sample(rng);
    -waiting.ln()
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
