//! The plan of a stage: precisions of residuals that minimise the predicted error.
//!
//! ```text
//! minimise Σ_γ √(Σ_{τ⊆γ} E_τ(λ_τ)²)  over λ_τ ≥ present,  Σ_τ p_τ (λ_τ − present)/2 = B
//! E_τ(λ) = √(2/π) Σ_k w_k Σ_cells τ_k u/√(1 + λ τ_k² u²/p_τ)
//! ```
//!
//! γ are the marginals of the workload, w is the posterior of the width of the residual τ (for one
//! attribute, width 1; for the total, a width without bound), and u its scales: τ_k u is the standard
//! deviation of a cell (for one attribute, u is the estimate without τ). The noise of a centred cell
//! has variance p_τ/λ. Cells with u < ½ are not counted.
//!
//! With levels, the plan takes all sets that γ determines as τ ⊆ γ: the error of a product of a
//! coarser level is part of that of a finer one. Since products of several levels share errors, the
//! predicted error has the subsets of γ only.
//!
//! The problem is convex. With η_γ the present value of the root, `√x ≤ x/(2η) + η/2` bounds it
//! above by a sum over τ, which is minimised for a price: `−E_τ E_τ' Σ_{γ⊇τ} 1/η_γ = price · p_τ/2`
//! for every raised τ. Each of a few steps decreases the objective. *Cost*: O(bins) per residual
//! and step of Newton's method.

use std::collections::HashMap;
use std::f64::consts::PI;

use crate::domain::AttributeSet;
use crate::estimation::soft_ipf::{BINS, Histogram, SetEvidence, width};
use crate::schema::LevelSchema;

/// Cells below this number of records are not counted.
const MIN_CELL: f64 = 0.45;

/// Raises of a precision below this share are dropped.
const MIN_RAISE: f64 = 0.01;

/// Less probable widths are not counted.
const MIN_PROBABILITY: f64 = 1e-9;

/// Maximum steps for the price, and for a precision.
const STEPS: usize = 60;

/// Number of bounds that are minimised one after the other.
const BOUNDS: usize = 3;

/// The width of the total, so large that only its noise counts.
const TOTAL: f64 = 1e9;

/// A residual that can be measured again.
#[derive(Debug)]
pub(super) struct Measurable {
    set: AttributeSet,
    /// p_τ: measuring with precision λ costs p_τ λ/2.
    price: f64,
    /// The present precision.
    present: f64,
    /// ln Σ_{γ⊇τ} 1/η_γ.
    ln_weight: f64,
    /// Numbers of cells by x = τ_k u/√p_τ, with the posterior of k as weights: (x, number).
    scales: Vec<(f64, f64)>,
    /// Those of cells that are too small for the plan.
    small: Vec<(f64, f64)>,
}

impl Measurable {
    /// Returns the residual of some evidence, with a posterior of its width; empty for one attribute.
    pub(super) fn new(evidence: &SetEvidence, posterior: &[f64], price: f64, present: f64) -> Self {
        let is_single = posterior.is_empty();
        let scales = |bins: &mut dyn Iterator<Item = usize>| {
            // τ_k u is on the grid of half octaves, as u is: widths are octaves.
            let mut counts = std::collections::BTreeMap::<usize, f64>::new();
            for bin in bins.filter(|bin| evidence.histogram.0[*bin] > 0.0) {
                let count = evidence.histogram.0[bin];
                if is_single {
                    counts.insert(bin, count);
                }
                for (k, probability) in posterior.iter().enumerate() {
                    if *probability > MIN_PROBABILITY {
                        *counts.entry(bin + 2 * k).or_default() += count * probability;
                    }
                }
            }
            let unit = if is_single { 1.0 } else { width(0) } / price.sqrt();
            counts.into_iter().map(|(index, n)| (unit * Histogram::value(index), n)).collect()
        };
        let is_counted = |bin: &usize| Histogram::value(*bin) >= MIN_CELL;
        let small = scales(&mut (0..BINS).filter(|bin| !is_counted(bin)));
        let scales = scales(&mut (0..BINS).filter(is_counted));
        Measurable { set: evidence.set, price, present, ln_weight: 0.0, scales, small }
    }

