//! Estimates from given residuals, with prior widths learned from them.
//!
//! ```text
//! model = independent attributes (width 3, 9 sweeps)
//! for kind in (pairs, larger sets), in at most four rounds:
//!     for every measured set g of the kind that is not accepted:
//!         q = max(present estimate of g, 1e-3); L_g = log-likelihoods of the widths
//!     learn the prior of the kind's widths from all L_g
//!     candidates: max_k L_g(k) − L_g(0) > threshold, by ‖update(q) − q‖₁ descending;
//!     in the first round of pairs only those that form a forest
//!     a candidate is a factor of the junction tree, with its measured subsets, if the tree stays
//!     within its limit; otherwise it is outside the tree
//!     a few sweeps
//! sweep; replace the marginals of factors that do not fit their evidence
//! ```
//!
//! The estimates of larger sets include the accepted pairs. *Cost*: the marginals of all measured
//! sets, once per round, and the sweeps. *Source*: ours.

use std::collections::{HashMap, HashSet};

use super::SoftIpf;
use super::evidence::{
    Histogram, LogLikelihoods, WIDTHS, Width, WidthPrior, Widths, centred_scales, log_likelihoods,
    scaled_log_likelihoods,
};
use super::update::{Evidence, Update, raise_to_minimum};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::graphical_model::{JunctionTree, cells_of_mb};
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::residual::centre_box;
use crate::schema::Refinement;

/// Number of sweeps over the independent attributes.
const SINGLE_SWEEPS: usize = 9;

/// Maximum number of rounds in which sets of a kind are accepted.
const ROUNDS: usize = 4;

/// Larger sets are tested again if their number times the cells of the model is at most this.
const MAX_TEST: f64 = (1u64 << 24) as f64;

/// Maximum number of sweeps between rounds.
const SWEEPS_BETWEEN: usize = 6;

/// Evidence of an earlier fit is kept below this multiple of the threshold.
const KEPT: f64 = 0.5;

/// The settings of a fit with learned widths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedFit {
    /// Maximum total number of cells of the model's cliques.
    pub cells: f64,
    /// Maximum number of sweeps after sets were accepted.
    pub sweeps: usize,
    /// The minimum of max_k L(k) − L(0) for a candidate.
    pub threshold: f64,
    /// The pseudo-observations of the prior of the widths.
    pub pseudo_observations: f64,
    /// The width of single attributes.
    pub single: f64,
}

impl Default for LearnedFit {
    fn default() -> Self {
        LearnedFit {
            cells: cells_of_mb(2.0),
            sweeps: 40,
            threshold: 6.0,
            pseudo_observations: 5.0,
            single: 3.0,
        }
    }
}

/// The evidence of a measured set on its width, before it was accepted.
#[derive(Debug, Clone)]
pub struct SetEvidence {
    /// The set.
    pub set: AttributeSet,
    /// The posterior probabilities of the widths of the residual for a plan; empty for a single
    /// attribute.
    pub posterior: Vec<f64>,
    /// Those for the predicted error, in which the evidence of larger sets has less weight.
    pub cautious: Vec<f64>,
    /// L(k); 0 for a single attribute.
    likelihoods: LogLikelihoods,
    /// The log-likelihoods of the widths of the residual; 0 for a single attribute.
    of_residual: LogLikelihoods,
    /// Degrees of freedom per cell of the residual, Π (1 − 1/n).
    freedom: f64,
    /// The precision of the set's residual.
    precision: f64,
    /// The scales of the residual; for a single attribute the cells of the estimate q.
    pub histogram: Histogram,
}

/// A measured set whose evidence exceeds the threshold: a candidate.
struct Candidate {
    set: AttributeSet,
    /// q: the present estimate of the marginal, raised to the minimum.
    cavity: Vec<f64>,
    /// The measured marginal.
    target: Vec<f64>,
    likelihoods: LogLikelihoods,
}

impl SetEvidence {
    /// Returns the test statistic max_k L(k) − L(0).
    fn gain(&self) -> f64 {
        let largest = self.likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        largest - self.likelihoods[0]
    }

    /// Returns the log-likelihoods of the widths of the residual for the predicted error: those of its
    /// cells times their degrees of freedom.
    fn cautious(&self) -> LogLikelihoods {
        self.of_residual.map(|x| self.freedom * x)
    }

