//! Bounds on δ of the direction that removes a record, `E_Q (1 − e^ε L)₊`.
//!
//! A random variable with `P(ln L ≤ −ε − u) ≤ Φ(α − u/r)` for all u ≥ 0 has
//!
//! ```text
//! E (1 − e^ε L)₊ = ∫_0^∞ e^{−u} P(ln L ≤ −ε − u) du ≤ Φ(α) − e^{r²/2 − αr} Φ(α − r)
//! ```
//!
//! - **Jensen's inequality.** ln L ≥ ȳ − τ, for the mean ȳ of the y_j and τ = tr A/2b. ȳ is normal with the
//!   variance Ā, the mean of the entries of A: α = (τ − ε)/√Ā, r = √Ā.
//! - **Ehrhard's inequality.** ln L is a convex function of a normal vector, so that
//!   F(t) = Φ⁻¹(P(ln L ≤ t)) is concave. For −ε ≤ t_1 < t_2 it lies below the line through its values there
//!   at all t ≤ t_1; r is the reciprocal of the slope. An upper confidence bound on F(t_1) and a lower
//!   one on F(t_2) are from samples of Q. *Source*: Ehrhard, Symétrisation dans l'espace de Gauss
//!   (1983). For many bins with small correlations.
//! - **Samples of an output with a shifted mean**, −t times the mean of the s_j, t = (ε − τ)/Ā: the
//!   weights `e^{tȳ + t²Ā/2} (1 − e^ε L)₊` are at most `e^{−(ε − τ)²/2Ā}`, since L ≤ e^{−ε} implies
//!   ȳ ≤ τ − ε. For large correlations.

use ndarray::{Array1, Axis};

use super::bins::Bins;
use super::confidence::{Bet, Weights};
use super::outputs::{self, Outputs, Scaled};
use matmech_privacy::sampled::{normal_below, normal_quantile};

/// The probabilities of t_1 and t_2 that are tried.
const LEVELS: [f64; 9] = [0.003, 0.01, 0.03, 0.08, 0.2, 0.35, 0.5, 0.7, 0.9];

/// Returns the bound by Jensen's inequality.
pub(super) fn jensen(bins: &Bins, (sigma, epsilon): (f64, f64)) -> f64 {
    let (variance, half_trace) = mean_output(bins, sigma);
    let root = variance.sqrt();
    line((half_trace - epsilon) / root, root)
}

/// Returns Ā and τ.
fn mean_output(bins: &Bins, sigma: f64) -> (f64, f64) {
    let mean = |x: Option<f64>| x.unwrap_or(0.0) / (sigma * sigma);
    (mean(bins.gram().mean()), 0.5 * mean(bins.gram().diag().mean()))
}

/// Returns the weights of outputs with a shifted mean, whose mean is δ.
pub(super) fn weights(outputs: &Outputs<'_>, (sigma, epsilon): (f64, f64)) -> Weights {
    let bins = outputs.bins();
    let (variance, half_trace) = mean_output(bins, sigma);
    let gap = (epsilon - half_trace).max(0.0);
    let t = gap / variance;
    let count = bins.count() as f64;
    let scaled = Scaled::new(bins, sigma);
    let towards: Array1<f64> = scaled.gram.sum_axis(Axis(1)) * (t / count);
    let mut weights = Weights::below((-0.5 * gap * gap / variance).exp());
    outputs.for_each(|_, v| {
        let mut sum = 0.0;
        for ((x, towards), half) in v.iter_mut().zip(&towards).zip(&scaled.half_diagonal) {
            *x = *x / sigma - towards;
            sum += *x;
            *x -= half;
        }
        let ln_ratio = outputs::exponentials(v);
        let ln_weight = t * sum / count + 0.5 * t * t * variance;
        weights.add(ln_weight.exp() * -(epsilon + ln_ratio).exp_m1().min(0.0));
    });
    weights
}

/// Returns Φ(α) − e^{r²/2 − αr} Φ(α − r).
fn line(alpha: f64, r: f64) -> f64 {
    let (first, second) = (normal_below(alpha), normal_below(alpha - r));
    let subtracted = (0.5 * r * r - alpha * r).exp() * second;
    // An overflow leaves the larger bound.
    if subtracted.is_finite() { (first - subtracted).max(0.0) } else { first }
}

/// The bound from samples that other samples predict to be the smallest, with its bets and levels.
#[derive(Debug)]
pub(super) struct Removal {
    bound: Bound,
    /// The bound that the other samples predict.
    pub predicted: f64,
}

#[derive(Debug)]
enum Bound {
    /// Ehrhard's inequality.
    Levels(Levels),
    /// Outputs with a shifted mean.
    Shifted(Bet),
}