    /// Returns the total.
    pub(super) fn total(price: f64, present: f64) -> Self {
        let (set, scales) = (AttributeSet::EMPTY, vec![(TOTAL, 1.0)]);
        Measurable { set, price, present, ln_weight: 0.0, scales, small: Vec::new() }
    }

    /// Returns E_τ(λ), of all cells.
    fn error(&self, precision: f64) -> f64 {
        let term = |&(x, count): &(f64, f64)| count * x / (1.0 + precision * x * x).sqrt();
        let sum: f64 = self.scales.iter().chain(&self.small).map(term).sum();
        (2.0 / PI * self.price).sqrt() * sum
    }

    /// Returns ln of the decrease of the bound per unit of budget, up to a constant, and its
    /// derivative by ln λ.
    fn gain(&self, precision: f64) -> (f64, f64) {
        let [mut error, mut first, mut second] = [0.0; 3];
        for &(x, count) in &self.scales {
            let square = x * x;
            let inverse = 1.0 / (1.0 + precision * square);
            let term = count * x * inverse.sqrt();
            error += term;
            first += term * square * inverse;
            second += term * (square * inverse).powi(2);
        }
        let slope = -1.5 * second / first - 0.5 * first / error;
        // The factors √p_τ of both sums cancel the price p_τ.
        (self.ln_weight + error.ln() + first.ln(), slope * precision)
    }

    /// Returns the precision at which the gain equals a price, at least the present one.
    ///
    /// `start` is a first guess.
    fn at(&self, ln_price: f64, start: f64) -> f64 {
        if self.scales.is_empty() || self.gain(self.present).0 <= ln_price {
            return self.present;
        }
        let (mut low, mut high) = (self.present, f64::INFINITY);
        let mut precision = start.max(1.001 * self.present);
        for _ in 0..STEPS {
            let (gain, slope) = self.gain(precision);
            if gain > ln_price {
                low = precision
            } else {
                high = precision
            }
            let step = (ln_price - gain) / slope;
            if step.abs() < 1e-6 {
                break;
            }
            let next = precision * step.clamp(-3.0, 3.0).exp();
            precision = match next > low && next < high {
                true => next,
                false if high.is_finite() => (low * high).sqrt(),
                false => 4.0 * low,
            };
        }
        precision
    }
}

/// The plan of a stage.
#[derive(Debug, Default)]
pub(super) struct StagePlan {
    /// The residuals to measure, with the precisions Δλ of the new measurements.
    pub(super) measurements: Vec<(AttributeSet, f64)>,
    /// The predicted L1 error of a marginal, averaged over the workload.
    pub(super) mean_l1: f64,
}