    /// Returns those for a plan: as for the predicted error for pairs, and those of the cells for
    /// larger sets. Nearly all of these are measured so imprecisely that a plan has to look for the
    /// few that matter.
    fn planned(&self) -> LogLikelihoods {
        if self.set.len() == 2 { self.cautious() } else { self.of_residual }
    }
}

impl LearnedFit {
    /// Fits given residuals, and returns the evidence of every measured set.
    ///
    /// Sets of unmeasured subsets are not used, since their cells are unknown. `refinements` are the
    /// attributes that are functions of others; no measured set has both of a pair. `previous` is the
    /// evidence of an earlier fit, or empty: it is kept for sets of three or more attributes that
    /// have not been measured since and have at most half the evidence of a candidate.
    ///
    /// # Errors
    /// Attributes that the residuals lack.
    pub fn fit(
        &self,
        residuals: ResidualEstimates,
        attributes: AttributeSet,
        refinements: &[Refinement],
        previous: &[SetEvidence],
    ) -> Result<(SoftIpf, Vec<SetEvidence>)> {
        let mut sets: Vec<AttributeSet> = (residuals.measured_sets())
            .filter(|set| !set.is_empty() && set.is_subset(attributes))
            .filter(|set| residuals.cell_variance(*set).is_finite())
            .collect();
        sets.sort_by_key(|set| (set.len(), *set));
        let single = Width::Fixed(self.single);
        let widths = Widths { single, pair: single, larger: single };
        let mut fit = SoftIpf::new(residuals, attributes, self.cells, widths)?;
        fit.model.refine(refinements)?;
        fit.model.damp();
        fit.model.follow(&fit.residuals)?;
        fit.sweep(SINGLE_SWEEPS);
        let mut evidence = Vec::with_capacity(sets.len());
        let pairs = sets.partition_point(|set| set.len() < 2);
        let larger = sets.partition_point(|set| set.len() < 3);
        for &set in &sets[..pairs] {
            let mut cells = fit.marginal(set)?;
            raise_to_minimum(&mut cells);
            let likelihoods = [0.0; WIDTHS];
            evidence.push(SetEvidence {
                set,
                posterior: Vec::new(),
                cautious: Vec::new(),
                likelihoods,
                of_residual: likelihoods,
                freedom: 1.0,
                precision: fit.residuals.precision(set),
                histogram: Histogram::of(&cells),
            });
        }
        let mut has_grown =
            self.accept(&mut fit, &sets[pairs..larger], &HashMap::new(), &mut evidence)?;
        if has_grown && larger < sets.len() {
            fit.sweep(self.sweeps.min(2 * SWEEPS_BETWEEN));
        }
        let is_kept = |known: &&SetEvidence| {
            known.set.len() > 2
                && known.precision == fit.residuals.precision(known.set)
                && known.gain() <= KEPT * self.threshold
        };
        let kept = previous.iter().filter(is_kept).map(|known| (known.set, known)).collect();
        has_grown |= self.accept(&mut fit, &sets[larger..], &kept, &mut evidence)?;
        if has_grown {
            fit.sweep(self.sweeps);
        }
        fit.correct();
        fit.move_rejected(&sets[pairs..larger])?;
        Ok((fit, evidence))
    }