impl Removal {
    /// Chooses a bound from `samples` samples.
    pub fn new(pilot: &Outputs<'_>, at: (f64, f64), samples: usize, failure: f64) -> Self {
        let shifted = weights(pilot, at);
        let bet = shifted.best_bet(samples, failure);
        let predicted = shifted.upper(bet, samples, failure) + shifted.standard_error();
        match Levels::new(&ratios(pilot, at.0), at.1, samples, failure) {
            Some(levels) if levels.predicted < predicted => {
                Removal { predicted: levels.predicted, bound: Bound::Levels(levels) }
            }
            _ => Removal { predicted, bound: Bound::Shifted(bet) },
        }
    }

    /// Returns the bound that holds but with the failure probability, from fresh samples.
    pub fn bound(&self, outputs: &Outputs<'_>, at: (f64, f64), failure: f64) -> f64 {
        match &self.bound {
            Bound::Levels(levels) => levels.bound(&ratios(outputs, at.0), at.1, failure),
            Bound::Shifted(bet) => weights(outputs, at).upper(*bet, outputs.samples(), failure),
        }
    }
}

/// t_1 and t_2, with the bets for their confidence bounds.
#[derive(Debug)]
pub(super) struct Levels {
    points: [f64; 2],
    bets: [Bet; 2],
    /// The bound that these samples predict; infinite if no levels give one.
    pub predicted: f64,
}

impl Levels {
    /// Chooses the levels for `samples` other samples.
    pub fn new(ratios: &[f64], epsilon: f64, samples: usize, failure: f64) -> Option<Levels> {
        let mut sorted = ratios.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |p: f64| sorted[(p * (sorted.len() - 1) as f64) as usize].max(-epsilon);
        let mut best: Option<Levels> = None;
        for (i, low) in LEVELS.iter().enumerate() {
            for high in &LEVELS[i + 1..] {
                let points = [quantile(*low), quantile(*high)];
                if points[0] >= points[1] {
                    continue;
                }
                let counted = counted(ratios, points);
                let bets = counted.each_ref().map(|x| x.best_bet(samples, 0.5 * failure));
                let mut levels = Levels { points, bets, predicted: f64::INFINITY };
                // With the standard errors of these few samples: the smallest of many bounds would
                // otherwise be one that is too small by chance.
                let errors = counted.each_ref().map(Weights::standard_error);
                levels.predicted = levels.bound_of(&counted, epsilon, (samples, failure), errors);
                if best.as_ref().is_none_or(|best| levels.predicted < best.predicted) {
                    best = Some(levels);
                }
            }
        }
        best
    }

    /// Returns a bound that holds but with the failure probability, from fresh samples.
    pub fn bound(&self, ratios: &[f64], epsilon: f64, failure: f64) -> f64 {
        let counted = counted(ratios, self.points);
        self.bound_of(&counted, epsilon, (ratios.len(), failure), [0.0; 2])
    }

    /// The bound, with something added to both confidence bounds.
    fn bound_of(
        &self,
        counted: &[Weights; 2],
        epsilon: f64,
        (samples, failure): (usize, f64),
        added: [f64; 2],
    ) -> f64 {
        let upper = |i: usize| {
            let bound = counted[i].upper(self.bets[i], samples, 0.5 * failure);
            (bound + added[i]).min(1.0)
        };
        let (below, above) = (normal_quantile(upper(0)), -normal_quantile(upper(1)));
        let slope = (above - below) / (self.points[1] - self.points[0]);
        if !(slope > 0.0 && slope.is_finite()) {
            return f64::INFINITY;
        }
        line(below - slope * (self.points[0] + epsilon), 1.0 / slope)
    }
}

/// Counts the ratios up to t_1, and above t_2.
fn counted(ratios: &[f64], points: [f64; 2]) -> [Weights; 2] {
    let weights = |met: &dyn Fn(f64) -> bool| {
        let count = ratios.iter().filter(|x| met(**x)).count();
        let mut weights = Weights::below(1.0);
        weights.add_equal(1.0, count);
        weights.add_equal(0.0, ratios.len() - count);
        weights
    };
    [weights(&|x| x <= points[0]), weights(&|x| x > points[1])]
}

/// Draws ln L under Q.
pub(super) fn ratios(outputs: &Outputs<'_>, sigma: f64) -> Vec<f64> {
    let halves = Scaled::new(outputs.bins(), sigma).half_diagonal;
    let mut ratios = Vec::with_capacity(outputs.samples());
    outputs.for_each(|_, v| {
        v.iter_mut().zip(&halves).for_each(|(x, half)| *x = *x / sigma - half);
        ratios.push(outputs::exponentials(v));
    });
    ratios
}