impl StagePlan {
    /// Plans a stage of the given budget.
    pub(super) fn new(
        mut residuals: Vec<Measurable>,
        domain: &LevelSchema,
        workload: &[AttributeSet],
        budget: f64,
    ) -> Self {
        let indices: HashMap<AttributeSet, usize> =
            residuals.iter().enumerate().map(|(index, residual)| (residual.set, index)).collect();
        let among = |sets: &[AttributeSet]| -> Vec<usize> {
            sets.iter().filter_map(|tau| indices.get(tau).copied()).collect()
        };
        let parts: Vec<Vec<usize>> =
            workload.iter().map(|gamma| among(&domain.determined_by(*gamma))).collect();
        let mut precisions: Vec<f64> = residuals.iter().map(|r| r.present).collect();
        for _ in 0..BOUNDS {
            let roots = roots(&residuals, &parts, &precisions);
            let mut weights = vec![0.0; residuals.len()];
            for (parts, root) in parts.iter().zip(&roots) {
                parts.iter().for_each(|&index| weights[index] += root.recip());
            }
            for (residual, weight) in residuals.iter_mut().zip(weights) {
                residual.ln_weight = weight.ln();
            }
            minimise_bound(&residuals, budget, &mut precisions);
        }
        for (precision, residual) in precisions.iter_mut().zip(&residuals) {
            if *precision < (1.0 + MIN_RAISE) * residual.present {
                *precision = residual.present;
            }
        }
        let spent = cost(&residuals, &precisions);
        let scale = if spent > 0.0 { budget / spent } else { 0.0 };
        let subsets = |gamma: &AttributeSet| among(&gamma.subsets().collect::<Vec<_>>());
        let subsets: Vec<Vec<usize>> = workload.iter().map(subsets).collect();
        let roots = roots(&residuals, &subsets, &precisions);
        let mean_l1 = roots.iter().sum::<f64>() / roots.len().max(1) as f64;
        let measurements = (residuals.iter().zip(&precisions))
            .filter(|(residual, precision)| **precision > residual.present)
            .map(|(residual, precision)| (residual.set, scale * (precision - residual.present)))
            .collect();
        StagePlan { measurements, mean_l1 }
    }
}

#[cfg(test)]
impl StagePlan {
    /// Returns the predicted error at the present precisions.
    pub(super) fn error(residuals: &[Measurable], workload: &[AttributeSet]) -> f64 {
        let precisions: Vec<f64> = residuals.iter().map(|residual| residual.present).collect();
        let parts: Vec<Vec<usize>> = (workload.iter())
            .map(|gamma| {
                let is_part = |index: &usize| residuals[*index].set.is_subset(*gamma);
                (0..residuals.len()).filter(is_part).collect()
            })
            .collect();
        roots(residuals, &parts, &precisions).iter().sum()
    }
}

/// Returns √(Σ E_τ²) of every marginal.
fn roots(residuals: &[Measurable], parts: &[Vec<usize>], precisions: &[f64]) -> Vec<f64> {
    let square = |(residual, precision): (&Measurable, &f64)| residual.error(*precision).powi(2);
    let squares: Vec<f64> = residuals.iter().zip(precisions).map(square).collect();
    let root = |parts: &Vec<usize>| parts.iter().map(|&index| squares[index]).sum::<f64>().sqrt();
    parts.iter().map(root).collect()
}

/// Returns Σ p_τ (λ_τ − present)/2.
fn cost(residuals: &[Measurable], precisions: &[f64]) -> f64 {
    residuals.iter().zip(precisions).map(|(r, p)| r.price * (p - r.present) / 2.0).sum()
}

/// Minimises the bound by a search for the price, starting from given precisions.
fn minimise_bound(residuals: &[Measurable], budget: f64, precisions: &mut [f64]) {
    let gains = residuals.iter().filter(|r| !r.scales.is_empty()).map(|r| r.gain(r.present).0);
    let largest = gains.fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return;
    }
    let mut at = |ln_price: f64| -> f64 {
        for (precision, residual) in precisions.iter_mut().zip(residuals) {
            *precision = residual.at(ln_price, *precision);
        }
        (cost(residuals, precisions) / budget).ln()
    };
    // ln(cost/budget) is a decreasing function of ln price: bracket it, then regula falsi.
    let (mut low, mut high) = ((largest, f64::NEG_INFINITY), (largest, f64::NEG_INFINITY));
    while low.1 < 0.0 {
        high = low;
        low.0 -= 2.0;
        low.1 = at(low.0);
    }
    for step in 0..STEPS {
        let middle = match high.1.is_finite() && step % 4 != 3 {
            true => low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1),
            false => 0.5 * (low.0 + high.0),
        };
        let value = at(middle);
        if value.abs() < 1e-6 {
            break;
        }
        if value > 0.0 { low = (middle, value) } else { high = (middle, value) }
    }
}