    /// Learns the prior of one kind of sets, and accepts those of sufficient evidence, in rounds.
    ///
    /// In the first round of pairs, the accepted ones form a forest. After every round but the last,
    /// the sets that are not accepted are tested again at the fitted marginals: dependences that the
    /// model creates between independent attributes are found, and those that it explains are no
    /// candidates any more. Appends the evidence of all `sets`: of accepted ones when they were
    /// accepted, of others after the last fit. That of the sets in `kept` is not computed again.
    fn accept(
        &self,
        fit: &mut SoftIpf,
        sets: &[AttributeSet],
        kept: &HashMap<AttributeSet, &SetEvidence>,
        evidence: &mut Vec<SetEvidence>,
    ) -> Result<bool> {
        let Some(first) = sets.first() else { return Ok(false) };
        let is_pair = first.len() == 2;
        let mut accepted = HashSet::new();
        let mut found: HashMap<AttributeSet, SetEvidence> =
            kept.iter().map(|(set, known)| (*set, (*known).clone())).collect();
        let mut has_grown = false;
        for round in 0..=ROUNDS {
            let is_open =
                |set: &&AttributeSet| !accepted.contains(*set) && !kept.contains_key(*set);
            let open: Vec<AttributeSet> = sets.iter().filter(is_open).copied().collect();
            let candidates = self.test(fit, &open, &mut found)?;
            let prior = self.learn_prior(sets, &found, |found| found.likelihoods);
            let mut widths = *fit.model.widths();
            let width = if is_pair { &mut widths.pair } else { &mut widths.larger };
            *width = Width::Learned(prior);
            fit.model.set_widths(widths);
            let mut chosen = by_change(fit, &prior, candidates);
            if is_pair && round == 0 {
                chosen = forest(&chosen);
            }
            if chosen.is_empty() || round == ROUNDS {
                break;
            }
            accepted.extend(chosen.iter().copied());
            let grows = self.distribute(fit, chosen)?;
            fit.model.follow(&fit.residuals)?;
            has_grown |= grows;
            let cells: usize = fit.tree().tables.iter().map(Vec::len).sum();
            if !is_pair && open.len() as f64 * cells as f64 > MAX_TEST {
                break;
            }
            if grows {
                fit.sweep(self.sweeps.min(SWEEPS_BETWEEN));
            }
        }
        fit.model.follow(&fit.residuals)?;
        self.set_posteriors(sets, &mut found, is_pair);
        evidence.extend(sets.iter().filter_map(|set| found.remove(set)));
        Ok(has_grown)
    }

    /// Tests sets at the present estimates, stores their evidence, and returns the candidates.
    ///
    /// The test statistic of a set is max_k L(k) − L(0): the logarithm of the likelihood ratio of
    /// its measured marginal for the most likely width against the smallest one. L is computed at q,
    /// the present estimate of the marginal with a minimum of 10⁻³ per cell. Criterion: a set is a
    /// candidate if the statistic exceeds [`threshold`](LearnedFit::threshold).
    fn test(
        &self,
        fit: &SoftIpf,
        sets: &[AttributeSet],
        found: &mut HashMap<AttributeSet, SetEvidence>,
    ) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for &set in sets {
            let mut cavity = fit.marginal(set)?;
            raise_to_minimum(&mut cavity);
            let target = fit.residuals.marginal(set)?;
            let variance = fit.residuals.cell_variance(set);
            let likelihoods = log_likelihoods(&cavity, &target, variance);
            let evidence = evidence_of(fit, set, &cavity, likelihoods);
            if evidence.gain() > self.threshold {
                candidates.push(Candidate { set, cavity, target, likelihoods });
            }
            found.insert(set, evidence);
        }
        Ok(candidates)
    }

    /// Learns the prior of one kind of widths from the log-likelihoods of all sets.
    fn learn_prior(
        &self,
        sets: &[AttributeSet],
        found: &HashMap<AttributeSet, SetEvidence>,
        of: fn(&SetEvidence) -> LogLikelihoods,
    ) -> WidthPrior {
        let all: Vec<LogLikelihoods> =
            sets.iter().filter_map(|set| found.get(set)).map(of).collect();
        WidthPrior::learned(&all, self.pseudo_observations)
    }

    /// Sets the posterior probabilities of the widths of all residuals, with learned priors.
    fn set_posteriors(
        &self,
        sets: &[AttributeSet],
        found: &mut HashMap<AttributeSet, SetEvidence>,
        is_pair: bool,
    ) {
        let cautious = self.learn_prior(sets, found, SetEvidence::cautious);
        let planned = match is_pair {
            true => cautious,
            false => self.learn_prior(sets, found, SetEvidence::planned),
        };
        for found in found.values_mut() {
            found.posterior = planned.posterior(&found.planned()).to_vec();
            found.cautious = cautious.posterior(&found.cautious()).to_vec();
        }
    }

    /// Adds accepted sets to the junction tree, in order, or to the sets outside it.
    ///
    /// Returns whether the tree has new factors.
    fn distribute(&self, fit: &mut SoftIpf, accepted: Vec<AttributeSet>) -> Result<bool> {
        let sizes = fit.residuals.sizes().to_vec();
        let attributes = fit.model.tree().attributes();
        let mut in_tree = fit.model.sets();
        // For every attribute, those in a common set of the tree.
        let mut joined = vec![AttributeSet::EMPTY; sizes.len()];
        let join = |joined: &mut [AttributeSet], set: AttributeSet| {
            set.positions().for_each(|p| joined[p] = joined[p].union(set));
        };
        in_tree.iter().for_each(|set| join(&mut joined, *set));
        let (mut factors, mut outside) = (HashSet::new(), Vec::new());
        for set in accepted {
            // A set of new edges can change the whole triangulation.
            if set.positions().any(|p| !set.is_subset(joined[p])) {
                in_tree.push(set);
                if JunctionTree::cells_for(&sizes, attributes, &in_tree) > self.cells {
                    in_tree.pop();
                    outside.push(set);
                    continue;
                }
                join(&mut joined, set);
            }
            factors.extend(set.subsets().filter(|subset| {
                !subset.is_empty() && fit.residuals.cell_variance(*subset).is_finite()
            }));
        }
        let mut sorted: Vec<AttributeSet> = factors.iter().copied().collect();
        sorted.sort_by_key(|set| (set.len(), *set));
        fit.model.add(&sorted)?;
        fit.outside.extend(outside);
        fit.outside.retain(|set| !factors.contains(set));
        fit.cache.take();
        Ok(!sorted.is_empty())
    }
}

/// Returns the evidence of a set of several attributes, without posteriors.
///
/// That of its residual is `z − c ~ N(0, τ²u² + p/λ)` per cell, with z the measured residual, c that of
/// the estimate q, u its scales, and p/λ the variance of the noise of z.
fn evidence_of(
    fit: &SoftIpf,
    set: AttributeSet,
    cavity: &[f64],
    likelihoods: LogLikelihoods,
) -> SetEvidence {
    let shape = set.select(fit.residuals.sizes());
    let freedom: f64 = shape.iter().map(|n| 1.0 - 1.0 / *n as f64).product();
    let scales = centred_scales(&shape, cavity);
    let of_residual = fit.residuals.get(set).map_or([0.0; WIDTHS], |measured| {
        let mut mean = cavity.to_vec();
        centre_box(&shape, &mut mean);
        let variance = freedom / measured.precision();
        scaled_log_likelihoods(&scales, &mean, measured.centred(), variance)
    });
    SetEvidence {
        set,
        posterior: Vec::new(),
        cautious: Vec::new(),
        likelihoods,
        of_residual,
        freedom,
        precision: fit.residuals.precision(set),
        histogram: Histogram::of(&scales),
    }
}

/// Returns the pairs that form a forest: each joins attributes that no earlier one connects.
fn forest(pairs: &[AttributeSet]) -> Vec<AttributeSet> {
    let mut trees: Vec<AttributeSet> = Vec::new();
    let mut chosen = Vec::new();
    for &pair in pairs {
        if trees.iter().any(|tree| pair.is_subset(*tree)) {
            continue;
        }
        let is_apart = |tree: &AttributeSet| tree.intersection(pair).is_empty();
        let joined = trees.iter().filter(|tree| !is_apart(tree)).fold(pair, |a, b| a.union(*b));
        trees.retain(is_apart);
        trees.push(joined);
        chosen.push(pair);
    }
    chosen
}

/// Returns the candidates by ‖update(q) − q‖₁, descending.
///
/// A set with a larger change comes first, and is more likely to be within the tree's limit.
fn by_change(fit: &SoftIpf, prior: &WidthPrior, candidates: Vec<Candidate>) -> Vec<AttributeSet> {
    let total = fit.total();
    let mut update = Update::default();
    let change = |factor: Candidate| {
        let Candidate { set, cavity, target, likelihoods } = factor;
        let (variance, width) =
            (fit.residuals.cell_variance(set), prior.most_probable(&likelihoods));
        let evidence = Evidence { target: &target, variance, width };
        update.solve(&cavity, evidence, total, super::update::SHIFT_STEPS, &mut 0.0);
        let change: f64 = update.values.iter().zip(&cavity).map(|(v, q)| (v - q).abs()).sum();
        (change, set)
    };
    let mut changes: Vec<(f64, AttributeSet)> = candidates.into_iter().map(change).collect();
    changes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    changes.into_iter().map(|(_, set)| set).collect()
}
